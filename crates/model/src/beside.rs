//! Who interrupts a running program: the kernel's events of the cpus that its threads run on, reduced as they come.
//!
//! [`Follow`] is fed events in order of time. It follows the program's threads from their making to their end, and keeps
//! sums and the longest interruptions only, so that its memory stays as it is for however long it is fed.

mod cpu;
mod follow;
mod interruption;
mod sums;
#[cfg(test)]
mod tests;
mod thread;

use corewise_machine::counts::Count;
use corewise_machine::event::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use follow::Follow;

use crate::attribution::{Cause, Part};
use crate::histogram::Histogram;

/// What interrupted a program, by the kernel's events.
///
/// Shares are of the time in which the program's threads could have run: on a cpu, or preempted and waiting for one. What
/// a thread waits for by itself (a lock, a read, a sleep) is no part of it, nor is the way to a cpu after such a wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// From the beginning of the program to its end, or to the end of watching, in seconds.
    pub watched_s: f64,
    /// Time of its threads on cpus, in seconds: their sum, with the handlers that ran meanwhile.
    pub on_cpu_s: f64,
    /// Of that, time in handlers of interrupts, in seconds, without the ways into them and back.
    pub handlers_s: f64,
    /// Time for which its threads were preempted, in seconds: from the switch away to the switch back.
    pub waited_s: f64,
    /// Of that, time in which other threads of the program ran, in seconds.
    pub waited_for_own_s: f64,
    /// How many threads it had in all, those of its children too.
    pub threads: u64,
    /// How many it had at once, at most.
    pub threads_at_once: u64,
    /// How often it was interrupted: handlers that follow each other at once, and the preemption that follows them, are
    /// one interruption. Preemptions by nobody but the program's own threads do not count.
    pub interruptions: u64,
    /// How long these took, in ticks of a nanosecond, without what the program's own threads ran of them.
    pub lengths: Histogram,
    /// The handlers that interrupted it on all cpus, those that took most first.
    pub handlers: Vec<Handled>,
    /// Who ran while threads of it were preempted, those that took most first.
    pub instead: Vec<Instead>,
    /// The same cpu by cpu.
    pub cpus: Vec<OnCpu>,
    /// Who sent it interrupts from other cpus, most first.
    pub senders: Vec<SentBy>,
    /// How often a thread of it was switched away from although it could have gone on. A thread that yields
    /// (sched_yield(2)) counts as preempted: the kernel does not distinguish them.
    pub preemptions: u64,
    /// How often a thread of it gave up its cpu to wait for something.
    pub voluntary_waits: u64,
    /// How often a thread of it was moved to another cpu.
    pub migrations: u64,
    /// Page faults in its own code.
    pub page_faults_user: u64,
    /// Page faults that the kernel ran into on its behalf.
    pub page_faults_kernel: u64,
    /// The interruptions that took most, longest first.
    pub worst: Vec<Interruption>,
    /// What watching cost it.
    pub cost: Cost,
    /// Events that were looked at.
    pub events: u64,
    /// Events that were lost because the buffers were full.
    pub events_lost: u64,
}

impl Report {
    /// The time in which its threads could have run, in seconds.
    pub fn wanted_s(&self) -> f64 {
        self.on_cpu_s + self.waited_s
    }
}

/// What handlers of one source took from the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handled {
    /// The source; a function that another cpu had called is told with its sender.
    #[serde(flatten)]
    pub cause: Cause,
    /// How often.
    pub count: u64,
    /// Time in its handler, in seconds, without other handlers that ran in it.
    pub time_s: f64,
    /// Its share of the time in which the program could have run, 0 to 1.
    pub share: f64,
    /// The duration of the handler, in ticks of a nanosecond. Empty if the kernel does not report its end.
    pub lengths: Histogram,
}

/// Who ran while threads of the program were preempted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Whether it is another thread of the program; all of these are combined.
    pub is_own: bool,
    /// Its name; empty if several are combined.
    pub name: String,
    /// Its number in the whole system; 0 if the cpu was idle, or if several of that name are combined.
    pub number: u32,
    /// What it did, where it is a kernel worker; empty otherwise.
    pub function: String,
}

/// What one such task took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Instead {
    /// Who.
    #[serde(flatten)]
    pub task: Task,
    /// How often a thread of the program waited while it ran.
    pub count: u64,
    /// For how long, in seconds; where two threads waited for it, both count.
    pub time_s: f64,
    /// Its share of the time in which the program could have run, 0 to 1.
    pub share: f64,
    /// The longest that it ran at a time while one waited, in nanoseconds.
    pub longest_ns: u64,
}

/// What happened to the program on one cpu.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OnCpu {
    /// The cpu.
    pub cpu: u32,
    /// Time of its threads there, in seconds.
    pub on_cpu_s: f64,
    /// Time for which they were preempted there, in seconds.
    pub waited_s: f64,
    /// How often they were.
    pub preemptions: u64,
    /// The handlers that interrupted them there, those that took most first.
    pub handlers: Vec<HandledOnCpu>,
}

/// What handlers of one source took on one cpu.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandledOnCpu {
    /// The source.
    #[serde(flatten)]
    pub cause: Cause,
    /// How often.
    pub count: u64,
    /// Time in its handler, in seconds.
    pub time_s: f64,
}

/// Who sent the program interrupts from another cpu.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SentBy {
    /// What arrived.
    pub source: Source,
    /// The cpu that it came from; absent if no sender was seen.
    pub cpu: Option<u32>,
    /// The task that was current there: its number in the system as a whole, 0 while that cpu was idle.
    pub task: Option<u32>,
    /// That task's name; empty where it is not known.
    pub name: String,
    /// Whether it is a thread of the program itself.
    pub is_own: bool,
    /// What was to be done; empty where it is not known.
    pub function: String,
    /// How often.
    pub count: u64,
}

/// One interruption from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interruption {
    /// When it began, in nanoseconds since the program began.
    pub begin_ns: u64,
    /// On which cpu.
    pub cpu: u32,
    /// The thread that was interrupted: its number in the system as a whole.
    pub thread: u32,
    /// That thread's name.
    pub name: String,
    /// How long it took, in nanoseconds.
    pub length_ns: u64,
    /// What of it others than the program's own threads took, in nanoseconds.
    pub taken_ns: u64,
    /// Its parts, each where it ended; they add up to its length.
    pub parts: Vec<Part>,
}

/// What watching cost the program: an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Events that were recorded while a thread of the program was on the cpu.
    pub events: u64,
    /// What recording one takes, in nanoseconds, as it was measured elsewhere.
    pub event_ns: f64,
    /// Their share of the program's time on cpus, 0 to 1.
    pub share: f64,
}

/// The kernel's accounting of a running program, which any user may read if the kernel's events are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounts {
    /// For how long they were looked at, in seconds.
    pub watched_s: f64,
    /// Threads that were seen; those that ended between two looks were not.
    pub threads: u64,
    /// Time of these on cpus, in seconds: /proc/PID/task/TID/schedstat.
    pub on_cpu_s: f64,
    /// Time for which they could have run and did not, in seconds: preempted, or on their way to a cpu after a wait.
    pub waited_s: f64,
    /// How often they were switched away from although they could have gone on: /proc/PID/task/TID/status.
    pub involuntary_switches: u64,
    /// How often they gave up their cpu.
    pub voluntary_switches: u64,
    /// Interrupts of the cpus that the program may use, whatever ran there: /proc/interrupts.
    pub interrupts: Vec<CpuInterrupts>,
}

/// What struck a cpu while it was watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuInterrupts {
    /// The cpu.
    pub cpu: u32,
    /// By source, most first.
    pub sources: Vec<Count>,
}

/// What came of watching a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Seen {
    /// Its interruptions, by the kernel's events.
    Events(Box<Report>),
    /// The kernel's accounts of its threads.
    Accounts(Accounts),
}
