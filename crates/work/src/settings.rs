//! Settings of all workloads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::WorkError;

/// Amount of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorkloadSize {
    /// Multiple of the workload's usual size, which takes some seconds on one cpu of today; 0.1 is a tenth of it.
    Share(f64),
    /// As much as can be done in this time: whole rounds of a small size, the last of which ends after it.
    Time(Duration),
}

/// Settings of every workload; each has options of its own besides.
#[derive(Clone, Debug)]
pub struct WorkloadSettings {
    /// Number of threads that do the work; at least 1.
    pub threads: usize,
    /// Amount of work.
    pub size: WorkloadSize,
    /// Seed of all random choices: the same seed gives the same result, with any number of threads.
    pub seed: u64,
    /// Cpu of each thread in order, repeated if there are fewer; empty to leave threads to the operating system.
    pub cpus: Vec<u32>,
}

impl WorkloadSettings {
    /// Creates settings of the usual size on a number of threads, left to the operating system.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), size: WorkloadSize::Share(1.0), seed: 1, cpus: Vec::new() }
    }

    /// Returns the cpu that a thread is pinned to; `None` if it is left to the operating system.
    pub fn cpu_of(&self, thread: usize) -> Option<u32> {
        (!self.cpus.is_empty()).then(|| self.cpus[thread % self.cpus.len()])
    }
}

/// Interface between a workload and its caller: when to end, and what it is doing.
pub struct WorkloadHost<'a> {
    /// The workload ends soon after this becomes true.
    pub stop: &'a AtomicBool,
    /// Receives the next step, in a few words.
    pub progress: &'a mut dyn FnMut(&str),
}

impl WorkloadHost<'_> {
    /// Returns an error if the workload is to end.
    ///
    /// # Errors
    /// [`WorkError::Stopped`].
    pub fn check_stop(&self) -> Result<(), WorkError> {
        if self.stop.load(Ordering::Relaxed) { Err(WorkError::Stopped) } else { Ok(()) }
    }
}
