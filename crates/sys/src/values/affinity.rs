//! Checks that a thread is where it was put.

use std::io;

use corewise_machine::CpuSet;

use super::process::ProcessIdentity;

/// A thread that has fewer cpus than its process, on systems with masks of processes, too.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "programs", derive(serde::Serialize, serde::Deserialize))]
pub struct OwnMask {
    /// The thread.
    pub thread: ProcessIdentity,
    /// Its cpus.
    pub cpus: CpuSet,
}

/// Checks a thread that was pinned to one cpu, given its allowed cpus and its present cpu.
///
/// # Errors
/// An error with the cpus that the thread may use, or the cpu on which it runs, instead.
pub fn check_pinned(cpu: u32, allowed: &CpuSet, running: Option<u32>) -> io::Result<()> {
    if *allowed == CpuSet::from_cpu(cpu) && running == Some(cpu) {
        return Ok(());
    }
    let running = running.map_or("an unknown cpu".to_owned(), |running| format!("cpu {running}"));
    Err(io::Error::other(format!("pinned to cpu {cpu}, but allowed on {allowed} and running on {running}")))
}
