//! The process between this one and a command: all processes of the command stay below it, and end with it if this process is killed.
//!
//! The spawned process becomes the supervisor, after it has forked the process that executes the command. It executes nothing itself, and
//! sleeps until one of its children ends or stops. Then it reports the kernel's accounts of that child. Orphans of the command become its
//! children (prctl(2), PR_SET_CHILD_SUBREAPER), so the supervisor's descendants are exactly the command's processes. When the process that
//! started it ends, however it ends, the end of a pipe wakes the supervisor, which kills its children until there are none. They were not
//! waited for, so their numbers cannot have been reused.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use super::super::task;
use super::shared_time::monotonic_now;
use crate::values::execution::SUPERVISOR_NAME;

/// Maximum rounds of killing, a millisecond apart, before the supervisor gives up: it cannot kill another user's processes.
const ATTEMPTS: u32 = 5_000;
/// The status in the first report, which holds the command's number; wait4(2) gives it to no child.
const STARTED: i32 = 0xff;
/// Descriptors of the supervisor: a pipe that ends with this process, and the pipe of reports.
const LIFE: i32 = 0;
const REPORTS: i32 = 1;
/// The byte on the pipe of life that makes the supervisor leave its children.
const LEAVE: u8 = b'l';

/// The supervisor's report of a child; less than PIPE_BUF, so it is written as a whole.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct SupervisorReport {
    child: libc::pid_t,
    /// Status from wait4(2).
    pub status: i32,
    at_ns: u64,
    /// Resource use of the child, if it has ended.
    pub usage: libc::rusage,
}

impl SupervisorReport {
    /// Returns the child's number.
    pub fn child_number(&self) -> u32 {
        self.child.cast_unsigned()
    }

    /// Returns the time of the report, as [`monotonic_now`].
    pub fn noticed_at(&self) -> Duration {
        Duration::from_nanos(self.at_ns)
    }
}

/// A supervisor with a command below it.
pub struct SupervisorProcess {
    process: Child,
    /// The number of the command's first process.
    pub command: u32,
    /// Closing this end shows the supervisor that this process is gone.
    life: Option<PipeWriter>,
    reports: PipeReader,
    /// True if all processes below it have ended.
    pub is_over: bool,
}

impl SupervisorProcess {
    /// Starts a command below a supervisor, in the supervisor's process group. `last` runs in the command's process before it is executed,
    /// with the number of its parent; it may only make system calls.
    ///
    /// # Errors
    /// If no process can be made, or the command cannot be executed.
    pub fn start_supervised(
        mut command: Command,
        last: impl Fn(u32) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (mut reports, report) = io::pipe()?;
        let (lives, life) = io::pipe()?;
        let files = [lives.as_raw_fd(), report.as_raw_fd()];
        // SAFETY: the closure makes only system calls, which are allowed between fork(2) and execve(2).
        unsafe { command.pre_exec(move || last(below_supervisor(files)?)) };
        let process = command.spawn()?;
        drop((report, lives));
        let mut first = [0; size_of::<SupervisorReport>()];
        reports.read_exact(&mut first)?;
        // SAFETY: a call without memory on an open file.
        if unsafe { libc::fcntl(reports.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let command = report_of(&first).child_number();
        Ok(Self { process, command, life: Some(life), reports, is_over: false })
    }

    /// Returns the supervisor's number.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the descriptor that becomes readable with the next report, and at the end.
    pub fn report_descriptor(&self) -> i32 {
        self.reports.as_raw_fd()
    }

    /// Returns the next report, if there is one.
    pub fn next(&mut self) -> Option<SupervisorReport> {
        let mut bytes = [0; size_of::<SupervisorReport>()];
        match self.reports.read(&mut bytes) {
            Ok(size) if size == bytes.len() => Some(report_of(&bytes)),
            Ok(_) => {
                self.is_over = true;
                None
            }
            Err(_) => None,
        }
    }
}

impl SupervisorProcess {
    /// Makes the supervisor end, and leaves the processes below it.
    pub fn leave_processes(&mut self) {
        if let Some(mut life) = self.life.take() {
            // Without a reader the supervisor is gone, and nothing is left to it.
            let _ = life.write_all(&[LEAVE]);
        }
        let _ = self.process.wait();
    }

    /// Waits for the supervisor if all processes below it have ended, and returns the cpu time of it and of its children in seconds.
    pub fn wait_for_end(&mut self) -> Option<f64> {
        drop(self.life.take());
        // The end of the reports is its last act.
        if !std::mem::take(&mut self.is_over) {
            return None;
        }
        let (number, mut usage) = (libc::pid_t::try_from(self.process.id()).ok()?, no_usage());
        // SAFETY: the kernel fills the usage; the child was not waited for before.
        while unsafe { libc::wait4(number, std::ptr::null_mut(), 0, &raw mut usage) } < 0 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return None;
            }
        }
        Some(timeval_seconds(usage.ru_utime) + timeval_seconds(usage.ru_stime))
    }
}

impl Drop for SupervisorProcess {
    /// Makes the supervisor kill the remaining processes and end.
    fn drop(&mut self) {
        self.wait_for_end();
    }
}

/// Converts a kernel time to seconds.
pub fn timeval_seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

fn report_of(bytes: &[u8; size_of::<SupervisorReport>()]) -> SupervisorReport {
    // SAFETY: the bytes were written from a report, and any bytes are a valid one.
    unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }
}

/// Forks: the calling process becomes the supervisor and does not return; the new one returns with the number of the supervisor.
fn below_supervisor([life, report]: [i32; 2]) -> io::Result<u32> {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: the sets are initialised by the calls that they are passed to; the other calls take no memory.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        // Out of reach of keys on the terminal and of signals to the group of this process.
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        let parent = libc::getpid().cast_unsigned();
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
                Ok(parent)
            }
            command => supervise_command(command, life, report),
        }
    }
}

/// Runs the supervisor's loop.
fn supervise_command(command: libc::pid_t, life: i32, report: i32) -> ! {
    // SAFETY: calls without memory, or with that of the stack. This process uses none of the closed files again.
    let changes = unsafe {
        libc::dup2(life, LIFE);
        libc::dup2(report, REPORTS);
        // Others wait for the ends of files that are open here: a pipe that signals the exec, and the pipe for the command's output.
        if libc::syscall(libc::SYS_close_range, REPORTS + 1, u32::MAX, 0) != 0 {
            let most = i32::try_from(libc::sysconf(libc::_SC_OPEN_MAX)).unwrap_or(i32::MAX);
            for file in REPORTS + 1..most.clamp(1 << 10, 1 << 20) {
                libc::close(file);
            }
        }
        libc::prctl(libc::PR_SET_NAME, SUPERVISOR_NAME.as_ptr());
        let mut child = MaybeUninit::uninit();
        libc::sigemptyset(child.as_mut_ptr());
        libc::sigaddset(child.as_mut_ptr(), libc::SIGCHLD);
        libc::signalfd(-1, child.as_ptr(), libc::SFD_NONBLOCK)
    };
    send_report(&SupervisorReport { child: command, status: STARTED, at_ns: monotonic_ns(), usage: no_usage() });
    loop {
        report_all();
        if wait_for_end(changes, -1) {
            break;
        }
    }
    let mut word = 0_u8;
    // SAFETY: the kernel writes at most this byte. At the end of the pipe it writes none.
    if unsafe { libc::read(LIFE, (&raw mut word).cast(), 1) } == 1 && word == LEAVE {
        exit_supervisor();
    }
    // The starting process is gone, so the reports have no reader.
    for _ in 0..ATTEMPTS {
        let children = task::child_processes(std::process::id());
        // Without /proc only the command's number is known. It cannot be reused before the command was waited for.
        for child in if children.is_empty() { vec![command.cast_unsigned()] } else { children } {
            super::super::signals::send_signal(child, libc::SIGKILL);
        }
        wait_for_end(changes, 1);
        report_all();
    }
    exit_supervisor()
}

/// Waits until a child changes, for at most `milliseconds`. Returns true if the process that started this one is gone.
fn wait_for_end(changes: i32, milliseconds: i32) -> bool {
    let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut taken = [0_u8; size_of::<libc::signalfd_siginfo>()];
    // Once that pipe has ended, every poll on it returns at once.
    let mut files = [entry(changes), entry(if milliseconds < 0 { LIFE } else { -1 })];
    // SAFETY: the kernel reads and fills the entries, and fills `taken`.
    unsafe {
        libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, milliseconds);
        libc::read(changes, taken.as_mut_ptr().cast(), taken.len());
    }
    files[1].revents != 0
}

/// Reports all children that have changed; ends this process if none is left.
fn report_all() {
    let at_ns = monotonic_ns();
    loop {
        let (mut status, mut usage) = (0, no_usage());
        // SAFETY: the kernel fills both.
        let child = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED, &raw mut usage) };
        match child {
            0 => return,
            1.. => send_report(&SupervisorReport { child, status, at_ns, usage }),
            _ => exit_supervisor(),
        }
    }
}

/// Writes a report; has no effect if there is no reader any more.
fn send_report(report: &SupervisorReport) {
    // SAFETY: the report is initialised and outlives the call.
    unsafe { libc::write(REPORTS, std::ptr::from_ref(report).cast(), size_of::<SupervisorReport>()) };
}

/// Ends this process. First closes the pipe of reports, so that its reader does not wait until the kernel has freed the memory.
fn exit_supervisor() -> ! {
    // SAFETY: calls without memory; state inherited from the forking process is not cleaned up.
    unsafe {
        libc::close(REPORTS);
        libc::_exit(0)
    }
}

fn monotonic_ns() -> u64 {
    u64::try_from(monotonic_now().as_nanos()).unwrap_or(u64::MAX)
}

fn no_usage() -> libc::rusage {
    // SAFETY: zeros are a valid usage.
    unsafe { std::mem::zeroed() }
}
