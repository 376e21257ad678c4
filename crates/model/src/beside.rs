//! Interruptions of a running program: the kernel's events of the cpus that its threads run on, reduced as they arrive.
//!
//! [`ProgramFollower`] consumes events in order of time. It follows the program's threads from creation to end and keeps only
//! sums and the longest interruptions, so its memory stays bounded.

mod cpu;
mod follower;
mod interruption;
mod sums;
#[cfg(test)]
mod tests;
mod thread;

use corewise_machine::counts::SourceCount;
use corewise_machine::event::InterruptSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use follower::ProgramFollower;

use crate::attribution::{StallCause, StallPart};
use corewise_statistics::histogram::TickHistogram;

/// Interruptions of a program, by the kernel's events.
///
/// Shares refer to the time in which the program's threads could have run: on a cpu, or preempted and waiting for one.
/// A thread's own waits (for a lock, a read, a sleep) and the way to a cpu after them do not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BesideReport {
    /// From the beginning of the program to its end, or to the end of watching, in seconds.
    pub watched_s: f64,
    /// Time of its threads on cpus, in seconds: their sum, including handlers that ran meanwhile.
    pub on_cpu_s: f64,
    /// Of that, time in handlers of interrupts, in seconds, without the ways into them and back.
    pub handlers_s: f64,
    /// Time for which its threads were preempted, in seconds: from the switch away to the switch back.
    pub waited_s: f64,
    /// Of that, time in which other threads of the program ran, in seconds.
    pub waited_for_own_s: f64,
    /// Total number of threads, including its children's.
    pub threads: u64,
    /// Maximum number of threads at once.
    pub threads_at_once: u64,
    /// Number of interruptions. Consecutive handlers, and a preemption that follows them, are one interruption.
    /// Preemptions by the program's own threads alone do not count.
    pub interruptions: u64,
    /// Lengths of the interruptions, in ticks of a nanosecond, without the time of the program's own threads.
    pub lengths: TickHistogram,
    /// The handlers that interrupted it on all cpus, longest total time first.
    pub handlers: Vec<HandledCause>,
    /// Tasks that ran while its threads were preempted, longest total time first.
    pub instead: Vec<PreemptedBy>,
    /// The same cpu by cpu.
    pub cpus: Vec<CpuBesideReport>,
    /// Senders of interrupts from other cpus, most first.
    pub senders: Vec<ProgramInterruptSender>,
    /// Number of preemptions: switches away from a thread that could have continued. A thread that yields
    /// (sched_yield(2)) counts as preempted: the kernel does not distinguish them.
    pub preemptions: u64,
    /// Number of times a thread gave up its cpu to wait.
    pub voluntary_waits: u64,
    /// Number of moves of a thread to another cpu.
    pub migrations: u64,
    /// Page faults in its own code.
    pub page_faults_user: u64,
    /// Page faults in kernel code on its behalf.
    pub page_faults_kernel: u64,
    /// The interruptions that took most, longest first.
    pub worst: Vec<ProgramInterruption>,
    /// Cost of watching the program.
    pub cost: WatchCost,
    /// Number of events processed.
    pub events: u64,
    /// Events that were lost because the buffers were full.
    pub events_lost: u64,
}

impl BesideReport {
    /// Returns the time in which its threads could have run, in seconds.
    pub fn wanted_s(&self) -> f64 {
        self.on_cpu_s + self.waited_s
    }
}

/// Time that handlers of one source took from the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandledCause {
    /// The source; the function that another cpu had called is given with its sender.
    #[serde(flatten)]
    pub cause: StallCause,
    /// Number of handler runs.
    pub count: u64,
    /// Time in its handler, in seconds, without other handlers that ran in it.
    pub time_s: f64,
    /// Its share of the time in which the program could have run, 0 to 1.
    pub share: f64,
    /// The duration of the handler, in ticks of a nanosecond. Empty if the kernel does not report its end.
    pub lengths: TickHistogram,
}

/// A task that ran while threads of the program were preempted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PreemptingTask {
    /// True for other threads of the program, all of which are combined.
    pub is_own: bool,
    /// Its name; empty if several are combined.
    pub name: String,
    /// Thread id in the system's namespace; 0 if the cpu was idle, or if several tasks of that name are combined.
    pub number: u32,
    /// The work function of a kernel worker; empty otherwise.
    pub function: String,
}

/// Time that one such task took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreemptedBy {
    /// The task.
    #[serde(flatten)]
    pub task: PreemptingTask,
    /// Number of waits of the program's threads while it ran.
    pub count: u64,
    /// Waiting time in seconds; if two threads waited at once, both count.
    pub time_s: f64,
    /// Its share of the time in which the program could have run, 0 to 1.
    pub share: f64,
    /// Longest time that it ran at once while a thread waited, in nanoseconds.
    pub longest_ns: u64,
}

/// Interruptions of the program on one cpu.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuBesideReport {
    /// The cpu.
    pub cpu: u32,
    /// Time of its threads there, in seconds.
    pub on_cpu_s: f64,
    /// Time for which they were preempted there, in seconds.
    pub waited_s: f64,
    /// Number of preemptions there.
    pub preemptions: u64,
    /// The handlers that interrupted them there, longest total time first.
    pub handlers: Vec<CpuHandledCause>,
}

/// Time that handlers of one source took on one cpu.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuHandledCause {
    /// The source.
    #[serde(flatten)]
    pub cause: StallCause,
    /// Number of handler runs.
    pub count: u64,
    /// Time in its handler, in seconds.
    pub time_s: f64,
}

/// A sender of interrupts to the program from another cpu.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ProgramInterruptSender {
    /// Kind of interrupt.
    pub source: InterruptSource,
    /// The cpu that it came from; `None` if no sender was seen.
    pub cpu: Option<u32>,
    /// Thread id of the task that was current there, in the system's namespace; 0 if that cpu was idle.
    pub task: Option<u32>,
    /// That task's name; empty if unknown.
    pub name: String,
    /// True if it is a thread of the program itself.
    pub is_own: bool,
    /// The function to call; empty if unknown.
    pub function: String,
    /// Number of interrupts.
    pub count: u64,
}

/// One interruption from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramInterruption {
    /// Begin, in nanoseconds since the program began.
    pub begin_ns: u64,
    /// The cpu.
    pub cpu: u32,
    /// The interrupted thread's id in the system's namespace.
    pub thread: u32,
    /// That thread's name.
    pub name: String,
    /// Length in nanoseconds.
    pub length_ns: u64,
    /// Time of it that other tasks and handlers took, in nanoseconds.
    pub taken_ns: u64,
    /// Its parts, in the order in which they ended; they add up to its length.
    pub parts: Vec<StallPart>,
}

/// Estimated cost of watching the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchCost {
    /// Events that were recorded while a thread of the program was on the cpu.
    pub events: u64,
    /// Time to record one event, in nanoseconds, from a measurement elsewhere.
    pub event_ns: f64,
    /// Their share of the program's time on cpus, 0 to 1.
    pub share: f64,
}

/// The kernel's accounting of a running program, which any user may read if the kernel's events are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramAccounts {
    /// Time of watching, in seconds.
    pub watched_s: f64,
    /// Number of threads seen; threads that ended between two readings are missing.
    pub threads: u64,
    /// Time of these on cpus, in seconds: /proc/PID/task/TID/schedstat.
    pub on_cpu_s: f64,
    /// Time for which they could have run and did not, in seconds: preempted, or on their way to a cpu after a wait.
    pub waited_s: f64,
    /// Number of preemptions: /proc/PID/task/TID/status.
    pub involuntary_switches: u64,
    /// Number of times they gave up their cpu.
    pub voluntary_switches: u64,
    /// Interrupts of the cpus that the program may use, for any task: /proc/interrupts.
    pub interrupts: Vec<CpuInterrupts>,
}

/// Interrupts of a cpu while it was watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuInterrupts {
    /// The cpu.
    pub cpu: u32,
    /// Counts by source, most first.
    pub sources: Vec<SourceCount>,
}

/// Result of watching a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum BesideOutcome {
    /// Its interruptions, by the kernel's events.
    Events(Box<BesideReport>),
    /// The kernel's accounts of its threads.
    Accounts(ProgramAccounts),
}
