//! Runs a command as a trial: on its cpus, timed from its first instruction to the end of its last process, watched and
//! counted.

mod counted;
mod observed;
mod output;
mod tree;
mod visits;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use corewise_model::CpuSet;

use super::affinity;
use super::signals::{self, ignore, pipe_was_ignored};
use counted::Counters;
pub use observed::Observed;
use output::Output;
pub use tree::Usage;
use tree::{Ended, Tree};
pub use visits::ClockProbe;
use visits::Visits;

/// How often the threads of the command are looked at: first soon, then ever more rarely, and never for more than a
/// hundredth of the time.
const LOOK_SHARE: u32 = 100;
const FIRST_LOOK: Duration = Duration::from_millis(5);
const RAREST_LOOK: Duration = Duration::from_millis(100);
/// Who wakes up so much later than was asked for was stopped meanwhile, as with Ctrl-Z.
const HELD: Duration = Duration::from_millis(250);
/// Reading what was written, and looking at many threads, takes less than this.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// How long processes that outlive a command are usually waited for: what is still there then was not meant to end with it.
pub const USUAL_PATIENCE: Duration = Duration::from_millis(200);

/// What is to be run, and how.
#[derive(Debug)]
pub struct Execution<'a> {
    /// The program: a path, or a name that is looked for in `PATH`.
    pub program: &'a OsString,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// What is changed in its environment: names with their values, or without one where they are taken away.
    pub environment: &'a [(OsString, Option<OsString>)],
    /// Its cpus; absent to leave them as they are.
    pub cpus: Option<&'a CpuSet>,
    /// After so long it is ended.
    pub timeout: Option<Duration>,
    /// How long it waits for processes that outlive the command, before it counts them as left behind; a tenth of the command's own time
    /// where that is longer.
    pub patience: Duration,
    /// Estimates the clock rate of cpus on which it computes, from time to time, on a thread of ours; not where the kernel counts
    /// cycles, which is better.
    pub clock: Option<&'a dyn ClockProbe>,
    /// Ends it early once it is true.
    pub stop: &'a AtomicBool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal, which was not ours.
    Killed(i32),
    /// We ended it, since it took too long.
    TimedOut,
    /// We ended it, since a signal stopped it and nobody is there to continue it: it wanted the terminal.
    Stopped,
    /// We ended it, since we were told to stop.
    Interrupted,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Executed {
    /// How it ended.
    pub end: End,
    /// From the moment before execve(2) to the end of its last process, as far as that follows soon; what stays behind does
    /// not count. The end is noticed one wakeup late, which takes some 50 us.
    pub wall: Duration,
    /// Whether this process was stopped meanwhile, so that nobody knows when it ended.
    pub was_held: bool,
    /// What the kernel accounts for it.
    pub usage: Usage,
    /// What was seen of its threads while it ran.
    pub observed: Observed,
    /// What was counted of it; absent where the kernel does not count.
    pub migrations: Option<u64>,
    /// Its mean clock rate while it computed, in GHz; absent where there are no counters.
    pub gigahertz: Option<f64>,
    /// The clock rates that [`Execution::clock`] estimated meanwhile, in GHz.
    pub estimated_gigahertz: Vec<f64>,
    /// How many processes it left behind, which were ended.
    pub left_behind: u32,
    /// What it wrote, standard output and standard error together: the first and the last of it.
    pub output: Vec<u8>,
    /// How much it wrote, in bytes.
    pub output_bytes: u64,
}

impl Execution<'_> {
    /// Runs the command and waits for its end. It has no input, and a process group of its own. What it writes is read as
    /// it comes, and handed line by line to `line`.
    ///
    /// All its descendants become ours while it runs ([`super::spawn::adopt_orphans`]), so the program must have no other
    /// children.
    ///
    /// # Errors
    /// When it cannot be started; when the kernel refuses the cpus.
    pub fn run(&self, line: &mut dyn FnMut(&[u8])) -> io::Result<Executed> {
        // Ended children are forgotten, their status with them, where SIGCHLD is ignored.
        ignore(libc::SIGCHLD, false);
        let observed = Observed::new(self.cpus)?;
        let mut counters = Counters::prepare();
        let start = SharedTime::new()?;
        let (reader, writer) = io::pipe()?;
        let output = Output::new(reader)?;
        let child = self.spawn(&start, writer)?;
        let mut running = Running {
            tree: Tree::new(child),
            output,
            observed,
            began: start.get(),
            seen: start.get(),
            was_held: false,
        };
        // From the child's first instruction to here.
        running.notice(RAREST_LOOK + HELD);
        let probe = self.clock.filter(|_| !counters.count_cycles());
        let (ended, estimated_gigahertz) =
            Visits::during(probe, running.began, |visits| running.attend(self, visits, line));
        running.output.rest(line);
        let (gigahertz, migrations) = counters.read();
        let Running { tree, output, observed, began, was_held, .. } = running;
        Ok(Executed {
            end: ended.end,
            wall: ended.at.saturating_sub(began),
            was_held,
            usage: tree.usage,
            observed,
            migrations,
            gigahertz,
            estimated_gigahertz,
            left_behind: ended.left_behind,
            output_bytes: output.bytes,
            output: output.kept(),
        })
    }

    /// Starts the command on its cpus, as a child of the calling thread, which is back on its own then.
    fn spawn(&self, start: &SharedTime, output: io::PipeWriter) -> io::Result<u32> {
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        for (name, value) in self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        let (time, pipe) = (start.writer(), pipe_was_ignored());
        let last = move || {
            ignore(libc::SIGPIPE, pipe);
            // It ends with corewise, however that ends: a run that goes on would disturb those of the next session.
            // SAFETY: a call without memory.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
            time.write_now();
            Ok(())
        };
        // SAFETY: signal(2), prctl(2) and clock_gettime(2) may be called between fork(2) and execve(2).
        unsafe { command.pre_exec(last) };
        let Some(cpus) = self.cpus else { return command.spawn().map(|child| child.id()) };
        let before = affinity::current()?;
        let child = move_to(cpus).and_then(|()| command.spawn().map(|child| child.id()));
        // On every path: whoever is started next must find what was there.
        let back = affinity::set_current(&before);
        match (child, back) {
            (Ok(child), Err(error)) => {
                signals::send(child, libc::SIGKILL);
                Err(error)
            }
            (child, _) => child,
        }
    }
}

/// Restricts the calling thread, and checks that the kernel gave it all of the cpus.
fn move_to(cpus: &CpuSet) -> io::Result<()> {
    affinity::set_current(cpus)?;
    let given = affinity::current()?;
    if given == *cpus { Ok(()) } else { Err(io::Error::other(format!("the kernel gives cpus {given} of {cpus}"))) }
}

/// A command that runs.
struct Running {
    tree: Tree,
    output: Output,
    observed: Observed,
    began: Duration,
    /// When this process was last known to run.
    seen: Duration,
    was_held: bool,
}

impl Running {
    /// Takes note that this process runs, and whether it did not for longer than what it did may take; gives the time.
    fn notice(&mut self, longest: Duration) -> Duration {
        let now = now();
        self.was_held |= now.saturating_sub(self.seen) > longest;
        self.seen = now;
        now
    }

    /// Waits for the end, reads what is written, and looks at the threads meanwhile.
    fn attend(&mut self, execution: &Execution<'_>, visits: &mut Visits, line: &mut dyn FnMut(&[u8])) -> Ended {
        let deadline = execution.timeout.map(|timeout| self.began + timeout);
        let mut pause = FIRST_LOOK;
        let mut next_look = self.began + pause;
        loop {
            let now = self.notice(LONGEST_LOOK);
            let wait = next_look.min(deadline.unwrap_or(next_look)).saturating_sub(now).min(RAREST_LOOK);
            self.tree.wait(&self.output, wait);
            self.notice(RAREST_LOOK + HELD);
            // The end is looked for first: what was written may take time to read.
            if let Some((end, at)) = self.tree.reap() {
                let is_over = || {
                    execution.stop.load(Ordering::SeqCst) || deadline.is_some_and(|deadline| deadline <= self::now())
                };
                let patience = execution.patience.max(at.saturating_sub(self.began) / 10);
                return self.tree.see_off(end, at, patience, &is_over, &mut || self.output.take(line));
            }
            self.output.take(line);
            let why = if execution.stop.load(Ordering::SeqCst) {
                Some(End::Interrupted)
            } else if self.tree.is_stopped {
                Some(End::Stopped)
            } else {
                deadline.filter(|deadline| *deadline <= self::now()).map(|_| End::TimedOut)
            };
            if let Some(why) = why {
                return self.tree.end(why);
            }
            if next_look <= self::now() {
                let before = self::now();
                self.observed.look();
                visits.look(&self.observed.computing);
                let cost = self::now().saturating_sub(before);
                pause = (pause * 2).min(RAREST_LOOK).max(cost * LOOK_SHARE);
                next_look = self::now() + pause;
            }
        }
    }
}

/// The time since the system was started: clock_gettime(2), CLOCK_MONOTONIC.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the time; the clock exists everywhere.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A point in time that a child tells: a page of memory that both have.
struct SharedTime {
    nanoseconds: *mut AtomicU64,
}

impl SharedTime {
    fn new() -> io::Result<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping of the kernel's choice.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<AtomicU64>(), access, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { nanoseconds: page.cast() })
    }

    fn writer(&self) -> TimeWriter {
        TimeWriter(self.nanoseconds)
    }

    fn get(&self) -> Duration {
        // SAFETY: the page is mapped as long as this lives, aligned, and zero at first, which is a value.
        Duration::from_nanos(unsafe { &*self.nanoseconds }.load(Ordering::SeqCst))
    }
}

impl Drop for SharedTime {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size; the writer is the child's, which has its own mapping.
        unsafe { libc::munmap(self.nanoseconds.cast(), size_of::<AtomicU64>()) };
    }
}

/// The child's end of a shared time.
#[derive(Clone, Copy)]
struct TimeWriter(*mut AtomicU64);

// SAFETY: it is used after fork(2) only, in the child, whose mapping nobody takes away.
unsafe impl Send for TimeWriter {}
// SAFETY: as above; the value is atomic.
unsafe impl Sync for TimeWriter {}

impl TimeWriter {
    /// Safe to call between fork(2) and execve(2).
    fn write_now(self) {
        let nanoseconds = u64::try_from(now().as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: as in [`SharedTime::get`].
        unsafe { &*self.0 }.store(nanoseconds, Ordering::SeqCst);
    }
}
