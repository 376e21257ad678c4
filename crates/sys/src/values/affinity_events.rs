//! Who sets whose affinity.

/// A request to set an affinity mask: sched_setaffinity(2), whatever came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinityEvent {
    /// When, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub at_ns: u64,
    /// The thread whose mask is to be set; `by` itself where a thread sets its own.
    pub target: u32,
    /// The thread that asked.
    pub by: u32,
    /// Who that is, where that is known still.
    pub author: Option<Author>,
}

/// Who set a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The process.
    pub process: u32,
    /// Its name; of one that has ended, its program's.
    pub name: String,
    /// Its session, and whether that has a terminal: then a person sits there. Of one that has ended, its parent's.
    pub session: Option<(u32, bool)>,
}
