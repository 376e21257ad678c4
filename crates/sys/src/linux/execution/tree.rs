//! The processes of a command: waiting for them, accounting for them, and ending them.

use std::time::Duration;

use super::super::{signals, task};
use super::output::CapturedOutput;
use super::shared_time::monotonic_now;
use super::supervisor::{SupervisorProcess, SupervisorReport, timeval_seconds};
use crate::values::execution::{ExecutionEnd, ResourceUsage};
use crate::values::task::ProcessThreads;

/// Maximum wait for the end of processes that were killed.
const LONGEST_END: Duration = Duration::from_secs(5);
/// Maximum time after a launcher's end until the process that it leaves behind is there.
const LONGEST_START: Duration = Duration::from_secs(30);
/// Maximum time after which the supervisor has reported the end of a process that is gone.
const LONGEST_REPORT: Duration = Duration::from_millis(100);
/// Length to which the kernel cuts a name.
const NAME_BYTES: usize = 15;
/// Pauses between checks without a report of an end: at first, and after a while.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A command's processes: all processes below its supervisor.
pub struct CommandTree {
    supervisor: SupervisorProcess,
    /// Time that a process has to end on request before it is killed.
    grace: Duration,
    /// True if processes that outlive the command are left.
    leaves_processes: bool,
    /// True if a signal stopped the command's first process.
    pub is_stopped: bool,
    /// Sum over the processes that have ended.
    pub usage: ResourceUsage,
}

/// The end of a command.
pub struct EndedTree {
    pub end: ExecutionEnd,
    /// Time of the end, as [`monotonic_now`].
    pub at: Duration,
    /// Number of processes that were left and were killed.
    pub left_behind: u32,
}

impl CommandTree {
    pub fn new(supervisor: SupervisorProcess, grace: Duration, leaves_processes: bool) -> Self {
        Self { supervisor, grace, leaves_processes, is_stopped: false, usage: ResourceUsage::default() }
    }

    /// Waits until a process of the command has ended or has written something, but at most `longest`.
    pub fn wait_for_change(&self, output: &CapturedOutput, longest: Duration) {
        self.wait_for(if output.has_ended { -1 } else { output.pipe_descriptor() }, longest);
    }

    fn wait_for(&self, output: i32, longest: Duration) {
        let entry = |file| libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
        // poll(2) ignores a negative number.
        let mut files = [entry(self.supervisor.report_descriptor()), entry(output)];
        let time = libc::timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        // SAFETY: the kernel reads and fills the entries, and reads the time.
        unsafe { libc::ppoll(files.as_mut_ptr(), files.len() as libc::nfds_t, &raw const time, std::ptr::null()) };
    }

    /// Returns how and when the command's first process ended, once it has.
    pub fn reap_command(&mut self) -> Option<(ExecutionEnd, Duration)> {
        while let Some(report) = self.next() {
            let is_command = report.child_number() == self.supervisor.command;
            if libc::WIFSTOPPED(report.status) {
                self.is_stopped |= is_command;
            } else if is_command {
                let end = match libc::WIFEXITED(report.status) {
                    true => ExecutionEnd::Exited(libc::WEXITSTATUS(report.status)),
                    false => ExecutionEnd::Killed(libc::WTERMSIG(report.status)),
                };
                return Some((end, report.noticed_at()));
            }
        }
        // The supervisor was killed, and the command with it.
        self.supervisor.is_over.then(|| (ExecutionEnd::Killed(libc::SIGKILL), monotonic_now()))
    }

    /// Returns the next report; accounts for it if it is of an end.
    fn next(&mut self) -> Option<SupervisorReport> {
        let report = self.supervisor.next()?;
        if !libc::WIFSTOPPED(report.status) {
            self.usage.add_rusage(&report.usage);
        }
        Some(report)
    }

    /// Accounts for all processes that have ended; returns the time of the last end.
    fn reap_all(&mut self) -> Option<Duration> {
        let mut last = None;
        while let Some(report) = self.next() {
            if !libc::WIFSTOPPED(report.status) {
                last = Some(report.noticed_at());
            }
        }
        last
    }

    /// Waits for the other processes once the child has ended, and reads their output. Processes that stay longer than `patience`, or are
    /// there when its time is over, are killed and do not count.
    pub fn see_off(
        &mut self,
        end: ExecutionEnd,
        at: Duration,
        patience: Duration,
        is_over: &dyn Fn() -> bool,
        read: &mut dyn FnMut(),
    ) -> EndedTree {
        let mut last = at;
        loop {
            last = self.reap_all().unwrap_or(last);
            if self.supervisor.is_over {
                return EndedTree { end, at: last, left_behind: 0 };
            }
            if self.leaves_processes && monotonic_now().saturating_sub(at) > patience {
                self.supervisor.leave_processes();
                return EndedTree { end, at, left_behind: 0 };
            }
            if monotonic_now().saturating_sub(at) > patience || is_over() {
                return EndedTree { end, at, left_behind: self.kill_processes() };
            }
            read();
            self.wait_for(-1, (monotonic_now().saturating_sub(at) / 10).clamp(PAUSE, LONGEST_PAUSE));
        }
    }

    /// Waits for the end of processes of this name once the launcher has ended. Other processes that the launcher left are then killed.
    pub fn follow_name(
        &mut self,
        name: &str,
        over: &dyn Fn() -> Option<ExecutionEnd>,
        read: &mut dyn FnMut(),
    ) -> EndedTree {
        let since = monotonic_now();
        let (mut seen, mut reported, mut missed_since) = (None, None, None);
        loop {
            reported = self.reap_all().or(reported);
            let is_there = self.all_descendants().iter().any(|process| is_named(process.number, name));
            let at = monotonic_now();
            let end = match seen {
                // Its end is reported once it is gone, unless its parent is there to wait for it.
                Some(last) if !is_there => {
                    let is_late = at.saturating_sub(*missed_since.get_or_insert(at)) > LONGEST_REPORT;
                    let ended = reported.filter(|at| *at > last).or(is_late.then_some(last));
                    ended.map(|at| (ExecutionEnd::Exited(0), at))
                }
                None if !is_there && (self.supervisor.is_over || at.saturating_sub(since) > LONGEST_START) => {
                    Some((ExecutionEnd::NothingToFollow, at))
                }
                _ => over().map(|end| (end, at)),
            };
            if let Some((end, at)) = end {
                self.kill_processes();
                return EndedTree { end, at, left_behind: 0 };
            }
            if is_there {
                (seen, missed_since) = (Some(at), None);
            }
            read();
            self.wait_for(-1, LONGEST_PAUSE);
        }
    }

    /// Kills all of it before its time.
    pub fn end_tree(&mut self, why: ExecutionEnd) -> EndedTree {
        let at = monotonic_now();
        self.kill_processes();
        EndedTree { end: why, at, left_behind: 0 }
    }

    /// Asks all remaining processes to end, then kills them; returns their number.
    fn kill_processes(&mut self) -> u32 {
        let left = self.all_descendants().len() as u32;
        let since = monotonic_now();
        self.send_signal(libc::SIGTERM);
        loop {
            self.reap_all();
            let waited = monotonic_now().saturating_sub(since);
            // Another user's process, or one stuck in the kernel, cannot be killed.
            if self.supervisor.is_over || waited > self.grace + LONGEST_END {
                return left;
            }
            // Repeated, since there may be new ones.
            if waited > self.grace {
                self.send_signal(libc::SIGKILL);
            }
            self.wait_for(-1, PAUSE);
        }
    }

    /// Waits for the supervisor if all else has ended; returns its own cpu time in seconds, without that of the command's processes.
    pub fn end_supervisor(mut self) -> f64 {
        let all = self.supervisor.wait_for_end().unwrap_or_default();
        (all - self.usage.user_s - self.usage.system_s).max(0.0)
    }

    /// Returns all processes of the command, as far as they can be found.
    pub fn all_descendants(&self) -> Vec<ProcessThreads> {
        task::descendant_processes(self.supervisor.process_id())
    }

    /// Sends a signal to all of them; a stopped one is continued so that it receives it.
    fn send_signal(&self, signal: i32) {
        for process in self.all_descendants() {
            for signal in [signal, libc::SIGCONT] {
                signals::send_to(&process.identity(), signal);
            }
        }
    }
}

fn is_named(process: u32, name: &str) -> bool {
    let kept = &name.as_bytes()[..name.len().min(NAME_BYTES)];
    task::thread_name(process, process).is_some_and(|found| found.as_bytes() == kept)
}

impl ResourceUsage {
    /// Adds a result of wait4(2).
    fn add_rusage(&mut self, usage: &libc::rusage) {
        let count = |value: libc::c_long| u64::try_from(value).unwrap_or_default();
        self.user_s += timeval_seconds(usage.ru_utime);
        self.system_s += timeval_seconds(usage.ru_stime);
        // In units of 1,024 bytes.
        self.peak_memory_bytes = self.peak_memory_bytes.max(count(usage.ru_maxrss) << 10);
        self.voluntary_switches += count(usage.ru_nvcsw);
        self.involuntary_switches += count(usage.ru_nivcsw);
        self.minor_faults += count(usage.ru_minflt);
        self.major_faults += count(usage.ru_majflt);
    }
}
