//! A thread of the program that is followed.

use super::interruption::Making;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for something, or nothing is known.
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
    /// What it does.
    pub state: State,
    /// Whether it is on its way out.
    pub has_ended: bool,
    /// The interruption that it is in, or was in just now.
    pub making: Option<Making>,
}

impl Thread {
    /// One that was just made.
    pub const fn new(name: String) -> Self {
        Self { name, state: State::Away, has_ended: false, making: None }
    }
}
