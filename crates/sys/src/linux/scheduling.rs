//! Scheduling classes: ahead of all other threads, and the default.

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

/// Returns a thread of this process to the default class: SCHED_OTHER. Its new threads still do not inherit the class, since clearing that
/// flag takes CAP_SYS_NICE.
///
/// # Errors
/// If the thread has ended.
pub fn run_as_others(thread: u32) -> io::Result<()> {
    set_scheduler(thread, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
}

fn set_scheduler(thread: u32, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads the parameters, which outlive the call.
    let result = unsafe { libc::sched_setscheduler(thread as libc::pid_t, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
