//! A thread of the program that is followed.

use super::interruption::OpenInterruption;

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramThreadState {
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
pub struct ProgramThread {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: ProgramThreadState,
    /// True if it is exiting.
    pub has_ended: bool,
    /// The interruption that it is in, or has just left.
    pub making: Option<OpenInterruption>,
}

impl ProgramThread {
    /// Returns a new thread.
    pub const fn new(name: String) -> Self {
        Self { name, state: ProgramThreadState::Away, has_ended: false, making: None }
    }
}
