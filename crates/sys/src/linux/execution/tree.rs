//! The processes of a command: waited for, accounted for, and ended with it.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::time::Duration;

use super::super::{signals, task};
use super::output::Output;
use super::shared_time::now;
use crate::values::execution::{End, Usage};

/// So long a process that is asked to end may take until it is made to.
const GRACE: Duration = Duration::from_millis(500);
/// So long is waited for the end of those that were made to end.
const LONGEST_END: Duration = Duration::from_secs(5);
/// Between looks where nothing tells us of an end.
const PAUSE: Duration = Duration::from_millis(1);

/// A command's processes, all of them children or further descendants of ours.
pub struct Tree {
    child: u32,
    /// Becomes readable with the child's end; absent before Linux 5.3.
    end: Option<OwnedFd>,
    /// Whether a signal stopped the child.
    pub is_stopped: bool,
    /// What was accounted for those that have ended.
    pub usage: Usage,
}

/// The end of a command.
pub struct Ended {
    pub end: End,
    /// When: as [`now`].
    pub at: Duration,
    /// How many processes were left, which were ended.
    pub left_behind: u32,
}

impl Tree {
    pub fn new(child: u32) -> Self {
        // SAFETY: a call without memory; what it returns is a new file, or -1.
        let file = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
        // SAFETY: as above, nobody else has it.
        let end = i32::try_from(file).ok().filter(|file| *file >= 0).map(|file| unsafe { OwnedFd::from_raw_fd(file) });
        Self { child, end, is_stopped: false, usage: Usage::default() }
    }

    /// Waits until the child has ended or has written something, but not longer than this.
    pub fn wait(&self, output: &Output, longest: Duration) {
        let longest = if self.end.is_some() { longest } else { longest.min(PAUSE) };
        let entry = |file| libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
        // A negative number is passed over.
        let mut files = [
            entry(self.end.as_ref().map_or(-1, |end| end.as_raw_fd())),
            entry(if output.has_ended { -1 } else { output.file() }),
        ];
        let time = libc::timespec { tv_sec: longest.as_secs() as libc::time_t, tv_nsec: longest.subsec_nanos().into() };
        // SAFETY: the kernel reads and fills the entries, and reads the time.
        unsafe { libc::ppoll(files.as_mut_ptr(), files.len() as libc::nfds_t, &raw const time, std::ptr::null()) };
    }

    /// Accounts for those that have ended; how the child did and when, once it has.
    pub fn reap(&mut self) -> Option<(End, Duration)> {
        let mut ended = None;
        loop {
            let (process, status) = match self.next() {
                Waited::For(process, status) => (process, status),
                Waited::Nothing => break,
                // Somebody else has waited for it, and how it ended is not known.
                Waited::NoneLeft => return ended.or(Some((End::Killed(0), now()))),
            };
            if process != self.child {
                continue;
            }
            if libc::WIFSTOPPED(status) {
                self.is_stopped = true;
            } else if libc::WIFEXITED(status) {
                ended = Some((End::Exited(libc::WEXITSTATUS(status)), now()));
            } else {
                ended = Some((End::Killed(libc::WTERMSIG(status)), now()));
            }
        }
        ended
    }

    /// The next child that has changed: wait4(2).
    fn next(&mut self) -> Waited {
        let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
        // SAFETY: the kernel fills both; zeros are a valid usage.
        let (child, usage) = unsafe {
            let child = libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED, usage.as_mut_ptr());
            (child, usage.assume_init())
        };
        match u32::try_from(child) {
            Ok(0) => Waited::Nothing,
            Ok(child) => {
                if !libc::WIFSTOPPED(status) {
                    self.usage.add(&usage);
                }
                Waited::For(child, status)
            }
            Err(_) => Waited::NoneLeft,
        }
    }

    /// Waits for the others once the child has ended, and reads what they write; those that stay longer than this, or are there when its
    /// time is over, are ended, and do not count.
    pub fn see_off(
        &mut self,
        end: End,
        at: Duration,
        patience: Duration,
        is_over: &dyn Fn() -> bool,
        read: &mut dyn FnMut(),
    ) -> Ended {
        let mut last = at;
        loop {
            match self.next() {
                Waited::NoneLeft => return Ended { end, at: last, left_behind: 0 },
                Waited::For(_, status) if libc::WIFSTOPPED(status) => {}
                Waited::For(..) => last = now(),
                Waited::Nothing if now().saturating_sub(at) > patience || is_over() => {
                    return Ended { end, at, left_behind: self.kill() };
                }
                Waited::Nothing => {
                    read();
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Ends all of it before its time.
    pub fn end(&mut self, why: End) -> Ended {
        let at = now();
        self.kill();
        Ended { end: why, at, left_behind: 0 }
    }

    /// Asks all that are left to end, then makes them; how many there were.
    fn kill(&mut self) -> u32 {
        let left = task::descendants(std::process::id());
        let since = now();
        let mut signal = libc::SIGTERM;
        self.send(signal);
        loop {
            match self.next() {
                Waited::NoneLeft => return left.len() as u32,
                Waited::For(..) => {}
                // Another user's, or one that the kernel holds: it cannot be ended.
                Waited::Nothing if now().saturating_sub(since) > LONGEST_END => return left.len() as u32,
                Waited::Nothing => {
                    if now().saturating_sub(since) > GRACE {
                        signal = libc::SIGKILL;
                    }
                    // Sent again and again in the end: there may be new ones.
                    if signal == libc::SIGKILL {
                        self.send(signal);
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Sends a signal to all of them; one that is stopped goes on to receive it.
    fn send(&self, signal: i32) {
        for process in task::descendants(std::process::id()) {
            for signal in [signal, libc::SIGCONT] {
                signals::send(process.number, signal);
            }
        }
    }
}

/// What came of waiting for any child.
enum Waited {
    /// A process changed, and this is its status.
    For(u32, i32),
    /// Nothing changed.
    Nothing,
    /// There are no children.
    NoneLeft,
}

impl Usage {
    /// Adds what wait4(2) reports.
    fn add(&mut self, usage: &libc::rusage) {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        let count = |value: libc::c_long| u64::try_from(value).unwrap_or_default();
        self.user_s += seconds(usage.ru_utime);
        self.system_s += seconds(usage.ru_stime);
        // In units of 1,024 bytes.
        self.peak_memory_bytes = self.peak_memory_bytes.max(count(usage.ru_maxrss) << 10);
        self.voluntary_switches += count(usage.ru_nvcsw);
        self.involuntary_switches += count(usage.ru_nivcsw);
        self.minor_faults += count(usage.ru_minflt);
        self.major_faults += count(usage.ru_majflt);
    }
}
