//! What a survey shows, in plain words: each finding with its number, its uncertainty, and what to do next.

mod causes;
mod cpus;
mod first;
mod groups;
mod quantity;
pub mod rows;
mod stolen;
mod talk;
#[cfg(test)]
mod tests;
mod topics;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CpuSet;
use crate::finding::Finding;
use crate::links::LinkClass;
pub use topics::conclude;

/// The error rate of each test over all cpus at once: among equal cpus, a quantity is called different on any of them
/// with this probability at most.
pub const ERROR_RATE: f64 = 0.01;

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
