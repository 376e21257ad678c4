//! Result of a workload.

use corewise_model::metric_line::MetricLine;

/// Bottleneck of a workload: what a placement can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadLimit {
    /// Arithmetic; more cores and a higher clock help.
    Compute,
    /// The bandwidth or the latency of memory; nodes and channels matter.
    Memory,
    /// A cache that threads share or compete for.
    CacheSharing,
    /// Messages between threads.
    Communication,
    /// Sleeping and being woken.
    Waiting,
}

impl WorkloadLimit {
    /// Returns the words: "compute", "memory", "cache sharing", "communication", "waiting".
    pub const fn describe_limit(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::CacheSharing => "cache sharing",
            Self::Communication => "communication",
            Self::Waiting => "waiting",
        }
    }
}

/// Result of a workload: its metrics, and the check of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadReport {
    /// Metrics, the most informative first.
    pub metrics: Vec<MetricLine>,
    /// Bottleneck.
    pub limit: WorkloadLimit,
    /// Description of the check, with its precision.
    pub checked: String,
    /// Checksum of the whole result; the same for the same size and seed with any number of threads. `None` if the size is a time.
    pub checksum: Option<u64>,
}
