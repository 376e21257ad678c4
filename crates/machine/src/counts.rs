//! Counts of interrupts on a cpu, by source.

use serde::{Deserialize, Serialize};

/// Events counted on a cpu between two readings of the kernel's counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// The time between the two readings, in seconds; a little longer than what was timed between them.
    pub elapsed_s: f64,
    /// By source, those above zero, most first.
    pub sources: Vec<Count>,
    /// The time that they took of the cpu, in seconds; absent where the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
}

impl Counted {
    /// How often all sources struck together.
    pub fn total(&self) -> u64 {
        self.sources.iter().map(|source| source.count).sum()
    }

    /// How often all sources struck together, a second.
    pub fn per_second(&self) -> f64 {
        self.total() as f64 / self.elapsed_s
    }
}

/// A source and how often it struck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Count {
    /// "LOC", "36 virtio1-req.0", "TIMER".
    pub source: String,
    /// How often.
    pub count: u64,
}
