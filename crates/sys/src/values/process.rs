//! Identity and state of processes.

/// A process or thread of the running boot: its number and its start time. A number alone is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "programs", derive(serde::Serialize, serde::Deserialize))]
pub struct ProcessIdentity {
    /// Its number: a pid, or a tid for one thread.
    pub id: u32,
    /// Start time, in kernel ticks since boot.
    pub start_ticks: u64,
}

/// The kernel's facts about a process or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its name, which it may have changed; at most 15 bytes.
    pub name: String,
    /// True if it has ended and was not waited for.
    pub has_ended: bool,
    /// Number of its parent; 0 if no parent is visible here.
    pub parent: u32,
    /// Its session; 0 for the kernel's own.
    pub session: u32,
    /// True if that session has a terminal.
    pub has_terminal: bool,
    /// Start time, in kernel ticks since boot.
    pub start_ticks: u64,
}
