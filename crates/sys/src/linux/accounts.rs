//! Kernel accounting for each thread of one's own processes: /proc/PID/task/TID/schedstat and status.

use std::fs;

pub use crate::values::account::ThreadAccount;

impl ThreadAccount {
    /// Reads the account of a thread. `None` if it has ended; zeros for facts that this kernel does not account for.
    pub fn read_account(process: u32, thread: u32) -> Option<Self> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/task/{thread}/{file}"));
        let status = read("status").ok()?;
        // Missing without CONFIG_SCHED_INFO.
        Some(Self::parse(&read("schedstat").unwrap_or_default(), &status))
    }

    /// Parses the time on cpus and the time waited, in nanoseconds, of a schedstat; `None` if the text is empty or malformed.
    pub(super) fn times_in(schedstat: &str) -> Option<(u64, u64)> {
        let mut words = schedstat.split_whitespace().map(|word| word.parse().ok());
        Some((words.next()??, words.next()??))
    }

    /// Parses both files (Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat"; proc_pid_status(5)).
    pub fn parse(schedstat: &str, status: &str) -> Self {
        let (on_cpu_ns, waited_ns) = Self::times_in(schedstat).unwrap_or_default();
        let line = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name));
            value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            on_cpu_ns,
            waited_ns,
            voluntary_switches: line("voluntary_ctxt_switches:"),
            involuntary_switches: line("nonvoluntary_ctxt_switches:"),
        }
    }
}

/// Returns true if this kernel accounts for the time that threads wait for a cpu (CONFIG_SCHED_INFO).
pub fn has_waiting_time() -> bool {
    fs::exists("/proc/self/schedstat").unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read_and_what_they_lack_is_zero() {
        let status = "Name:\tapp\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        let whole =
            ThreadAccount { on_cpu_ns: 5_000, waited_ns: 77, voluntary_switches: 150, involuntary_switches: 545 };
        assert_eq!(ThreadAccount::parse("5000 77 3\n", status), whole);
        assert_eq!(ThreadAccount::parse("", ""), ThreadAccount::default());
        assert_eq!(ThreadAccount::parse("x 7", ""), ThreadAccount::default(), "another file");
    }

    #[test]
    fn a_thread_has_run_for_a_while() {
        let own = super::super::thread::own_number();
        // The kernel accounts for a thread's time when it leaves the cpu, or at the timer.
        std::thread::sleep(std::time::Duration::from_millis(1));
        let account = ThreadAccount::read_account(std::process::id(), own).unwrap();
        if !has_waiting_time() {
            return println!("skipped: this kernel was built without CONFIG_SCHED_INFO");
        }
        assert!(account.on_cpu_ns > 0, "{account:?}");
    }

    #[test]
    fn a_thread_that_is_not_there_has_no_account() {
        assert_eq!(ThreadAccount::read_account(std::process::id(), u32::MAX), None);
    }
}
