//! Scheduling: ahead of all other threads, soon after waking up, and the default.

use std::io;

/// Lets the calling thread run before all threads of the default class: SCHED_FIFO at the lowest priority (sched(7)). Its new threads do
/// not inherit it.
///
/// # Errors
/// If this user may not (CAP_SYS_NICE, or RLIMIT_RTPRIO of 1).
pub fn run_first() -> io::Result<()> {
    set_scheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1)
}

/// Checks on a thread of its own, which ends at once, whether this user may [`run_first`].
///
/// # Errors
/// As [`run_first`], or of starting a thread.
pub fn may_run_first() -> io::Result<()> {
    let asked = std::thread::Builder::new().spawn(run_first)?.join();
    asked.unwrap_or_else(|_| Err(io::Error::other("the thread that asked ended without an answer")))
}

/// Checks on a thread of its own whether this user may lower a nice value, which mostly takes the right that [`run_first`] takes. If so, and
/// [`may_run_first`] is refused, the control group has no time for real-time tasks (CONFIG_RT_GROUP_SCHED).
pub fn may_lower_nice() -> bool {
    let lower = || set_attributes(SOON_NICE).is_ok();
    std::thread::Builder::new().spawn(lower).is_ok_and(|thread| thread.join().unwrap_or(false))
}

/// Returns a thread of this process to the default class: SCHED_OTHER. Its new threads still do not inherit the class, since clearing that
/// flag takes CAP_SYS_NICE.
///
/// # Errors
/// If the thread has ended.
pub fn run_as_others(thread: u32) -> io::Result<()> {
    set_scheduler(thread, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
}

/// Nice value of a thread that runs soon.
const SOON_NICE: i32 = -10;
/// Slice of a thread that runs soon, the shortest that the kernel takes, in nanoseconds.
const SOON_SLICE_NS: u64 = 100_000;

/// Lets the calling thread run soon after it wakes up, before busy threads of the default class, in which it stays: by a short slice, since
/// Linux 6.12, and a nice value of -10 if this user may set one (CAP_SYS_NICE). Its new threads inherit neither. Does nothing if the kernel
/// refuses.
pub fn run_soon() {
    // SAFETY: a call without memory; -1 is a nice value as well as an error, and both are harmless here.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    if set_attributes(nice.min(SOON_NICE)).is_err() {
        let _ = set_attributes(nice);
    }
}

/// Sets a short slice, and a nice value: sched_setattr(2).
fn set_attributes(nice: i32) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: SOON_SLICE_NS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel reads the attributes, which outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set_scheduler(thread: u32, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // By the system call, since musl's function always fails with ENOSYS. The kernel's `sched_param` is one int.
    // SAFETY: the kernel reads the priority, which outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_soon_has_a_higher_weight_and_passes_it_on_to_none() {
        let nice_of_thread = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
            fields[16].parse::<i32>().unwrap()
        };
        let before = nice_of_thread();
        let (own, of_new_thread) = std::thread::spawn(move || {
            run_soon();
            (nice_of_thread(), std::thread::spawn(nice_of_thread).join().unwrap())
        })
        .join()
        .unwrap();
        let may_set = super::super::process::is_root();
        let (soon, reset) = if may_set { (before.min(SOON_NICE), 0) } else { (before, before) };
        assert_eq!((own, of_new_thread), (soon, reset));
    }
}
