//! Scheduling classes: before all others, and like all others.

use std::io;

/// The kernel takes none shorter.
const SHORTEST_SLICE_NS: u64 = 100_000;

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

/// Lets the calling thread run sooner when it has something to do, at the cost of running less long at a time: the shortest slice that the
/// kernel gives (sched_attr of sched_setattr(2), Linux 6.12 and newer; others pass over it). Its share of a cpu stays what it was, so any user may.
///
/// # Errors
/// What the kernel says.
pub fn run_soon() -> io::Result<()> {
    /// The first version of `struct sched_attr` (include/uapi/linux/sched/types.h).
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    let mut attributes = Attributes::default();
    let size = std::mem::size_of::<Attributes>() as libc::c_uint;
    // SAFETY: the kernel fills as many bytes as it is given, and reads as many as `size` says; both outlive the calls.
    let result = unsafe {
        let at = &raw mut attributes;
        match libc::syscall(libc::SYS_sched_getattr, 0, at, size, 0) {
            0 => {
                (*at).runtime_ns = SHORTEST_SLICE_NS;
                libc::syscall(libc::SYS_sched_setattr, 0, at, 0)
            }
            failed => failed,
        }
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set(thread: u32, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads the parameters, which outlive the call.
    let result = unsafe { libc::sched_setscheduler(thread as libc::pid_t, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_soon_is_scheduled_like_others() {
        std::thread::spawn(|| {
            run_soon().unwrap();
            // SAFETY: takes numbers alone.
            let (policy, nice) = unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS, 0)) };
            // SAFETY: the same.
            let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, std::process::id()) };
            assert_eq!((policy, nice), (libc::SCHED_OTHER, before));
        })
        .join()
        .unwrap();
    }
}
