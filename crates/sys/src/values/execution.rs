//! A command that is run as a trial: its options, and the result of its run.

use std::ffi::{CStr, OsString};
use std::fmt::Debug;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_machine::CpuSet;

use crate::memory_policy::KernelMemoryPolicy;

/// Default wait for processes that outlive a command: those still there afterwards were not meant to end with it.
pub const USUAL_PATIENCE: Duration = Duration::from_millis(200);
/// Default time for a process to end on request before it is killed.
pub const USUAL_GRACE: Duration = Duration::from_millis(500);

/// Name in ps(1) of the process between this one and a command, which ends the command with this one.
pub const SUPERVISOR_NAME: &CStr = c"corewise-watch";

/// A command and its options.
#[derive(Debug)]
pub struct CommandExecution<'a> {
    /// The program: a path, or a name to find in `PATH`.
    pub program: &'a OsString,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// The file that it reads as its standard input; `None` for none.
    pub input: Option<&'a Path>,
    /// True to give it a terminal of its own instead of pipes, for programs that need one.
    pub on_terminal: bool,
    /// True to leave processes that outlive it, such as a daemon, instead of ending them.
    pub leaves_processes: bool,
    /// Changes of its environment: names with new values, or `None` to remove one.
    pub environment: &'a [(OsString, Option<OsString>)],
    /// Its cpus; `None` to leave them as they are.
    pub cpus: Option<&'a CpuSet>,
    /// Its memory policy; `None` to leave it as it is.
    pub memory: Option<&'a KernelMemoryPolicy>,
    /// True to ask the system not to slow it down to save power.
    pub at_full_speed: bool,
    /// Time after which it is ended.
    pub timeout: Option<Duration>,
    /// Wait for processes that outlive the command, before they count as left behind; at least a tenth of the command's own time.
    pub patience: Duration,
    /// Name of a process that the command, a launcher, leaves behind. The run waits for it to begin and to end. The kernel keeps 15 bytes
    /// of it.
    pub follow: Option<&'a str>,
    /// Time for each of its processes to end on request.
    pub grace: Duration,
    /// Called as soon as its first process is executed.
    pub started: Option<&'a dyn StartListener>,
    /// Estimates the clock rate of cpus on which it computes, periodically, on a thread of ours. Not used if the kernel counts cycles,
    /// which is better.
    pub clock: Option<&'a dyn ClockProbe>,
    /// Flags that end it early once one of them is true.
    pub stops: &'a [&'a AtomicBool],
}

impl<'a> CommandExecution<'a> {
    /// Creates a command with the defaults: on the cpus of the calling thread, without a time limit.
    pub fn new(program: &'a OsString, arguments: &'a [OsString], stops: &'a [&'a AtomicBool]) -> Self {
        Self {
            program,
            arguments,
            input: None,
            on_terminal: false,
            leaves_processes: false,
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

    /// Returns the command, with the opened [`Self::input`] or `usual_input`, and with these two ends of its output.
    pub(crate) fn build_command(&self, input: Option<File>, usual_input: Stdio, output: [Stdio; 2]) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        for (name, value) in self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let [output, errors] = output;
        command.stdin(input.map_or(usual_input, Stdio::from)).stdout(output).stderr(errors);
        command
    }

    /// Returns true if it is to end early.
    pub fn is_to_end(&self) -> bool {
        self.stops.iter().any(|stop| stop.load(Ordering::SeqCst))
    }
}

/// Callback for a command that was started.
pub trait StartListener: Debug {
    /// Called with the number of the process that all of its processes descend from, which exists as long as one of them does.
    fn on_start(&self, process: u32);
}

/// Estimates a clock rate; a visit calls it on a thread of this process that is pinned to a cpu.
pub trait ClockProbe: Debug + Sync {
    /// Returns the clock rate of the calling thread's cpu in GHz. It takes at most a few milliseconds of the cpu, which a command that
    /// computes there loses. Returns `None` at once when `stop` becomes true.
    fn estimate_gigahertz(&self, stop: &AtomicBool) -> Option<f64>;
}

/// Schedule of looks at a command's threads: first soon, then ever more rarely, and never for more than a hundredth of the time.
#[derive(Debug)]
pub(crate) struct VisitPace {
    /// Pause before the next look.
    pub pause: Duration,
}

impl VisitPace {
    /// Longest pause after a quick look.
    pub const RAREST: Duration = Duration::from_millis(100);
    const FIRST: Duration = Duration::from_millis(5);
    const SHARE: u32 = 100;

    pub fn new() -> Self {
        Self { pause: Self::FIRST }
    }

    /// Adapts the pause after a look that took `cost`.
    pub fn after_visit(&mut self, cost: Duration) {
        self.pause = (self.pause * 2).min(Self::RAREST).max(cost * Self::SHARE);
    }
}

/// End of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionEnd {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it; it was not ours.
    Killed(i32),
    /// We ended it, since it took too long.
    TimedOut,
    /// We ended it, since a signal stopped it, as for using the terminal, and no shell would continue it.
    Stopped,
    /// We ended it on request.
    Interrupted,
    /// It left no process of the name that was to be followed.
    NothingToFollow,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct ExecutionResult {
    /// The way it ended.
    pub end: ExecutionEnd,
    /// Time from just before its first instruction to the end of its last process, provided that follows soon; processes left behind do not
    /// count. The end is noticed one wakeup late, which takes some 50 us.
    pub wall: Duration,
    /// True if this process was stopped meanwhile, so that the time of the end is unknown.
    pub was_held: bool,
    /// The kernel's accounts of it.
    pub usage: ResourceUsage,
    /// Cpu time of the process that supervised it, in seconds; 0 if it has none, or did not end.
    pub supervisor_s: f64,
    /// Observations of its threads while it ran.
    pub observed: ThreadObservations,
    /// Number of migrations; `None` if the kernel does not count them.
    pub migrations: Option<u64>,
    /// Its mean clock rate while it computed, in GHz; `None` if there are no counters.
    pub gigahertz: Option<f64>,
    /// The clock rates that [`CommandExecution::clock`] estimated meanwhile, in GHz.
    pub estimated_gigahertz: Vec<f64>,
    /// Number of processes it left behind, which were killed.
    pub left_behind: u32,
    /// Its output, standard output and standard error together: the first and the last part.
    pub output: Vec<u8>,
    /// Size of its output, in bytes.
    pub output_bytes: u64,
}

/// The kernel's accounts of a command, including descendants that had been waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResourceUsage {
    /// Time computing in user mode, in seconds.
    pub user_s: f64,
    /// Time in the kernel, in seconds.
    pub system_s: f64,
    /// Peak memory of one of its processes, in bytes.
    pub peak_memory_bytes: u64,
    /// Number of times that it gave up its cpu to wait for something.
    pub voluntary_switches: u64,
    /// Number of times that it was preempted.
    pub involuntary_switches: u64,
    /// Pages that were mapped without reading.
    pub minor_faults: u64,
    /// Pages that had to be read.
    pub major_faults: u64,
}

/// Observations of the threads of a command and of its descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadObservations {
    /// The cpus on which a thread was seen.
    pub used: CpuSet,
    /// The cpus on which a thread computed, or waited to, at the last look.
    pub computing: CpuSet,
    /// The first mask seen that a thread had set itself.
    pub own_mask: Option<CpuSet>,
    /// Maximum number of threads seen at once.
    pub most_threads: usize,
}
