//! Interrupt counts of a cpu, by source.

use serde::{Deserialize, Serialize};

/// Events counted on a cpu between two readings of the kernel's counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EventCounts {
    /// Time between the two readings, in seconds; a little longer than the timed stretch between them.
    pub elapsed_s: f64,
    /// Counts above zero by source, largest first.
    pub sources: Vec<SourceCount>,
    /// Time that the interrupts took of the cpu, in seconds; absent if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
}

impl EventCounts {
    /// Returns the number of interrupts from all sources.
    pub fn total_count(&self) -> u64 {
        self.sources.iter().map(|source| source.count).sum()
    }

    /// Returns the interrupts per second from all sources.
    pub fn per_second(&self) -> f64 {
        self.total_count() as f64 / self.elapsed_s
    }
}

/// Source of interrupts and its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SourceCount {
    /// Name of the source: "LOC", "36 virtio1-req.0", "TIMER".
    pub source: String,
    /// Number of interrupts.
    pub count: u64,
}
