//! What a workload says at its end.

use corewise_model::metric_line::MetricLine;

/// What keeps a workload from being faster: what a placement can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Arithmetic; more cores and more clock.
    Compute,
    /// The bandwidth or the latency of memory; nodes and channels.
    Memory,
    /// A cache that threads share or fight for.
    CacheSharing,
    /// What threads send each other.
    Communication,
    /// Sleeping and being woken.
    Waiting,
}

impl Limit {
    /// "compute", "memory", "cache sharing", "communication", "waiting".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::CacheSharing => "cache sharing",
            Self::Communication => "communication",
            Self::Waiting => "waiting",
        }
    }
}

/// The end of a workload: its metrics, and what its result was checked against.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The metrics, the most telling first.
    pub metrics: Vec<MetricLine>,
    /// What limits it.
    pub limit: Limit,
    /// What its own result was checked against, and how exactly it agreed.
    pub checked: String,
    /// A number that depends on the whole result; the same for the same size and seed with any number of threads. Absent where the size is a time.
    pub checksum: Option<u64>,
}
