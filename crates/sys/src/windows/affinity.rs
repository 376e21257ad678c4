//! Affinity of threads and processes, and the present cpu. A thread of Windows is in one processor group at a time.

use std::io;

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Kernel::PROCESSOR_NUMBER;
use windows_sys::Win32::System::Threading::{GetCurrentProcessorNumberEx, GetCurrentThread};

use super::handle::KernelHandle;
pub(super) use super::opened_task::one_mask;
use super::opened_task::{self, OpenedTask};
use super::processors::{NUMBERING, group_masks};
use super::task;
use crate::values::affinity as values;
pub use crate::values::affinity::OwnMask;

/// Returns a handle of this thread: a constant, which needs no closing.
fn this_thread() -> KernelHandle {
    // SAFETY: a call without memory.
    KernelHandle::from_constant(unsafe { GetCurrentThread() })
}

pub fn set_current(cpus: &CpuSet) -> io::Result<()> {
    opened_task::restrict_thread(&this_thread(), cpus)
}

pub fn current_affinity() -> io::Result<CpuSet> {
    opened_task::mask_of_thread(&this_thread())
}

/// Returns the cpus of a thread or a process by its number.
pub fn affinity_of(id: u32) -> io::Result<CpuSet> {
    if id == 0 { current_affinity() } else { OpenedTask::to_look(id)?.read_mask() }
}

/// Returns true if the number is no longer in use.
pub fn has_ended(error: &io::Error) -> bool {
    opened_task::is_gone(error)
}

/// Returns the threads of a process that have fewer cpus than it; setting its mask overrides theirs.
pub fn own_masks(process: u32) -> Vec<OwnMask> {
    let Ok(cpus) = affinity_of(process) else { return Vec::new() };
    let own = opened_task::with_fewer_cpus(process, &cpus).into_iter();
    own.filter_map(|(id, cpus)| Some(OwnMask { thread: task::thread_identity(process, id)?, cpus })).collect()
}

pub const WHO_PLACES_OTHERS: &str = "only an administrator";

/// Returns the PowerShell command that gives a process other cpus. A mask is a signed number there, and a hexadecimal one of 32 bits may
/// become negative.
pub fn by_hand(process: u32, cpus: &CpuSet) -> String {
    let bits = group_masks(cpus).first().map_or(0, |mask| mask.bits);
    format!("(Get-Process -Id {process}).ProcessorAffinity = {}", bits as i64)
}

pub fn running_on() -> Option<u32> {
    let mut place = PROCESSOR_NUMBER::default();
    // SAFETY: the call fills the structure.
    unsafe { GetCurrentProcessorNumberEx(&raw mut place) };
    NUMBERING.cpu_number(place.Group, place.Number)
}

pub fn pin_current(cpu: u32) -> io::Result<()> {
    set_current(&CpuSet::from_cpu(cpu))?;
    check_pinned(cpu)
}

pub fn check_pinned(cpu: u32) -> io::Result<()> {
    values::check_pinned(cpu, &current_affinity()?, running_on())
}
