//! What all workloads are told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Error;

/// How much work there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// This many times what the workload calls its usual size, which takes some seconds on one cpu of today; 0.1 is a tenth of it.
    Share(f64),
    /// As much as can be done in this time: whole rounds of a small size, the last of which ends after it.
    Time(Duration),
}

/// What every workload is told; each has options of its own besides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many threads do the work; 1 at least.
    pub threads: usize,
    /// How much work there is.
    pub size: Size,
    /// What is left to chance depends on this alone: the same seed gives the same result, with any number of threads.
    pub seed: u64,
    /// The cpu of each thread, in their order and from the beginning again when there are fewer; empty to leave them to the operating system.
    pub cpus: Vec<u32>,
}

impl Settings {
    /// The usual size on so many threads, left to the operating system.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), size: Size::Share(1.0), seed: 1, cpus: Vec::new() }
    }

    /// The cpu that a thread is pinned to; absent where it is left to the operating system.
    pub fn cpu_of(&self, thread: usize) -> Option<u32> {
        (!self.cpus.is_empty()).then(|| self.cpus[thread % self.cpus.len()])
    }
}

/// What a workload has to do with whoever started it: when to end, and what it is at.
pub struct Company<'a> {
    /// The workload ends soon after this becomes true.
    pub stop: &'a AtomicBool,
    /// Is told what is done next, in a few words.
    pub progress: &'a mut dyn FnMut(&str),
}

impl Company<'_> {
    /// An error once it is to end.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}
