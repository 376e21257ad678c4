//! Wakes of tasks, and what tasks wait for.

/// Kind of a system call, by what a task waits for in it or wakes others with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// The task runs its own code, or is a kernel's thread.
    None,
    /// A word in memory.
    Futex,
    /// Reads or writes a descriptor.
    File,
    /// Receives from or sends to a socket.
    Socket,
    /// Sends in another way, or closes.
    Send,
    /// Waits for several descriptors.
    Poll,
    /// Waits for a time.
    Sleep,
    /// Waits for or sends a signal, or for the end of a child.
    Signal,
    /// Another call.
    Other,
}

/// Kind of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DescriptorKind {
    /// A pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A file, a terminal, an eventfd.
    Other,
}

/// Origin of a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WakeOrigin {
    /// The task that ran; 0 is the idle task.
    Task(u32),
    /// A device's interrupt, by its number; without a number a timer's or another cpu's.
    Interrupt(Option<u32>),
}

/// A number of wakes that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeCount {
    /// Their origin.
    pub origin: WakeOrigin,
    /// The woken thread.
    pub wakee: u32,
    /// The waker's system call.
    pub waker_call: CallKind,
    /// The call in which the wakee waited.
    pub wakee_call: CallKind,
    /// The descriptor for which the wakee waited.
    pub descriptor: Option<u32>,
    /// Number of wakes.
    pub wakes: u64,
}

/// Times from wakes until the woken thread ran, of wakes that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeWait {
    /// The waker; 0 for an interrupt and the idle task.
    pub waker: u32,
    /// The woken thread.
    pub wakee: u32,
    /// Whether the thread ran in another group of cpus than its waker.
    pub is_across: bool,
    /// Number of waits.
    pub waits: u64,
    /// Their time, in nanoseconds.
    pub waiting_ns: u64,
}

/// A task that woke another, or was woken, as it was at the first of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeTask {
    /// Its number.
    pub thread: u32,
    /// Its process.
    pub process: u32,
    /// Its name.
    pub name: String,
}

/// Wakes that were counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WakeCounts {
    /// Numbers of wakes.
    pub edges: Vec<WakeCount>,
    /// Waiting times, in the slots in which they were measured.
    pub waits: Vec<WakeWait>,
    /// The counted processes, ended ones included.
    pub processes: Vec<u32>,
    /// The tasks.
    pub tasks: Vec<WakeTask>,
    /// Number of wakes that had no room.
    pub lost: u64,
}
