//! A system's accounting for a thread.

/// A thread's accounts since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadAccount {
    /// Time on cpus, in nanoseconds.
    pub on_cpu_ns: u64,
    /// Time for which it was runnable but did not run, in nanoseconds.
    pub waited_ns: u64,
    /// Number of times that it gave up its cpu to wait for something.
    pub voluntary_switches: u64,
    /// Number of times that it was preempted.
    pub involuntary_switches: u64,
}
