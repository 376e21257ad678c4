//! Data of `corewise watch`: activity of a machine's cpus and of a program's threads between two looks, and the file of
//! recordings. This module does not depend on an operating system: readers fill a [`WatchReading`], and [`FrameMaker`] converts it
//! to a [`WatchFrame`].

mod frames;
mod header;
mod holds;
mod reading;
mod switches;
#[cfg(test)]
mod tests;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use frames::FrameMaker;
pub use header::WatchHeader;
pub use holds::RuleHolds;
pub use reading::{InterruptLook, WatchReading};
pub use switches::{SwitchReducer, SwitchedTask, TaskSwitches};

/// One moment: activity since the look before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchFrame {
    /// Time, in milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: i64,
    /// The time since the look before, in seconds; 0 for the first look, which has no shares and rates.
    pub elapsed_s: f64,
    /// Method of observing the threads.
    pub sight: ThreadSight,
    /// The online cpus, by their numbers.
    pub cpus: Vec<CpuNow>,
    /// The threads of the program, in the order of their processes and their starts; empty without a chosen program.
    pub threads: Vec<ThreadNow>,
    /// The active sources of interrupts, most first.
    pub interrupts: Vec<SourceNow>,
    /// The end of the program, as a sentence; absent while it runs.
    pub end: Option<String>,
}

/// Method of observing threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ThreadSight {
    /// By the kernel's events: every switch of a cpu to another task.
    Events {
        /// The source of events: "perf", "ftrace".
        source: String,
        /// Switches of all cpus per second.
        switches_per_s: f32,
        /// Number of events lost since the look before: moves and preemptions are then lower bounds.
        lost: u64,
    },
    /// By a look at each thread once a frame: moves between looks are not seen, and preempters are unknown.
    Sampling {
        /// Reason why events are not available.
        why: String,
    },
}

impl Default for ThreadSight {
    fn default() -> Self {
        Self::Sampling { why: String::new() }
    }
}

/// A cpu. Shares are of the time since the look before, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuNow {
    /// The cpu.
    pub cpu: u32,
    /// Uses of its time; null before the second look.
    pub shares: Option<CpuShares>,
    /// Its clock in MHz; null if the system does not report one. On machines of many cpus it is up to some seconds old.
    pub clock_mhz: Option<u32>,
    /// Interrupts per second; null if they are not counted.
    pub interrupts_per_s: Option<f32>,
    /// The rules of a running `corewise keep run` that hold threads here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// Uses of a cpu's time, and its remaining worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuShares {
    /// Programs, and the kernel on their behalf.
    pub busy: f32,
    /// Handlers of interrupts.
    pub interrupts: f32,
    /// Soft interrupts.
    pub soft_interrupts: f32,
    /// The host, which ran something else.
    pub host: f32,
    /// The share that one more thread would get, times the cpu's speed: docs/worth.md.
    pub worth: f32,
}

/// A thread. Shares are of the time since the look before, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadNow {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: u32,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// The cpu on which it ran last.
    pub cpu: u32,
    /// The share of time for which it ran; null before the second look, and if the system does not account for it.
    pub running: Option<f32>,
    /// The share of time for which it could have run and waited for a cpu; null likewise. The rest it slept.
    pub waiting: Option<f32>,
    /// True if it runs or waits for a cpu at this moment.
    pub is_runnable: bool,
    /// Moves to another cpu per second; by sampling at most one per look. Null before the second look.
    pub moves_per_s: Option<f32>,
    /// Tasks that preempted it, most frequent first; empty by sampling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted_by: Vec<PreemptingThread>,
    /// The cpus that it may use; null if unknown.
    pub allowed: Option<CpuSet>,
    /// The rule of a running `corewise keep run` that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// True if its mask lies within that rule's cpus; null without a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<bool>,
    /// True if it belongs to the watching corewise itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_own: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A task that took a thread's cpu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreemptingThread {
    /// Its number.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// Number of preemptions since the look before.
    pub times: u32,
    /// True if it belongs to the watching corewise itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_own: bool,
}

/// An active source of interrupts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceNow {
    /// The number and the device, "36 virtio1-req.0", or the system's name for it: "LOC".
    pub source: String,
    /// Interrupts per second on all cpus.
    pub per_second: f32,
    /// Interrupts per second on the most affected cpus, most first.
    pub cpus: Vec<CpuStruck>,
    /// Number of other affected cpus.
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Rate of a source on a cpu.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuStruck {
    /// The cpu.
    pub cpu: u32,
    /// Interrupts per second.
    pub per_second: f32,
}
