//! What happens to processes.

/// What may be subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A process or a thread is made.
    Fork,
    /// A process begins another program.
    Exec,
    /// A thread gets another name.
    Rename,
    /// A thread, or a process with its last one, ends.
    Exit,
}

/// Something that happened to a process. Numbers are those of the system as a whole; when it is read, the process may have ended, and
/// its number may be another's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// A process has a new thread, or a new process was made: then both its numbers are the same.
    Forked {
        /// The process that made it; that of its creator's parent where it was made as a sibling.
        parent: u32,
        /// The process that it belongs to, or is.
        process: u32,
        /// The thread.
        thread: u32,
    },
    /// A process executes another program.
    Executed {
        /// The process.
        process: u32,
    },
    /// A thread has another name.
    Renamed {
        /// Its process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The name, at most 15 bytes.
        name: String,
    },
    /// A thread ended.
    Ended {
        /// Its process, which has ended too if this is its last thread.
        process: u32,
        /// The thread.
        thread: u32,
    },
    /// Events had no room, nobody knows how many: what they would have said is to be found by looking at all processes.
    Lost,
}
