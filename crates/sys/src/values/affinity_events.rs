//! Granted requests to set affinity masks, with their authors.

/// A request to set an affinity mask that the system granted: sched_setaffinity(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinityEvent {
    /// Time in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub at_ns: u64,
    /// The thread that is to get the mask; equals `by` if a thread sets its own.
    pub target: u32,
    /// The thread that asked.
    pub by: u32,
    /// The author, if it is still known.
    pub author: Option<MaskCaller>,
}

/// The author of a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskCaller {
    /// The process.
    pub process: u32,
    /// Its name; its program's name if it has ended.
    pub name: String,
    /// Its session, and true if that has a terminal: then a person uses it. If it has ended, its parent's.
    pub session: Option<(u32, bool)>,
}
