//! The online cpus, and the cpus that this process may use.

use std::io;

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessAffinityMask};

use super::handle::{Handle, checked};
use super::opened::{Opened, all_of, groups_of, mask_of_process};
use super::processors::NUMBERING;

/// Returns the cpus that a process could be given: all of its processor group. No other process limits it.
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

/// Returns the cpus of this process's mask. If it has all of its group, or is in several, its threads may run anywhere.
pub fn reachable() -> io::Result<CpuSet> {
    // SAFETY: it returns a constant for this process, which needs no closing.
    let this = Handle::constant(unsafe { GetCurrentProcess() });
    let (mut mask, mut of_system) = (0, 0);
    // SAFETY: the kernel fills both masks.
    checked(unsafe { GetProcessAffinityMask(this.raw(), &raw mut mask, &raw mut of_system) })?;
    if mask == 0 || mask == of_system { Ok(online()) } else { mask_of_process(&this) }
}
