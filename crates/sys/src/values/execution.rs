//! A command that is run as a trial: how it is to be run, and what its run came to.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io::{self, PipeWriter};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_machine::CpuSet;

use crate::memory_policy::Policy;

/// How long processes that outlive a command are usually waited for: what is still there then was not meant to end with it.
pub const USUAL_PATIENCE: Duration = Duration::from_millis(200);
/// How long a process that is asked to end may usually take until it is made to.
pub const USUAL_GRACE: Duration = Duration::from_millis(500);

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
    /// Where its memory comes from; absent to leave the policy as it is.
    pub memory: Option<&'a Policy>,
    /// Whether the system is asked not to slow it down to save power.
    pub at_full_speed: bool,
    /// After so long it is ended.
    pub timeout: Option<Duration>,
    /// How long it waits for processes that outlive the command, before it counts them as left behind; a tenth of the command's own time
    /// where that is longer.
    pub patience: Duration,
    /// The name of a process that the command, a launcher, leaves behind: it is waited for, to begin and to end. The kernel keeps 15 bytes of it.
    pub follow: Option<&'a str>,
    /// How long each of its processes may take to end once it is asked to.
    pub grace: Duration,
    /// Hears of it as soon as its first process is executed.
    pub started: Option<&'a dyn Started>,
    /// Estimates the clock rate of cpus on which it computes, from time to time, on a thread of ours; not where the kernel counts
    /// cycles, which is better.
    pub clock: Option<&'a dyn ClockProbe>,
    /// End it early once one of them is true.
    pub stops: &'a [&'a AtomicBool],
}

impl<'a> Execution<'a> {
    /// A command as it is usually run: on the cpus of the calling thread, for as long as it takes.
    pub fn new(program: &'a OsString, arguments: &'a [OsString], stops: &'a [&'a AtomicBool]) -> Self {
        Self {
            program,
            arguments,
            environment: &[],
            cpus: None,
            memory: None,
            at_full_speed: false,
            timeout: None,
            patience: USUAL_PATIENCE,
            follow: None,
            grace: USUAL_GRACE,
            started: None,
            clock: None,
            stops,
        }
    }

    /// The command, without input, and with one pipe for all that it writes.
    pub(crate) fn command(&self, output: PipeWriter) -> io::Result<Command> {
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        for (name, value) in self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        Ok(command)
    }

    /// Whether it is to end early.
    pub fn is_to_end(&self) -> bool {
        self.stops.iter().any(|stop| stop.load(Ordering::SeqCst))
    }
}

/// Hears of a command that was started.
pub trait Started: Debug {
    /// All of its processes descend from the one of this number, which is there as long as one of them is.
    fn started(&self, process: u32);
}

/// Estimates a clock rate; a visit calls it on a thread of this process that is pinned to a cpu.
pub trait ClockProbe: Debug + Sync {
    /// The clock rate of the calling thread's cpu in GHz. It takes a few milliseconds of the cpu at most, which a command that
    /// computes there goes without, and returns at once, with nothing, where `stop` becomes true.
    fn gigahertz(&self, stop: &AtomicBool) -> Option<f64>;
}

/// When the threads of a command are looked at: first soon, then ever more rarely, and never for more than a hundredth of the time.
#[derive(Debug)]
pub(crate) struct Pace {
    /// So long it is waited before the next look.
    pub pause: Duration,
}

impl Pace {
    /// The longest pause after a look that was quick.
    pub const RAREST: Duration = Duration::from_millis(100);
    const FIRST: Duration = Duration::from_millis(5);
    const SHARE: u32 = 100;

    pub fn new() -> Self {
        Self { pause: Self::FIRST }
    }

    /// After a look that took so long.
    pub fn looked(&mut self, cost: Duration) {
        self.pause = (self.pause * 2).min(Self::RAREST).max(cost * Self::SHARE);
    }
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
    /// It left no process behind of the name that was to be followed.
    NothingToFollow,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Executed {
    /// How it ended.
    pub end: End,
    /// From the moment before its first instruction to the end of its last process, as far as that follows soon; what stays behind does
    /// not count. The end is noticed one wakeup late, which takes some 50 us.
    pub wall: Duration,
    /// Whether this process was stopped meanwhile, so that nobody knows when it ended.
    pub was_held: bool,
    /// What the kernel accounts for it.
    pub usage: Usage,
    /// Cpu time of the process that supervised it, in seconds; 0 if it has none, or did not end.
    pub supervisor_s: f64,
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

/// What the kernel accounts for a command. Of its descendants, what had been waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Time computing in user mode, in seconds.
    pub user_s: f64,
    /// Time in the kernel, in seconds.
    pub system_s: f64,
    /// The most memory that a process of it had at once, in bytes.
    pub peak_memory_bytes: u64,
    /// How often it gave up its cpu to wait for something.
    pub voluntary_switches: u64,
    /// How often its cpu was taken away.
    pub involuntary_switches: u64,
    /// Pages that were mapped without reading.
    pub minor_faults: u64,
    /// Pages that had to be read.
    pub major_faults: u64,
}

/// What looks at the threads of a command and of its descendants showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The cpus on which a thread was seen.
    pub used: CpuSet,
    /// Those on which one computed, or waited to, at the last look.
    pub computing: CpuSet,
    /// A mask that a thread had given itself, the first that was seen.
    pub own_mask: Option<CpuSet>,
    /// The most threads that were seen at once.
    pub most_threads: usize,
}
