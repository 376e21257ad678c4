//! The cpus that are online, and those that this process may use.

use std::io;

use corewise_model::CpuSet;
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetProcessAffinityMask, GetProcessGroupAffinity, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
};

use super::handle::{Handle, checked};
use super::processors::NUMBERING;
use crate::logical_processors::relations::GroupMask;

pub fn of(process: u32) -> CpuSet {
    // SAFETY: a call without memory.
    let handle = Handle::new(unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, process) });
    handle.and_then(|process| allowed(&process)).unwrap_or_else(|_| online())
}

pub fn every() -> CpuSet {
    online()
}

pub fn online() -> CpuSet {
    NUMBERING.online()
}

pub fn reachable() -> io::Result<CpuSet> {
    // SAFETY: it returns a constant that stands for this process, and needs no closing.
    allowed(&Handle::constant(unsafe { GetCurrentProcess() }))
}

/// The cpus of a process's mask. One that has all of its group, or is in several, may have threads anywhere.
fn allowed(process: &Handle) -> io::Result<CpuSet> {
    let (mut mask, mut of_system) = (0, 0);
    // SAFETY: the kernel fills both masks.
    checked(unsafe { GetProcessAffinityMask(process.raw(), &raw mut mask, &raw mut of_system) })?;
    if mask == 0 || mask == of_system {
        return Ok(online());
    }
    let (mut group, mut count) = (0_u16, 1_u16);
    // SAFETY: the kernel writes as many groups as there is room for, which is one.
    let is_known = unsafe { GetProcessGroupAffinity(process.raw(), &raw mut count, &raw mut group) } != 0;
    let group = if is_known { group } else { 0 };
    Ok(NUMBERING.cpus(&[GroupMask { group, bits: mask as u64 }]).0)
}
