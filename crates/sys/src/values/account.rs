//! What a system accounts a thread for.

/// A thread's accounts since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Time on cpus, in nanoseconds.
    pub on_cpu_ns: u64,
    /// Time for which it could have run and did not, in nanoseconds.
    pub waited_ns: u64,
    /// How often it gave up its cpu to wait for something.
    pub voluntary_switches: u64,
    /// How often it was switched away from although it could have gone on.
    pub involuntary_switches: u64,
}
