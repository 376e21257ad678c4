//! The processes that descend from one, and their threads, as a snapshot of all shows them.

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{GetThreadTimes, OpenThread, THREAD_QUERY_LIMITED_INFORMATION};

use super::handle::{Handle, checked};
use super::process::{self, HUNDREDS_OF_NS, start_ticks_of};
use super::snapshot;
use super::thread::hundreds_of_ns;
pub use crate::values::task::{Others, Process};

pub fn children(parent: u32) -> Vec<u32> {
    let processes = snapshot::processes().unwrap_or_default();
    processes.iter().filter(|entry| entry.parent == parent && is_born_of(entry)).map(|entry| entry.id).collect()
}

/// A parent's number may have been given again: a child is younger than its parent.
fn is_born_of(entry: &snapshot::Entry) -> bool {
    start_ticks_of(entry.id).zip(start_ticks_of(entry.parent)).is_some_and(|(child, parent)| child >= parent)
}

pub fn descendants(ancestor: u32) -> Vec<Process> {
    let processes = snapshot::processes().unwrap_or_default();
    let threads = snapshot::threads().unwrap_or_default();
    let mut found: Vec<Process> = Vec::new();
    let mut to_visit = vec![ancestor];
    while let Some(parent) = to_visit.pop() {
        for entry in processes.iter().filter(|entry| entry.parent == parent && is_born_of(entry)) {
            if entry.id == ancestor || found.iter().any(|process| process.number == entry.id) {
                continue;
            }
            let Some(start_ticks) = start_ticks_of(entry.id) else { continue };
            let own = threads.iter().filter(|(owner, _)| *owner == entry.id).map(|(_, thread)| *thread).collect();
            found.push(Process { number: entry.id, start_ticks, parent, threads: own });
            to_visit.push(entry.id);
        }
    }
    found
}

pub fn threads(process: u32) -> Vec<u32> {
    let threads = snapshot::threads().unwrap_or_default();
    threads.into_iter().filter(|(owner, _)| *owner == process).map(|(_, thread)| thread).collect()
}

pub fn thread(_: u32, thread: u32) -> Option<process::Process> {
    // SAFETY: a call without memory.
    let handle = Handle::new(unsafe { OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, thread) }).ok()?;
    let [mut created, mut ended, mut system, mut user] = [FILETIME::default(); 4];
    // SAFETY: the kernel fills the four times.
    checked(unsafe { GetThreadTimes(handle.raw(), &raw mut created, &raw mut ended, &raw mut system, &raw mut user) })
        .ok()?;
    Some(process::Process { id: thread, start_ticks: hundreds_of_ns(created) / HUNDREDS_OF_NS })
}

/// Names of threads are not read yet: each has none.
pub fn name(_: u32, _: u32) -> Option<String> {
    Some(String::new())
}

/// No number here changes with each process that is started.
pub fn newest() -> Option<u32> {
    None
}

pub fn is_available() -> bool {
    true
}
