//! Descendants of a process, and their threads, from a snapshot of all.

use super::opened_task::ProcessBirth;
use super::{process, snapshot};
pub use crate::values::task::{OtherProcesses, ProcessThreads};

/// Number of the kernel's own process; programs have larger ones.
pub(super) const SYSTEM: u32 = 4;

pub fn child_processes(parent: u32) -> Vec<u32> {
    let processes = snapshot::list_processes().unwrap_or_default();
    processes.iter().filter(|entry| entry.parent == parent && is_born_of(entry)).map(|entry| entry.id).collect()
}

/// Returns the creation time of a process; `None` if there is none, or it may not be read.
fn start_ticks_of(id: u32) -> Option<u64> {
    ProcessBirth::read_birth(id).ok().map(|birth| birth.start_ticks)
}

/// Returns true if the parent is real: its number may have been reused, and a child is younger than its parent.
fn is_born_of(entry: &snapshot::SnapshotEntry) -> bool {
    start_ticks_of(entry.id).zip(start_ticks_of(entry.parent)).is_some_and(|(child, parent)| child >= parent)
}

pub fn descendant_processes(ancestor: u32) -> Vec<ProcessThreads> {
    let processes = snapshot::list_processes().unwrap_or_default();
    let threads = snapshot::list_threads().unwrap_or_default();
    let mut found: Vec<ProcessThreads> = Vec::new();
    let mut to_visit = vec![ancestor];
    while let Some(parent) = to_visit.pop() {
        for entry in processes.iter().filter(|entry| entry.parent == parent && is_born_of(entry)) {
            if entry.id == ancestor || found.iter().any(|process| process.number == entry.id) {
                continue;
            }
            let Some(start_ticks) = start_ticks_of(entry.id) else { continue };
            let own = threads.iter().filter(|(owner, _)| *owner == entry.id).map(|(_, thread)| *thread).collect();
            found.push(ProcessThreads { number: entry.id, start_ticks, parent, threads: own });
            to_visit.push(entry.id);
        }
    }
    found
}

pub fn thread_numbers(process: u32) -> Vec<u32> {
    let threads = snapshot::list_threads().unwrap_or_default();
    threads.into_iter().filter(|(owner, _)| *owner == process).map(|(_, thread)| thread).collect()
}

/// Returns the process itself: its threads inherit its cpus, whichever of them started them.
pub fn inheriting_threads(process: u32) -> Vec<u32> {
    vec![process]
}

/// Returns the number of threads of a process; `None` if it has ended.
pub fn thread_count(process: u32) -> Option<usize> {
    Some(thread_numbers(process).len()).filter(|count| *count > 0)
}

/// Returns true if it has ended: new threads get their cpus from the process.
pub fn has_other_than(process: u32, _: usize) -> bool {
    !ProcessBirth::read_birth(process).is_ok_and(|birth| !birth.has_ended)
}

pub fn thread_identity(_: u32, thread: u32) -> Option<process::ProcessIdentity> {
    let birth = ProcessBirth::read_birth(thread).ok()?;
    Some(process::ProcessIdentity { id: thread, start_ticks: birth.start_ticks })
}

/// Returns an empty name: names of threads are not read yet.
pub fn thread_name(_: u32, _: u32) -> Option<String> {
    Some(String::new())
}

/// Returns `None`: no number here changes with each new process.
pub fn newest_number() -> Option<u32> {
    None
}

pub fn is_available() -> bool {
    true
}
