//! What a survey shows, in plain words: each finding with its number, its uncertainty, and what to do next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CpuSet;
use crate::links::LinkClass;
pub use conclude::conclude;

mod causes;
mod conclude;
mod cpus;
mod first;
mod groups;
mod quantity;
pub mod rows;
mod stolen;
pub(crate) mod talk;
#[cfg(test)]
mod tests;
pub(crate) mod words;

/// What was concluded from one survey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusions {
    /// What differs, weightiest first.
    pub findings: Vec<Finding>,
    /// What was tested and found not to differ, one sentence each.
    pub no_difference: Vec<String>,
    /// The link cost classes, nearest first.
    pub link_classes: Vec<LinkClass>,
    /// The allowed cpus that no finding speaks against for latency-sensitive work.
    pub quiet: CpuSet,
    /// Whether the machine's first cpu is worse than its peers; absent where it was not visited, has no peers, or was visited
    /// in too few rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_cpu: Option<FirstCpu>,
}

/// Whether the first cpu, where most interrupts go, is worse than its peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstCpu {
    /// Its number.
    pub cpu: u32,
    /// Whether any test says so.
    pub is_worse: bool,
    /// Yes or no, and by how much; by whom and what to do is in the findings about this cpu.
    pub answer: String,
}

/// One thing that a test showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it is about.
    pub topic: Topic,
    /// The cpus it is about.
    pub cpus: CpuSet,
    /// One or two sentences with the number and its interval: "cpu 0 is interrupted 2.9x [2.6, 3.1] as often as …".
    pub statement: String,
    /// What to do next, one sentence; a command follows where there is one.
    pub advice: String,
    /// A command that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The numbers behind the statement, the first being the one that decided.
    pub effects: Vec<Effect>,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// A cpu is interrupted more often than its peers.
    Interrupts,
    /// A cpu's tail is longer than its peers'.
    Tail,
    /// A cpu, or a group of them, is faster or slower at the fixed work.
    Speed,
    /// The hypervisor takes time away.
    Stolen,
    /// Talking between cpus costs differ by where they are.
    Links,
    /// Somebody takes much of what cpus lose to stalls.
    Causes,
}

/// A measured ratio with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// What was compared: "interrupt rate", "p99.9", "frequency".
    pub quantity: String,
    /// Against what: "median of cpus 1-7,16-23".
    pub against: String,
    /// How many times the others' value.
    pub ratio: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
    /// The probability of a difference this clear among equal cpus, over all cpus tested at once; absent where the
    /// interval itself decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

impl Effect {
    /// How far it is from no effect, as a ratio of at least 1.
    pub fn size(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }
}

/// The error rate of each test over all cpus at once: among equal cpus, a quantity is called different on any of them
/// with this probability at most.
pub const ERROR_RATE: f64 = 0.01;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
