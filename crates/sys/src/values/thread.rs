//! A thread's own counters, and the end of its sleep.

/// The fastest-read counters of a thread: some 0.3 us for two system calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadGlance {
    /// Its cpu time, in nanoseconds.
    pub cpu_time_ns: u64,
    /// Number of times that it was preempted.
    pub involuntary_switches: u64,
}

/// Number of context switches of a thread; one system call, some 0.2 us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    /// Switches because the thread waited for something.
    pub voluntary: u64,
    /// Switches because the scheduler preempted it.
    pub involuntary: u64,
}

/// End of a wait for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// Another thread woke it, or the kernel did spuriously.
    Woken,
    /// The word had another value already, so the thread did not sleep.
    Changed,
    /// The time was over.
    TimedOut,
}
