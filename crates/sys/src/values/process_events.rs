//! Events of processes.

/// Kind of event to subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessEventKind {
    /// A process or a thread is made.
    Fork,
    /// A process executes another program.
    Exec,
    /// A thread gets another name.
    Rename,
    /// A thread, or a process with its last one, ends.
    Exit,
}

/// An event of a process. Numbers are of the initial namespace; by the time it is read, the process may have ended and its number may be
/// reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// A process has a new thread, or a new process was made: then both numbers are the same.
    Forked {
        /// The process that made it; its creator's parent if it was made as a sibling.
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
    /// An unknown number of events was lost; only a scan of all processes finds the changes.
    Lost,
}
