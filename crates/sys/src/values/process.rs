//! Which process is meant, and how it stands.

use serde::{Deserialize, Serialize};

/// A process or thread of the running boot: its number, and when it started. A number alone is given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its number: a pid, or a tid for one thread.
    pub id: u32,
    /// When it started, in the kernel's ticks since boot.
    pub start_ticks: u64,
}

/// What the kernel reports about a process or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its name, which it may have changed; at most 15 bytes.
    pub name: String,
    /// Whether it has ended and only waits for its parent to notice.
    pub has_ended: bool,
    /// The number of its parent; 0 where it has none that can be seen here.
    pub parent: u32,
    /// Its session; 0 for the kernel's own.
    pub session: u32,
    /// Whether that session has a terminal.
    pub has_terminal: bool,
    /// When it started, in the kernel's ticks since boot.
    pub start_ticks: u64,
}
