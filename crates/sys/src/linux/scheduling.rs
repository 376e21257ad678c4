//! Scheduling classes: before all others, and like all others.

use std::io;

/// Lets the calling thread run before all others of the default class: SCHED_FIFO at the lowest priority (sched(7)). Threads that
/// it makes do not inherit it.
///
/// # Errors
/// When this user may not (CAP_SYS_NICE, or RLIMIT_RTPRIO of 1).
pub fn run_first() -> io::Result<()> {
    set(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1)
}

/// Lets a thread of this process run like all others again: SCHED_OTHER. That its own threads inherit nothing stays, since only
/// CAP_SYS_NICE may take that back.
///
/// # Errors
/// When the thread has ended.
pub fn run_as_others(thread: u32) -> io::Result<()> {
    set(thread, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
}

fn set(thread: u32, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads the parameters, which outlive the call.
    let result = unsafe { libc::sched_setscheduler(thread as libc::pid_t, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
