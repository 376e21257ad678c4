//! On which cpus a thread may run, and on which it does. A thread of Windows is in one processor group at a time.

use std::io;

use corewise_model::CpuSet;
use windows_sys::Win32::Foundation::ERROR_INVALID_PARAMETER;
use windows_sys::Win32::System::Kernel::PROCESSOR_NUMBER;
use windows_sys::Win32::System::SystemInformation::GROUP_AFFINITY;
use windows_sys::Win32::System::Threading::{
    GetCurrentProcessorNumberEx, GetCurrentThread, GetThreadGroupAffinity, OpenThread, SetThreadGroupAffinity,
    THREAD_QUERY_INFORMATION, THREAD_SET_INFORMATION,
};

use super::handle::{Handle, checked};
use super::processors::{NUMBERING, masks};
use crate::logical_processors::relations::GroupMask;
use crate::values::affinity as values;

/// The mask of a set whose active cpus are all in one group.
pub(super) fn one_mask(cpus: &CpuSet) -> io::Result<GroupMask> {
    match masks(cpus).as_slice() {
        [mask] => Ok(*mask),
        [] => Err(io::Error::other(format!("cpu {cpus} is offline, or not allowed for this process"))),
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("cpus {cpus} are in several processor groups, and a mask holds in one"),
        )),
    }
}

pub fn set_current(cpus: &CpuSet) -> io::Result<()> {
    set(0, cpus)
}

pub fn set(thread: u32, cpus: &CpuSet) -> io::Result<()> {
    let GroupMask { group, bits } = one_mask(cpus)?;
    let affinity = GROUP_AFFINITY { Mask: bits as usize, Group: group, Reserved: [0; 3] };
    let thread = opened(thread)?;
    // SAFETY: the kernel reads the structure, which outlives the call.
    checked(unsafe { SetThreadGroupAffinity(thread.raw(), &raw const affinity, std::ptr::null_mut()) })
}

pub fn current() -> io::Result<CpuSet> {
    of(0)
}

pub fn of(thread: u32) -> io::Result<CpuSet> {
    let mut affinity = GROUP_AFFINITY::default();
    let thread = opened(thread)?;
    // SAFETY: the kernel fills the structure.
    checked(unsafe { GetThreadGroupAffinity(thread.raw(), &raw mut affinity) })?;
    Ok(NUMBERING.cpus(&[GroupMask { group: affinity.Group, bits: affinity.Mask as u64 }]).0)
}

/// A thread by its number; 0 is the calling one.
fn opened(thread: u32) -> io::Result<Handle> {
    if thread == 0 {
        // SAFETY: it returns a constant that stands for the calling thread, and needs no closing.
        return Ok(Handle::constant(unsafe { GetCurrentThread() }));
    }
    // SAFETY: a call without memory.
    Handle::new(unsafe { OpenThread(THREAD_SET_INFORMATION | THREAD_QUERY_INFORMATION, 0, thread) })
}

/// No thread has that number any more.
pub fn has_ended(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_INVALID_PARAMETER as i32)
}

pub fn running_on() -> Option<u32> {
    let mut place = PROCESSOR_NUMBER::default();
    // SAFETY: the call fills the structure.
    unsafe { GetCurrentProcessorNumberEx(&raw mut place) };
    NUMBERING.cpu(place.Group, place.Number)
}

pub fn pin_current(cpu: u32) -> io::Result<()> {
    set_current(&CpuSet::of(cpu))?;
    check_pinned(cpu)
}

pub fn check_pinned(cpu: u32) -> io::Result<()> {
    values::check_pinned(cpu, &current()?, running_on())
}
