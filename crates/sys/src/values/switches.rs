//! Switches of one's own threads.

/// A thread begins or ceases to run on a cpu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnSwitch {
    /// Time, in nanoseconds of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Its process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// The cpu.
    pub cpu: u32,
    /// Its new state.
    pub change: SwitchChange,
}

/// Change of a thread's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchChange {
    /// It runs.
    Runs,
    /// It waits for something.
    Waits,
    /// It does not run any more, though it could.
    Preempted,
    /// It ended.
    Ends,
}

/// Records of one's own threads since the last drain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchBatch {
    /// Switches, in order of time for each cpu.
    pub switches: Vec<OwnSwitch>,
    /// Threads that got a name: process, thread, name.
    pub names: Vec<(u32, u32, String)>,
    /// Number of records that had no room.
    pub lost: u64,
}
