//! Signals of a process that waits for another one: held back and taken one by one, passed on, and given back.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::process::Process;
pub use crate::values::signals::{Sender, Signal};

/// The code of siginfo_t for signals that the kernel sends itself, as for keys that were pressed on a terminal.
const SI_KERNEL: i32 = 0x80;

/// Signals that end or stop a process at the moment something is wrong in it, or that cannot be held back at all.
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

/// Whether SIGPIPE was ignored when this program was started.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Rust ignores SIGPIPE before `main`, and nothing says what it was before. A command that is started in our place should
/// find what we found, so it is looked up before that, where C programs have their constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_UP_PIPE: extern "C" fn() = {
    extern "C" fn look_up_pipe() {
        PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    }
    look_up_pipe
};

/// Whether SIGPIPE was ignored when this program was started.
pub(super) fn pipe_was_ignored() -> bool {
    PIPE_WAS_IGNORED.load(Ordering::Relaxed)
}

/// Whether a signal is ignored.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is a valid one, and the kernel fills it; no new action is given.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether this process was started to outlive its terminal, as nohup(1) does.
pub fn outlives_terminal() -> bool {
    is_ignored(libc::SIGHUP)
}

/// Lets this process outlive its terminal, whatever was set up before.
pub fn outlive_terminal() {
    ignore(libc::SIGHUP, true);
}

/// Whether somebody wants this process to stop, as Ctrl-Z does, since [`notice_stops`].
static IS_TO_STOP: AtomicBool = AtomicBool::new(false);

/// From here on SIGTSTP is noticed, and stops this process where it calls [`stop_now`].
pub fn notice_stops() {
    extern "C" fn note(_: libc::c_int) {
        IS_TO_STOP.store(true, Ordering::SeqCst);
    }
    // SAFETY: an all-zero sigaction is a valid one; the handler does nothing but to store into an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGTSTP, &raw const action, std::ptr::null_mut());
    }
}

/// Whether this process is to stop.
pub fn is_to_stop() -> bool {
    IS_TO_STOP.load(Ordering::SeqCst)
}

/// Stops this process as SIGTSTP does by default; returns when it was continued, or at once where no shell could continue it.
pub fn stop_now() {
    ignore(libc::SIGTSTP, false);
    // SAFETY: a call without memory.
    unsafe { libc::raise(libc::SIGTSTP) };
    IS_TO_STOP.store(false, Ordering::SeqCst);
    notice_stops();
}

/// SIGTSTP stops this process at once again.
pub fn stop_at_once() {
    ignore(libc::SIGTSTP, false);
    if IS_TO_STOP.swap(false, Ordering::SeqCst) {
        // SAFETY: a call without memory.
        unsafe { libc::raise(libc::SIGTSTP) };
    }
}

/// Lets a signal do what it does by default, or be ignored. Safe to call between fork(2) and execve(2).
pub(super) fn ignore(signal: i32, ignored: bool) {
    let action = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither action runs code of ours.
    unsafe { libc::signal(signal, action) };
}

/// All signals of the calling thread held back, but those of its own faults; given back on drop.
#[derive(Debug)]
pub struct Held {
    held: Set,
    before: Set,
    child_was_ignored: bool,
}

/// A set of signals.
#[derive(Clone, Copy)]
pub(super) struct Set(libc::sigset_t);

impl std::fmt::Debug for Set {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Set")
    }
}

impl Set {
    /// Makes this the set of held signals of the calling thread. Safe to call between fork(2) and execve(2).
    pub(super) fn hold(&self) {
        // SAFETY: the set is initialised; it fails only for an unknown first argument.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

impl Held {
    /// Holds back signals, in a program whose only thread is the calling one.
    ///
    /// # Errors
    /// What the system says; none is known.
    pub fn new() -> io::Result<Self> {
        let child_was_ignored = is_ignored(libc::SIGCHLD);
        // Ended children are forgotten, their status with them, where SIGCHLD is ignored.
        ignore(libc::SIGCHLD, false);
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
            let (held, before) = (Set(held.assume_init()), Set(before.assume_init()));
            Ok(Self { held, before, child_was_ignored })
        }
    }

    /// The signals that were held back before.
    pub(super) fn before(&self) -> Set {
        self.before
    }

    /// Whether SIGCHLD was ignored before.
    pub(super) fn child_was_ignored(&self) -> bool {
        self.child_was_ignored
    }

    /// The next signal, waited for so long: sigtimedwait(2). Nothing where none came.
    pub fn next(&self, wait: Duration) -> Option<Signal> {
        let wait = libc::timespec {
            tv_sec: wait.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        // SAFETY: the kernel reads the set and the time and fills the siginfo, all of which outlive the call; who sent it
        // is there for every code that a process can send.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let number = libc::sigtimedwait(&raw const self.held.0, &raw mut info, &raw const wait);
            let process = || u32::try_from(info.si_pid()).map_or(Sender::Kernel, Sender::Process);
            let sender = if info.si_code >= SI_KERNEL { Sender::Kernel } else { process() };
            (number > 0).then_some(Signal { number, sender })
        }
    }

    /// Whether this process is to go on: SIGCONT came and was not taken yet.
    pub fn is_to_go_on(&self) -> bool {
        self.is_pending(libc::SIGCONT)
    }

    fn is_pending(&self, signal: i32) -> bool {
        let mut pending = MaybeUninit::uninit();
        // SAFETY: sigpending initialises the set.
        unsafe { libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(pending.as_ptr(), signal) == 1 }
    }

    /// Stops this process as a signal would: SIGTSTP, SIGTTIN, SIGTTOU or SIGSTOP. Returns when it was continued, or at
    /// once where the system does not stop it, as it does not where no shell could continue it.
    pub fn stop(&self, signal: i32) {
        self.deliver(signal);
    }

    /// Ends this process as a signal ends it, without a core file: whoever waits for it sees that signal. Returns where
    /// the signal does not end it.
    pub fn end(&self, signal: i32) {
        let nothing = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the kernel reads the limit.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const nothing) };
        self.deliver(signal);
    }

    /// Sends a signal to ourselves with its default action and lets it through.
    fn deliver(&self, signal: i32) {
        ignore(signal, false);
        // SAFETY: the sets are initialised by sigemptyset; a signal with its default action runs no code of ours.
        unsafe {
            let mut through = MaybeUninit::uninit();
            libc::sigemptyset(through.as_mut_ptr());
            libc::sigaddset(through.as_mut_ptr(), signal);
            libc::raise(signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, through.as_ptr(), std::ptr::null_mut());
        }
        self.held.hold();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.child_was_ignored {
            ignore(libc::SIGCHLD, true);
        }
        self.before.hold();
    }
}

/// What a terminal sends with Ctrl-C.
pub const INTERRUPT: i32 = libc::SIGINT;
/// What a terminal sends with Ctrl-Z.
pub const STOP: i32 = libc::SIGTSTP;
/// What asks a service to read its files again.
pub const RELOAD: i32 = libc::SIGHUP;
/// What asks a service to end.
pub const TERMINATE: i32 = libc::SIGTERM;

/// Sends a signal to a child that was not waited for yet, so that its number is its own: kill(2). Any other number is passed over.
pub fn send(child: u32, signal: i32) {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel fills the siginfo, of which zeros are a valid value; kill is a call without memory.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(libc::P_PID, child, &raw mut info, options) == 0 {
            libc::kill(child.cast_signed(), signal);
        }
    }
}

/// Sends a signal to any process, which may have ended and its number be another's by now: through a handle that is opened before its
/// start time is looked at, pidfd_send_signal(2); before Linux 5.3 by its number, right after that look.
pub fn send_to(process: &Process, signal: i32) {
    let handle = handle_of(process.id);
    if !process.is_alive() {
        return;
    }
    match handle {
        Ok(handle) => {
            let nothing = std::ptr::null::<libc::siginfo_t>();
            // SAFETY: the handle is open; without a siginfo there is no memory to read.
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), signal, nothing, 0) };
        }
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            // SAFETY: a call without memory; ids of processes are positive.
            unsafe { libc::kill(process.id.cast_signed(), signal) };
        }
        Err(_) => {}
    }
}

/// A handle of a process, which stays this one's when the number is another's: pidfd_open(2).
fn handle_of(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: a call without memory; what it returns is a new file, or -1.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, process, 0) {
            file if file >= 0 => Ok(OwnedFd::from_raw_fd(file as i32)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Whether a signal ends a process that does nothing about it, signal(7).
pub fn ends(signal: i32) -> bool {
    let passes = matches!(signal, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH);
    !passes && !is_from_terminal(signal)
}

/// Whether a signal is one of those that stop a process from a terminal.
pub fn is_from_terminal(signal: i32) -> bool {
    matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Whether a signal of the kernel's reaches this process alone, not its children as well: its alarm, which was set before
/// it was started, and, where it leads its session, the end of its terminal.
pub fn is_meant_for_one(signal: i32) -> bool {
    signal == libc::SIGALRM || (signal == libc::SIGHUP && leads_session())
}

/// Whether a signal tells of a child.
pub fn is_about_children(signal: i32) -> bool {
    signal == libc::SIGCHLD
}

/// Whether this process leads its session: then the kernel tells it alone that its terminal is gone.
fn leads_session() -> bool {
    // SAFETY: calls without memory.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Whether a shell with job control started this process: one of the same session, but of another group, which sees that
/// it stops and can continue it.
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
        let stat = super::super::process::Stat::of(child.id()).unwrap().unwrap();
        let earlier = Process { id: child.id(), start_ticks: stat.start_ticks - 1 };
        send_to(&earlier, libc::SIGKILL);
        assert_eq!(child.try_wait().unwrap(), None, "its number was given again");
        send_to(&Process { start_ticks: stat.start_ticks, ..earlier }, libc::SIGTERM);
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
        let start_ticks = super::super::process::Stat::of(id).unwrap().unwrap().start_ticks;
        let sleeper = Process { id, start_ticks };
        send(id, libc::SIGKILL);
        assert!(sleeper.is_alive(), "a child's child has a number that may be another's tomorrow");
        send_to(&sleeper, libc::SIGKILL);
        send(shell.id(), libc::SIGKILL);
        shell.wait().unwrap();
    }

    #[test]
    fn a_held_signal_is_taken_with_its_sender_and_nothing_stays_behind() {
        std::thread::spawn(|| {
            let held = Held::new().unwrap();
            assert_eq!(held.next(Duration::ZERO), None);
            assert!(!held.is_pending(libc::SIGWINCH));
            // SAFETY: to this thread alone; it is held back.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGWINCH) };
            assert!(held.is_pending(libc::SIGWINCH));
            let sender = Sender::Process(std::process::id());
            assert_eq!(held.next(Duration::from_secs(60)), Some(Signal { number: libc::SIGWINCH, sender }));
            assert!(!held.is_pending(libc::SIGWINCH));
        })
        .join()
        .unwrap();
    }
}
