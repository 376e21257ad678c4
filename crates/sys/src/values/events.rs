//! Which events of the kernel are wanted, and what came with them.

/// Events that a program can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interest {
    /// Handlers of interrupts begin and end: devices', soft ones, vectors, non-maskable ones.
    Interrupts,
    /// A cpu goes over to another task.
    Switches,
    /// Page faults begin.
    PageFaults,
    /// What kernel workers and calls from other cpus carry out.
    Functions,
    /// A cpu interrupts others.
    Senders,
    /// Tasks are moved to another cpu.
    Migrations,
    /// Tasks are made, begin another program, and end.
    Tasks,
    /// Tasks ask for another affinity.
    Affinities,
}

impl Interest {
    /// As a gap names it.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Interrupts => "names of interrupts",
            Self::Switches => "names of other tasks",
            Self::PageFaults => "page faults",
            Self::Functions => "names of called functions",
            Self::Senders => "senders of interrupts between cpus",
            Self::Migrations => "migrations of tasks",
            Self::Tasks => "new and ending tasks",
            Self::Affinities => "affinities that programs request",
        }
    }
}

/// What was drained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Events that had no room.
    pub lost: u64,
    /// The calling thread's number in the system as a whole, where an event told it; 0 otherwise.
    pub own_task: u32,
    /// Events before this time, in nanoseconds, had no room: the buffer gave up what was oldest.
    pub nothing_before_ns: Option<u64>,
    /// Events after this time had none: the buffer took no more once it was full.
    pub nothing_after_ns: Option<u64>,
}
