//! The processes of a command: waiting for them, accounting for them, and ending them.

use std::time::Duration;

use super::super::{signals, task};
use super::output::Output;
use super::shared_time::now;
use super::supervisor::{Report, Supervisor, seconds};
use crate::values::execution::{End, Usage};
use crate::values::task::Process;

/// Maximum wait for the end of processes that were killed.
const LONGEST_END: Duration = Duration::from_secs(5);
/// Maximum time after a launcher's end until the process that it leaves behind is there.
const LONGEST_START: Duration = Duration::from_secs(30);
/// Length to which the kernel cuts a name.
const NAME_BYTES: usize = 15;
/// Pauses between checks without a report of an end: at first, and after a while.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A command's processes: all processes below its supervisor.
pub struct Tree {
    supervisor: Supervisor,
    /// Time that a process has to end on request before it is killed.
    grace: Duration,
    /// True if a signal stopped the command's first process.
    pub is_stopped: bool,
    /// Sum over the processes that have ended.
    pub usage: Usage,
}

/// The end of a command.
pub struct Ended {
    pub end: End,
    /// Time of the end, as [`now`].
    pub at: Duration,
    /// Number of processes that were left and were killed.
    pub left_behind: u32,
}

impl Tree {
    pub fn new(supervisor: Supervisor, grace: Duration) -> Self {
        Self { supervisor, grace, is_stopped: false, usage: Usage::default() }
    }

    /// Waits until a process of the command has ended or has written something, but at most `longest`.
    pub fn wait(&self, output: &Output, longest: Duration) {
        self.wait_for(if output.has_ended { -1 } else { output.file() }, longest);
    }

    fn wait_for(&self, output: i32, longest: Duration) {
        let entry = |file| libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
        // poll(2) ignores a negative number.
        let mut files = [entry(self.supervisor.file()), entry(output)];
        let time = libc::timespec { tv_sec: longest.as_secs() as libc::time_t, tv_nsec: longest.subsec_nanos().into() };
        // SAFETY: the kernel reads and fills the entries, and reads the time.
        unsafe { libc::ppoll(files.as_mut_ptr(), files.len() as libc::nfds_t, &raw const time, std::ptr::null()) };
    }

    /// Returns how and when the command's first process ended, once it has.
    pub fn reap(&mut self) -> Option<(End, Duration)> {
        while let Some(report) = self.next() {
            let is_command = report.child() == self.supervisor.command;
            if libc::WIFSTOPPED(report.status) {
                self.is_stopped |= is_command;
            } else if is_command {
                let end = match libc::WIFEXITED(report.status) {
                    true => End::Exited(libc::WEXITSTATUS(report.status)),
                    false => End::Killed(libc::WTERMSIG(report.status)),
                };
                return Some((end, report.at()));
            }
        }
        // The supervisor was killed, and the command with it.
        self.supervisor.is_over.then(|| (End::Killed(libc::SIGKILL), now()))
    }

    /// Returns the next report; accounts for it if it is of an end.
    fn next(&mut self) -> Option<Report> {
        let report = self.supervisor.next()?;
        if !libc::WIFSTOPPED(report.status) {
            self.usage.add(&report.usage);
        }
        Some(report)
    }

    /// Accounts for all processes that have ended; returns the time of the last end.
    fn reap_all(&mut self) -> Option<Duration> {
        let mut last = None;
        while let Some(report) = self.next() {
            if !libc::WIFSTOPPED(report.status) {
                last = Some(report.at());
            }
        }
        last
    }

    /// Waits for the other processes once the child has ended, and reads their output. Processes that stay longer than `patience`, or are
    /// there when its time is over, are killed and do not count.
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
            last = self.reap_all().unwrap_or(last);
            if self.supervisor.is_over {
                return Ended { end, at: last, left_behind: 0 };
            }
            if now().saturating_sub(at) > patience || is_over() {
                return Ended { end, at, left_behind: self.kill() };
            }
            read();
            self.wait_for(-1, (now().saturating_sub(at) / 10).clamp(PAUSE, LONGEST_PAUSE));
        }
    }

    /// Waits for the end of processes of this name once the launcher has ended. Other processes that the launcher left are then killed.
    pub fn follow(&mut self, name: &str, over: &dyn Fn() -> Option<End>, read: &mut dyn FnMut()) -> Ended {
        let since = now();
        let (mut seen, mut reported) = (None, None);
        loop {
            reported = self.reap_all().or(reported);
            let is_there = self.descendants().iter().any(|process| is_named(process.number, name));
            let at = now();
            let end = match seen {
                // Its end was reported, unless its parent is there to wait for it.
                Some(last) if !is_there => Some((End::Exited(0), reported.filter(|at| *at > last).unwrap_or(last))),
                None if !is_there && (self.supervisor.is_over || at.saturating_sub(since) > LONGEST_START) => {
                    Some((End::NothingToFollow, at))
                }
                _ => over().map(|end| (end, at)),
            };
            if let Some((end, at)) = end {
                self.kill();
                return Ended { end, at, left_behind: 0 };
            }
            if is_there {
                seen = Some(at);
            }
            read();
            self.wait_for(-1, LONGEST_PAUSE);
        }
    }

    /// Kills all of it before its time.
    pub fn end(&mut self, why: End) -> Ended {
        let at = now();
        self.kill();
        Ended { end: why, at, left_behind: 0 }
    }

    /// Asks all remaining processes to end, then kills them; returns their number.
    fn kill(&mut self) -> u32 {
        let left = self.descendants().len() as u32;
        let since = now();
        self.send(libc::SIGTERM);
        loop {
            self.reap_all();
            let waited = now().saturating_sub(since);
            // Another user's process, or one stuck in the kernel, cannot be killed.
            if self.supervisor.is_over || waited > self.grace + LONGEST_END {
                return left;
            }
            // Repeated, since there may be new ones.
            if waited > self.grace {
                self.send(libc::SIGKILL);
            }
            self.wait_for(-1, PAUSE);
        }
    }

    /// Waits for the supervisor if all else has ended; returns its own cpu time in seconds, without that of the command's processes.
    pub fn end_supervisor(mut self) -> f64 {
        let all = self.supervisor.wait().unwrap_or_default();
        (all - self.usage.user_s - self.usage.system_s).max(0.0)
    }

    /// Returns all processes of the command, as far as they can be found.
    pub fn descendants(&self) -> Vec<Process> {
        task::descendants(self.supervisor.id())
    }

    /// Sends a signal to all of them; a stopped one is continued so that it receives it.
    fn send(&self, signal: i32) {
        for process in self.descendants() {
            for signal in [signal, libc::SIGCONT] {
                signals::send_to(&process.identity(), signal);
            }
        }
    }
}

fn is_named(process: u32, name: &str) -> bool {
    let kept = &name.as_bytes()[..name.len().min(NAME_BYTES)];
    task::name(process, process).is_some_and(|found| found.as_bytes() == kept)
}

impl Usage {
    /// Adds a result of wait4(2).
    fn add(&mut self, usage: &libc::rusage) {
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
