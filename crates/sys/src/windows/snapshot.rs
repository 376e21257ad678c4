//! Processes and threads at one moment: CreateToolhelp32Snapshot.

use std::io;

use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS, TH32CS_SNAPTHREAD,
    THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Threading::{OpenThread, ResumeThread, THREAD_SUSPEND_RESUME};

use super::handle::KernelHandle;

/// A process and its parent.
pub struct SnapshotEntry {
    pub id: u32,
    pub parent: u32,
}

/// Returns all processes.
pub fn list_processes() -> io::Result<Vec<SnapshotEntry>> {
    // SAFETY: the call takes no pointers.
    let snapshot = KernelHandle::new(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) })?;
    let mut entry = PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..PROCESSENTRY32W::default() };
    let mut found = Vec::new();
    // SAFETY: the calls fill the structure, and were given its size.
    let mut is_there = unsafe { Process32FirstW(snapshot.as_raw(), &raw mut entry) } != 0;
    while is_there {
        found.push(SnapshotEntry { id: entry.th32ProcessID, parent: entry.th32ParentProcessID });
        // SAFETY: as above.
        is_there = unsafe { Process32NextW(snapshot.as_raw(), &raw mut entry) } != 0;
    }
    Ok(found)
}

/// Returns all threads, each as (process id, thread id).
pub fn list_threads() -> io::Result<Vec<(u32, u32)>> {
    // SAFETY: the call takes no pointers.
    let snapshot = KernelHandle::new(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..THREADENTRY32::default() };
    let mut found = Vec::new();
    // SAFETY: the calls fill the structure, and were given its size.
    let mut is_there = unsafe { Thread32First(snapshot.as_raw(), &raw mut entry) } != 0;
    while is_there {
        found.push((entry.th32OwnerProcessID, entry.th32ThreadID));
        // SAFETY: as above.
        is_there = unsafe { Thread32Next(snapshot.as_raw(), &raw mut entry) } != 0;
    }
    Ok(found)
}

/// Resumes all threads of a process that was started suspended (normally one).
pub fn resume_process(process: u32) -> io::Result<()> {
    let mut threads = list_threads()?;
    threads.retain(|(owner, _)| *owner == process);
    if threads.is_empty() {
        return Err(io::Error::other("the started process has no thread to resume"));
    }
    for (_, thread) in threads {
        // SAFETY: the call takes no pointers.
        let thread = KernelHandle::new(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, thread) })?;
        // SAFETY: the handle is of a thread, opened with the right to resume it.
        if unsafe { ResumeThread(thread.as_raw()) } == u32::MAX {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
