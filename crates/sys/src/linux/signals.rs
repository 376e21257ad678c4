//! Signals of a process that waits for another one: blocked and taken one by one, passed on, and restored.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::process::ProcessIdentity;
use super::task_handle::TaskHandle;
pub use crate::values::signals::{ReceivedSignal, SignalSender};

/// The code of siginfo_t for signals sent by the kernel itself, as for keys pressed on a terminal.
const SI_KERNEL: i32 = 0x80;

/// Signals that report a fault of the process itself, or that cannot be blocked.
const OWN: [i32; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGKILL,
    libc::SIGSTOP,
];

/// True if SIGPIPE was ignored when this program was started.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Reads the disposition of SIGPIPE as a constructor, as in C programs: Rust ignores SIGPIPE before `main` without recording the old
/// disposition, and a command that replaces this program should inherit it.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_UP_PIPE: extern "C" fn() = {
    extern "C" fn look_up_pipe() {
        PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    }
    look_up_pipe
};

/// Returns true if SIGPIPE was ignored when this program was started.
pub(super) fn pipe_was_ignored() -> bool {
    PIPE_WAS_IGNORED.load(Ordering::Relaxed)
}

/// Returns true if a signal is ignored.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is a valid one, and the kernel fills it; no new action is given.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Returns true if this process was started to outlive its terminal, as by nohup(1).
pub fn outlives_terminal() -> bool {
    is_ignored(libc::SIGHUP)
}

/// Lets this process outlive its terminal, whatever was set up before.
pub fn outlive_terminal() {
    ignore_signal(libc::SIGHUP, true);
}

/// True after a request to stop this process, as by Ctrl-Z, since [`notice_stops`].
static IS_TO_STOP: AtomicBool = AtomicBool::new(false);

/// Makes SIGTSTP set a flag; [`stop_now`] then stops this process.
pub fn notice_stops() {
    extern "C" fn note_signal(_: libc::c_int) {
        IS_TO_STOP.store(true, Ordering::SeqCst);
    }
    // SAFETY: an all-zero sigaction is a valid one; the handler only stores into an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGTSTP, &raw const action, std::ptr::null_mut());
    }
}

/// Returns true if this process is to stop.
pub fn is_to_stop() -> bool {
    IS_TO_STOP.load(Ordering::SeqCst)
}

/// Stops this process as SIGTSTP does by default. Returns when it is continued, or at once if no shell could continue it.
pub fn stop_now() {
    ignore_signal(libc::SIGTSTP, false);
    // SAFETY: a call without memory.
    unsafe { libc::raise(libc::SIGTSTP) };
    IS_TO_STOP.store(false, Ordering::SeqCst);
    notice_stops();
}

/// Makes SIGTSTP stop this process at once again.
pub fn stop_at_once() {
    ignore_signal(libc::SIGTSTP, false);
    if IS_TO_STOP.swap(false, Ordering::SeqCst) {
        // SAFETY: a call without memory.
        unsafe { libc::raise(libc::SIGTSTP) };
    }
}

/// Sets a signal to its default action, or to be ignored. Safe to call between fork(2) and execve(2).
pub(super) fn ignore_signal(signal: i32, ignored: bool) {
    let action = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither action runs code of ours.
    unsafe { libc::signal(signal, action) };
}

/// Blocks all signals of the calling thread except for its own faults; restored on drop.
#[derive(Debug)]
pub struct HeldSignals {
    held: SignalSet,
    before: SignalSet,
    child_was_ignored: bool,
}

/// A set of signals.
#[derive(Clone, Copy)]
pub(super) struct SignalSet(libc::sigset_t);

impl std::fmt::Debug for SignalSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Set")
    }
}

impl SignalSet {
    /// Makes this the set of blocked signals of the calling thread. Safe to call between fork(2) and execve(2).
    pub(super) fn hold_signals(&self) {
        // SAFETY: the set is initialised; it fails only for an unknown first argument.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

impl HeldSignals {
    /// Blocks signals, in a program with the calling thread only.
    ///
    /// # Errors
    /// The system's error; none is known.
    pub fn new() -> io::Result<Self> {
        let child_was_ignored = is_ignored(libc::SIGCHLD);
        // If SIGCHLD is ignored, the kernel discards ended children with their status.
        ignore_signal(libc::SIGCHLD, false);
        let (mut held, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigfillset and pthread_sigmask initialise the sets that they are given.
        unsafe {
            libc::sigfillset(held.as_mut_ptr());
            for signal in OWN {
                libc::sigdelset(held.as_mut_ptr(), signal);
            }
            match libc::pthread_sigmask(libc::SIG_SETMASK, held.as_ptr(), before.as_mut_ptr()) {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
            let (held, before) = (SignalSet(held.assume_init()), SignalSet(before.assume_init()));
            Ok(Self { held, before, child_was_ignored })
        }
    }

    /// Returns the signals that were blocked before.
    pub(super) fn held_before(&self) -> SignalSet {
        self.before
    }

    /// Returns true if SIGCHLD was ignored before.
    pub(super) fn child_was_ignored(&self) -> bool {
        self.child_was_ignored
    }

    /// Waits for the next signal, at most `wait`: sigtimedwait(2). `None` if there was none.
    pub fn next(&self, wait: Duration) -> Option<ReceivedSignal> {
        let wait = libc::timespec {
            tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        // SAFETY: the kernel reads the set and the time and fills the siginfo, all of which outlive the call; every code that a process can
        // send has a sender.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let number = libc::sigtimedwait(&raw const self.held.0, &raw mut info, &raw const wait);
            let process = || u32::try_from(info.si_pid()).map_or(SignalSender::Kernel, SignalSender::Process);
            let sender = if info.si_code >= SI_KERNEL { SignalSender::Kernel } else { process() };
            (number > 0).then_some(ReceivedSignal { number, sender })
        }
    }

    /// Returns true if this process is to continue: SIGCONT is pending.
    pub fn is_to_go_on(&self) -> bool {
        self.is_pending(libc::SIGCONT)
    }

    fn is_pending(&self, signal: i32) -> bool {
        let mut pending = MaybeUninit::uninit();
        // SAFETY: sigpending initialises the set.
        unsafe { libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(pending.as_ptr(), signal) == 1 }
    }

    /// Stops this process as a signal would: SIGTSTP, SIGTTIN, SIGTTOU or SIGSTOP. Returns when it is continued, or at once if the system
    /// does not stop it, as when no shell could continue it.
    pub fn stop_self(&self, signal: i32) {
        self.deliver_signal(signal);
    }

    /// Ends this process by a signal, without a core file, so that its parent sees that signal. Returns if the signal does not end it.
    pub fn end_self(&self, signal: i32) {
        let nothing = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the kernel reads the limit.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const nothing) };
        self.deliver_signal(signal);
    }

    /// Sends a signal to ourselves with its default action and unblocks it.
    fn deliver_signal(&self, signal: i32) {
        ignore_signal(signal, false);
        // SAFETY: the sets are initialised by sigemptyset; a signal with its default action runs no code of ours.
        unsafe {
            let mut through = MaybeUninit::uninit();
            libc::sigemptyset(through.as_mut_ptr());
            libc::sigaddset(through.as_mut_ptr(), signal);
            libc::raise(signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, through.as_ptr(), std::ptr::null_mut());
        }
        self.held.hold_signals();
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        if self.child_was_ignored {
            ignore_signal(libc::SIGCHLD, true);
        }
        self.before.hold_signals();
    }
}

/// The signal of Ctrl-C.
pub const INTERRUPT: i32 = libc::SIGINT;
/// The signal of Ctrl-Z.
pub const STOP: i32 = libc::SIGTSTP;
/// The signal that asks a service to read its files again.
pub const RELOAD: i32 = libc::SIGHUP;
/// The signal that asks a service to end.
pub const TERMINATE: i32 = libc::SIGTERM;

/// Sends a signal to a child that was not waited for yet, so that its number is still its own: kill(2). Does nothing for any other number.
pub fn send_signal(child: u32, signal: i32) {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel fills the siginfo, of which zeros are a valid value; kill is a call without memory.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(libc::P_PID, child, &raw mut info, options) == 0 {
            libc::kill(child.cast_signed(), signal);
        }
    }
}

/// Sends a signal to any process; its number may have been reused. It uses a handle that is opened before its start time is checked,
/// pidfd_send_signal(2); before Linux 5.3 its number, right after that check.
pub fn send_to(process: &ProcessIdentity, signal: i32) {
    let handle = TaskHandle::open_process(process.id);
    if !process.is_alive() {
        return;
    }
    match handle {
        Ok(handle) => handle.send_signal(signal),
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            // SAFETY: a call without memory; ids of processes are positive.
            unsafe { libc::kill(process.id.cast_signed(), signal) };
        }
        Err(_) => {}
    }
}

/// Returns true if a signal's default action ends a process, signal(7).
pub fn ends_process(signal: i32) -> bool {
    let passes = matches!(signal, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH);
    !passes && !is_from_terminal(signal)
}

/// Returns true for the signals that stop a process from a terminal.
pub fn is_from_terminal(signal: i32) -> bool {
    matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Returns true if the kernel sends a signal to this process only, not to its children: its alarm, set before it was started, and the end
/// of its terminal if it leads its session.
pub fn is_meant_for_one(signal: i32) -> bool {
    signal == libc::SIGALRM || (signal == libc::SIGHUP && leads_session())
}

/// Returns true if a signal reports a change of a child.
pub fn is_about_children(signal: i32) -> bool {
    signal == libc::SIGCHLD
}

/// Returns true if this process leads its session: then the kernel reports the end of the terminal to it only.
fn leads_session() -> bool {
    // SAFETY: calls without memory.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Returns true if a shell with job control started this process: a shell of the same session, but of another group, which sees that it
/// stops and can continue it.
pub fn has_job_control() -> bool {
    // SAFETY: calls without memory.
    unsafe {
        let parent = libc::getppid();
        parent > 0 && libc::getsid(parent) == libc::getsid(0) && libc::getpgid(parent) != libc::getpgrp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reaches_the_process_that_is_meant_and_no_other() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let stat = super::super::process::ProcessStat::read_stat(child.id()).unwrap().unwrap();
        let earlier = ProcessIdentity { id: child.id(), start_ticks: stat.start_ticks - 1 };
        send_to(&earlier, libc::SIGKILL);
        assert_eq!(child.try_wait().unwrap(), None, "its number was given again");
        send_to(&ProcessIdentity { start_ticks: stat.start_ticks, ..earlier }, libc::SIGTERM);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(libc::SIGTERM));
    }

    #[test]
    fn a_number_alone_is_signalled_only_if_it_is_a_childs() {
        let mut shell = std::process::Command::new("sh");
        let mut shell =
            shell.args(["-c", "sleep 1000 & echo $!; wait"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(shell.stdout.take().unwrap()), &mut line).unwrap();
        let id = line.trim().parse().unwrap();
        let start_ticks = super::super::process::ProcessStat::read_stat(id).unwrap().unwrap().start_ticks;
        let sleeper = ProcessIdentity { id, start_ticks };
        send_signal(id, libc::SIGKILL);
        assert!(sleeper.is_alive(), "a child's child has a number that may be another's tomorrow");
        send_to(&sleeper, libc::SIGKILL);
        send_signal(shell.id(), libc::SIGKILL);
        shell.wait().unwrap();
    }

    #[test]
    fn a_held_signal_is_taken_with_its_sender_and_nothing_stays_behind() {
        std::thread::spawn(|| {
            let held = HeldSignals::new().unwrap();
            assert_eq!(held.next(Duration::ZERO), None);
            assert!(!held.is_pending(libc::SIGWINCH));
            // SAFETY: to this thread alone; it is held back.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGWINCH) };
            assert!(held.is_pending(libc::SIGWINCH));
            let sender = SignalSender::Process(std::process::id());
            assert_eq!(held.next(Duration::from_secs(60)), Some(ReceivedSignal { number: libc::SIGWINCH, sender }));
            assert!(!held.is_pending(libc::SIGWINCH));
        })
        .join()
        .unwrap();
    }
}
