//! Interests in kernel events, and the results of reading them.

/// Events that a program can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventInterest {
    /// Begin and end of interrupt handlers: devices', soft ones, vectors, non-maskable ones.
    Interrupts,
    /// A cpu switches to another task.
    Switches,
    /// A task is woken.
    Wakes,
    /// Page faults begin.
    PageFaults,
    /// Functions that kernel workers and calls from other cpus run.
    Functions,
    /// A cpu interrupts others.
    Senders,
    /// Tasks are moved to another cpu.
    Migrations,
    /// Tasks are forked, execute another program, and end.
    Tasks,
    /// Tasks request another affinity.
    Affinities,
}

impl EventInterest {
    /// Returns its name in a gap.
    pub const fn gap_name(self) -> &'static str {
        match self {
            Self::Interrupts => "names of interrupts",
            Self::Switches => "names of other tasks",
            Self::Wakes => "wakes of tasks",
            Self::PageFaults => "page faults",
            Self::Functions => "names of called functions",
            Self::Senders => "senders of interrupts between cpus",
            Self::Migrations => "migrations of tasks",
            Self::Tasks => "new and ending tasks",
            Self::Affinities => "affinities that programs request",
        }
    }
}

/// Result of draining a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainedEvents {
    /// Number of lost events.
    pub lost: u64,
    /// The calling thread's number in the initial namespace, if an event contained it; 0 otherwise.
    pub own_task: u32,
    /// Events before this time, in nanoseconds, were lost: the buffer overwrote the oldest.
    pub nothing_before_ns: Option<u64>,
    /// Events after this time, in nanoseconds, were lost: the buffer was full.
    pub nothing_after_ns: Option<u64>,
}
