//! System calls by number: what a task waits for in them.

use libc::c_long;

use crate::values::wakes::CallKind;

/// Calls with the descriptor that they wait for as first argument.
pub const DESCRIPTOR_CALLS: [i32; 11] = [
    libc::SYS_read as i32,
    libc::SYS_write as i32,
    libc::SYS_readv as i32,
    libc::SYS_writev as i32,
    libc::SYS_recvfrom as i32,
    libc::SYS_sendto as i32,
    libc::SYS_recvmsg as i32,
    libc::SYS_sendmsg as i32,
    libc::SYS_accept as i32,
    libc::SYS_accept4 as i32,
    libc::SYS_recvmmsg as i32,
];
/// Those of them that only sockets have.
const SOCKET_CALLS: [c_long; 7] = [
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvmmsg,
];
/// Other calls that send through a socket.
const SENDERS: [c_long; 6] =
    [libc::SYS_sendmmsg, libc::SYS_sendfile, libc::SYS_splice, libc::SYS_close, libc::SYS_shutdown, libc::SYS_connect];
const POLLS: [c_long; 4] = [libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];
const SLEEPS: [c_long; 2] = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];
const SIGNALS: [c_long; 6] = [
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
/// kill, tkill and tgkill, by number: nothing here may send a signal.
const SIGNAL_SENDERS: [c_long; 3] = if cfg!(target_arch = "x86_64") { [62, 200, 234] } else { [129, 130, 131] };
/// Calls that newer processors' systems lack.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: [(c_long, CallKind); 4] = [
    (libc::SYS_poll, CallKind::Poll),
    (libc::SYS_select, CallKind::Poll),
    (libc::SYS_epoll_wait, CallKind::Poll),
    (libc::SYS_pause, CallKind::Signal),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: [(c_long, CallKind); 0] = [];

/// Returns the kind of a call; -1 is none.
pub fn kind_of_call(number: c_long) -> CallKind {
    if let Some((_, kind)) = OLD_CALLS.iter().find(|(old, _)| *old == number) {
        return *kind;
    }
    match number {
        -1 => CallKind::None,
        libc::SYS_futex => CallKind::Futex,
        _ if SOCKET_CALLS.contains(&number) => CallKind::Socket,
        _ if DESCRIPTOR_CALLS.iter().any(|call| c_long::from(*call) == number) => CallKind::File,
        _ if SENDERS.contains(&number) => CallKind::Send,
        _ if POLLS.contains(&number) => CallKind::Poll,
        _ if SLEEPS.contains(&number) => CallKind::Sleep,
        _ if SIGNALS.contains(&number) || SIGNAL_SENDERS.contains(&number) => CallKind::Signal,
        _ => CallKind::Other,
    }
}
