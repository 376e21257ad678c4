//! Whether a thread is where it was put.

use std::io;

use corewise_machine::CpuSet;
use serde::{Deserialize, Serialize};

use super::process::Process;

/// A thread that has fewer cpus than its process, where a process has a mask, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnMask {
    /// The thread.
    pub thread: Process,
    /// Its cpus.
    pub cpus: CpuSet,
}

/// Checks a thread that was put on one cpu, by the cpus that it may run on and the one on which it does.
///
/// # Errors
/// An error that says where the thread may run, or runs, instead.
pub fn check_pinned(cpu: u32, allowed: &CpuSet, running: Option<u32>) -> io::Result<()> {
    if *allowed == CpuSet::of(cpu) && running == Some(cpu) {
        return Ok(());
    }
    let running = running.map_or("an unknown cpu".to_owned(), |running| format!("cpu {running}"));
    Err(io::Error::other(format!("pinned to cpu {cpu}, but allowed on {allowed} and running on {running}")))
}
