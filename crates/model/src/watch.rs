//! What `corewise watch` shows: what the cpus of a machine and the threads of a program did between two looks, and the file that it is
//! recorded in. Nothing here knows an operating system: readers fill a [`Look`], and [`Frames`] makes a [`Frame`] of it.

mod frames;
mod header;
mod holds;
mod look;
mod switches;
#[cfg(test)]
mod tests;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use frames::Frames;
pub use header::Header;
pub use holds::Holds;
pub use look::{InterruptLook, Look};
pub use switches::{Switches, Task, Tasks};

/// One moment: what happened since the look before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: i64,
    /// The time since the look before, in seconds; 0 for the first look, of which no share and no rate is known.
    pub elapsed_s: f64,
    /// How the threads were seen.
    pub sight: Sight,
    /// The online cpus, by their numbers.
    pub cpus: Vec<CpuNow>,
    /// The threads of the program, in the order of their processes and their starts; empty where no program was chosen.
    pub threads: Vec<ThreadNow>,
    /// The sources of interrupts that struck, most first.
    pub interrupts: Vec<SourceNow>,
    /// What became of the program, as a sentence: absent while it runs.
    pub end: Option<String>,
}

/// How threads are seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Sight {
    /// By the kernel's events: every switch of a cpu to another task.
    Events {
        /// By which source of events: "perf", "ftrace".
        source: String,
        /// Switches of all cpus a second.
        switches_per_s: f32,
        /// How many events had no room since the look before: moves and preemptions are at least what is shown then.
        lost: u64,
    },
    /// By looking at each thread once a frame: moves between looks are not seen, nor who preempts.
    Sampling {
        /// Why not by events.
        why: String,
    },
}

impl Default for Sight {
    fn default() -> Self {
        Self::Sampling { why: String::new() }
    }
}

/// A cpu. Shares are of the time since the look before, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuNow {
    /// The cpu.
    pub cpu: u32,
    /// What its time went to; null before the second look.
    pub shares: Option<CpuShares>,
    /// Its clock in MHz; null where the system does not report one. On machines of many cpus it is up to some seconds old.
    pub clock_mhz: Option<u32>,
    /// Interrupts a second; null where they are not counted.
    pub interrupts_per_s: Option<f32>,
    /// The rules of a running `corewise keep run` that hold threads here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// What a cpu's time went to, and what is left of it.
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
    /// What one more thread would get, times the cpu's speed: docs/worth.md.
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
    /// Where it ran last.
    pub cpu: u32,
    /// The share of time for which it ran; null before the second look, and where the system does not account for it.
    pub running: Option<f32>,
    /// The share of time for which it could have run and waited for a cpu; null likewise. The rest it slept.
    pub waiting: Option<f32>,
    /// Whether it runs or waits for a cpu at this moment.
    pub is_runnable: bool,
    /// How often it went on on another cpu, a second; by sampling at most once a look. Null before the second look.
    pub moves_per_s: Option<f32>,
    /// Who took its cpu while it could have gone on, most often first; empty by sampling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted_by: Vec<Preempter>,
    /// The cpus that it may use; null where that is not known.
    pub allowed: Option<CpuSet>,
    /// The rule of a running `corewise keep run` that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Whether it may run only where that rule has it; null without a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<bool>,
    /// Whether it is one of the corewise that looks.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_own: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A task that took a thread's cpu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preempter {
    /// Its number.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// How often since the look before.
    pub times: u32,
    /// Whether it is one of the corewise that looks.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_own: bool,
}

/// A source of interrupts that struck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceNow {
    /// The number and the device, "36 virtio1-req.0", or the system's name for it: "LOC".
    pub source: String,
    /// How often it struck, a second, on all cpus.
    pub per_second: f32,
    /// How often it struck each cpu, a second: those that it struck most, most first.
    pub cpus: Vec<Struck>,
    /// How many other cpus it struck.
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// How often a source struck a cpu.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Struck {
    /// The cpu.
    pub cpu: u32,
    /// How often, a second.
    pub per_second: f32,
}
