//! The processes of a command: waited for, accounted for, and ended with it.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::time::Duration;

use super::super::{signals, spawn, task};
use super::output::Output;
use super::shared_time::now;
use crate::values::execution::{End, Usage};
use crate::values::task::Process;

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
    /// Children of this process that are not the command's.
    foreign: Vec<u32>,
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
    pub fn new(child: u32, foreign: Vec<u32>) -> Self {
        // SAFETY: a call without memory; what it returns is a new file, or -1.
        let file = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
        // SAFETY: as above, nobody else has it.
        let end = i32::try_from(file).ok().filter(|file| *file >= 0).map(|file| unsafe { OwnedFd::from_raw_fd(file) });
        Self { child, end, is_stopped: false, usage: Usage::default(), foreign }
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

    /// How the child ended and when, once it has.
    pub fn reap(&mut self) -> Option<(End, Duration)> {
        while let Some(status) = self.next(self.child) {
            if libc::WIFSTOPPED(status) {
                self.is_stopped = true;
            } else if libc::WIFEXITED(status) {
                return Some((End::Exited(libc::WEXITSTATUS(status)), now()));
            } else {
                return Some((End::Killed(libc::WTERMSIG(status)), now()));
            }
        }
        None
    }

    /// The status of a child that has changed; if it has ended, it is accounted for.
    fn next(&mut self, child: u32) -> Option<i32> {
        let (status, usage) = spawn::wait(child, libc::WUNTRACED)?;
        if !libc::WIFSTOPPED(status) {
            self.usage.add(&usage);
        }
        Some(status)
    }

    /// Accounts for all that have ended; how many did, and how many are left.
    fn reap_all(&mut self) -> (usize, usize) {
        let children: Vec<u32> =
            task::children(std::process::id()).into_iter().filter(|child| !self.foreign.contains(child)).collect();
        let ended = |status: i32| !libc::WIFSTOPPED(status);
        let gone = children.iter().filter(|child| self.next(**child).is_some_and(ended)).count();
        (gone, children.len() - gone)
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
            match self.reap_all() {
                (1.., _) => last = now(),
                (0, 0) => return Ended { end, at: last, left_behind: 0 },
                (0, _) if now().saturating_sub(at) > patience || is_over() => {
                    return Ended { end, at, left_behind: self.kill() };
                }
                (0, _) => {
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
        let left = self.descendants().len() as u32;
        let since = now();
        let mut signal = libc::SIGTERM;
        self.send(signal);
        loop {
            match self.reap_all() {
                (_, 0) => return left,
                (1.., _) => {}
                // Another user's, or one that the kernel holds: it cannot be ended.
                (0, _) if now().saturating_sub(since) > LONGEST_END => return left,
                (0, _) => {
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

    /// All processes of the command, as far as they can be found.
    pub fn descendants(&self) -> Vec<Process> {
        let mut foreign = self.foreign.clone();
        let all = task::descendants(std::process::id()).into_iter();
        // Parents come before children.
        let own = all.filter(|process| {
            let is_own = !foreign.contains(&process.number) && !foreign.contains(&process.parent);
            if !is_own {
                foreign.push(process.number);
            }
            is_own
        });
        own.collect()
    }

    /// Sends a signal to all of them; one that is stopped goes on to receive it.
    fn send(&self, signal: i32) {
        for process in self.descendants() {
            for signal in [signal, libc::SIGCONT] {
                signals::send(process.number, signal);
            }
        }
    }
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
