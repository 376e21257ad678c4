//! The cpus that are online, and those that this process may use.

use std::io;

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessAffinityMask};

use super::handle::{Handle, checked};
use super::opened::{Opened, all_of, groups_of, mask_of_process};
use super::processors::NUMBERING;

/// The cpus that a process could be given: those of its processor group. No other process limits it.
pub fn of(process: u32) -> CpuSet {
    match Opened::to_look(process) {
        Ok(Opened::Process(process)) => all_of(&groups_of(&process)),
        _ => online(),
    }
}

pub fn every() -> CpuSet {
    online()
}

pub fn online() -> CpuSet {
    NUMBERING.online()
}

/// The cpus of this process's mask. One that has all of its group, or is in several, may have threads anywhere.
pub fn reachable() -> io::Result<CpuSet> {
    // SAFETY: it returns a constant that stands for this process, and needs no closing.
    let this = Handle::constant(unsafe { GetCurrentProcess() });
    let (mut mask, mut of_system) = (0, 0);
    // SAFETY: the kernel fills both masks.
    checked(unsafe { GetProcessAffinityMask(this.raw(), &raw mut mask, &raw mut of_system) })?;
    if mask == 0 || mask == of_system { Ok(online()) } else { mask_of_process(&this) }
}
