//! A thread of the program that is followed.

use super::interruption::Making;

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for something, or its state is unknown.
    Away,
    /// It is on a cpu.
    Running,
    /// It was preempted, and waits for this cpu.
    Waiting {
        /// The cpu.
        cpu: u32,
        /// The end of the time that is accounted for, in nanoseconds.
        since_ns: u64,
    },
}

/// A thread.
#[derive(Debug)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: State,
    /// True if it is exiting.
    pub has_ended: bool,
    /// The interruption that it is in, or has just left.
    pub making: Option<Making>,
}

impl Thread {
    /// Returns a new thread.
    pub const fn new(name: String) -> Self {
        Self { name, state: State::Away, has_ended: false, making: None }
    }
}
