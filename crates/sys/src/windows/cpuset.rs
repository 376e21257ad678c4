//! The online cpus, and the cpus that this process may use.

use std::io;

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessAffinityMask};

use crate::cgroup::{CpuQuota, LimitingGroup};

use super::handle::{KernelHandle, check_result};
use super::opened_task::{OpenedTask, all_of, groups_of, mask_of_process};
use super::processors::NUMBERING;

/// Returns the cpus that a process could be given: all of its processor group. No other process limits it.
pub fn cpuset_of(process: u32) -> CpuSet {
    match OpenedTask::to_look(process) {
        Ok(OpenedTask::Process(process)) => all_of(&groups_of(&process)),
        _ => online_cpus(),
    }
}

/// Returns `None`: Windows has no control groups.
pub fn limiting_group(_: u32) -> Option<LimitingGroup> {
    None
}

/// Returns `None`: quotas of jobs are not read yet.
pub fn own_quota() -> Option<CpuQuota> {
    None
}

pub fn possible_cpus() -> CpuSet {
    online_cpus()
}

pub fn online_cpus() -> CpuSet {
    NUMBERING.online_cpus()
}

/// Returns the cpus of this process's mask. If it has all of its group, or is in several, its threads may run anywhere.
pub fn reachable_cpus() -> io::Result<CpuSet> {
    // SAFETY: it returns a constant for this process, which needs no closing.
    let this = KernelHandle::from_constant(unsafe { GetCurrentProcess() });
    let (mut mask, mut of_system) = (0, 0);
    // SAFETY: the kernel fills both masks.
    check_result(unsafe { GetProcessAffinityMask(this.as_raw(), &raw mut mask, &raw mut of_system) })?;
    if mask == 0 || mask == of_system { Ok(online_cpus()) } else { mask_of_process(&this) }
}
