//! A process or a thread, opened by its number; both share one space of numbers. While it is open, its number cannot be reused, so a caller
//! can check its creation time and then set the mask of the same one.
//!
//! A process of Windows has a mask that its threads and children inherit; a thread may have fewer cpus of its own. Setting the mask of a
//! process overrides those, which [`OpenedTask::restrict_to`] restores.

use std::io;

use corewise_machine::CpuSet;
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME};
use windows_sys::Win32::System::SystemInformation::GROUP_AFFINITY;
use windows_sys::Win32::System::Threading::{
    GetProcessAffinityMask, GetProcessGroupAffinity, GetProcessId, GetProcessIdOfThread, GetProcessTimes,
    GetThreadGroupAffinity, GetThreadTimes, OpenProcess, OpenThread, PROCESS_QUERY_LIMITED_INFORMATION,
    PROCESS_SET_INFORMATION, SetProcessAffinityMask, SetThreadGroupAffinity, THREAD_QUERY_INFORMATION,
    THREAD_SET_INFORMATION,
};

use super::handle::{KernelHandle, check_result};
use super::processors::{NUMBERING, group_masks};
use super::snapshot;
use super::thread::hundreds_of_ns;
use crate::logical_processors::relations::GroupMask;

/// Units of 100 ns in a tick; ticks are milliseconds, since 1601.
pub const HUNDREDS_OF_NS: u64 = 10_000;
const MOST_GROUPS: usize = 128;

/// Creation time of a process or thread, and true if it has ended.
#[derive(Clone, Copy, Debug)]
pub struct ProcessBirth {
    pub start_ticks: u64,
    pub has_ended: bool,
}

impl ProcessBirth {
    /// Reads it of a process or thread by its number.
    pub fn read_birth(id: u32) -> io::Result<Self> {
        OpenedTask::to_look(id)?.read_birth()
    }
}

/// A process or a thread.
#[derive(Debug)]
pub enum OpenedTask {
    Process(KernelHandle),
    Thread(KernelHandle),
}

impl OpenedTask {
    /// Opens it for reading.
    pub fn to_look(id: u32) -> io::Result<Self> {
        Self::open_with(id, PROCESS_QUERY_LIMITED_INFORMATION, THREAD_QUERY_INFORMATION)
    }

    /// Opens it to set its cpus.
    pub fn to_place(id: u32) -> io::Result<Self> {
        let process = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SET_INFORMATION;
        Self::open_with(id, process, THREAD_QUERY_INFORMATION | THREAD_SET_INFORMATION)
    }

    fn open_with(id: u32, of_process: u32, of_thread: u32) -> io::Result<Self> {
        // SAFETY: a call without memory.
        match KernelHandle::new(unsafe { OpenProcess(of_process, 0, id) }) {
            // Windows rounds numbers down to the next possible process number.
            // SAFETY: a call without memory.
            Ok(process) if unsafe { GetProcessId(process.as_raw()) } == id => Ok(Self::Process(process)),
            Ok(_) => Err(gone_error()),
            Err(error) if !is_gone(&error) => Err(error),
            // SAFETY: a call without memory.
            Err(_) => KernelHandle::new(unsafe { OpenThread(of_thread, 0, id) }).map(Self::Thread),
        }
    }

    /// Returns the process that it is, or belongs to.
    pub fn process_id(&self) -> u32 {
        match self {
            // SAFETY: a call without memory.
            Self::Process(process) => unsafe { GetProcessId(process.as_raw()) },
            // SAFETY: a call without memory.
            Self::Thread(thread) => unsafe { GetProcessIdOfThread(thread.as_raw()) },
        }
    }

    /// Returns its creation time, and true if it has ended.
    pub fn read_birth(&self) -> io::Result<ProcessBirth> {
        let [created, ended, ..] = self.read_times()?;
        Ok(ProcessBirth { start_ticks: created / HUNDREDS_OF_NS, has_ended: ended != 0 })
    }

    /// Returns creation and end since 1601, and time in the kernel and in user mode; in units of 100 ns.
    pub fn read_times(&self) -> io::Result<[u64; 4]> {
        let [mut created, mut ended, mut system, mut user] = [FILETIME::default(); 4];
        check_result(match self {
            // SAFETY: the kernel fills the four times.
            Self::Process(process) => unsafe {
                GetProcessTimes(process.as_raw(), &raw mut created, &raw mut ended, &raw mut system, &raw mut user)
            },
            // SAFETY: the kernel fills the four times.
            Self::Thread(thread) => unsafe {
                GetThreadTimes(thread.as_raw(), &raw mut created, &raw mut ended, &raw mut system, &raw mut user)
            },
        })?;
        Ok([created, ended, system, user].map(hundreds_of_ns))
    }

    /// Returns the cpus that it may use.
    pub fn read_mask(&self) -> io::Result<CpuSet> {
        match self {
            Self::Process(process) => mask_of_process(process),
            Self::Thread(thread) => mask_of_thread(thread),
        }
    }

    /// Restricts it to cpus. A process keeps the part in its processor group, a thread the part in its process's mask, as kernels of other
    /// systems cut masks. Threads with cpus of their own keep the part that the process keeps.
    pub fn restrict_to(&self, cpus: &CpuSet) -> io::Result<()> {
        match self {
            Self::Process(process) => restrict_process(process, cpus),
            Self::Thread(thread) => {
                let process = Self::to_look(self.process_id())?.read_mask()?;
                restrict_thread(thread, &cpus.intersection(&process))
            }
        }
    }
}

/// Returns the error of a number that is not in use.
pub fn gone_error() -> io::Error {
    io::Error::from_raw_os_error(ERROR_INVALID_PARAMETER as i32)
}

/// Returns true if an error of opening means that the number is not in use.
pub fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_INVALID_PARAMETER as i32)
}

/// Replaces the same error about cpus, which must not look as if the process were gone.
fn about_cpus(error: io::Error, cpus: &CpuSet) -> io::Error {
    if is_gone(&error) { io::Error::other(format!("Windows does not allow it cpus {cpus}")) } else { error }
}

/// Returns the processor groups of a process.
pub fn groups_of(process: &KernelHandle) -> Vec<u16> {
    let mut groups = [0; MOST_GROUPS];
    let mut count = MOST_GROUPS as u16;
    // SAFETY: the kernel writes at most as many groups as there is room for.
    let is_known = unsafe { GetProcessGroupAffinity(process.as_raw(), &raw mut count, groups.as_mut_ptr()) } != 0;
    if is_known { groups[..usize::from(count).min(MOST_GROUPS)].to_vec() } else { vec![0] }
}

/// Returns all cpus of groups.
pub fn all_of(groups: &[u16]) -> CpuSet {
    let whole: Vec<GroupMask> = groups.iter().map(|group| GroupMask { group: *group, bits: u64::MAX }).collect();
    NUMBERING.cpus_of_masks(&whole).0
}

/// Returns the mask of a process, which is valid in its one group; all cpus of its groups if it is in several.
pub fn mask_of_process(process: &KernelHandle) -> io::Result<CpuSet> {
    let (mut mask, mut of_system) = (0, 0);
    // SAFETY: the kernel fills both masks.
    check_result(unsafe { GetProcessAffinityMask(process.as_raw(), &raw mut mask, &raw mut of_system) })?;
    let groups = groups_of(process);
    Ok(match groups.as_slice() {
        [group] if mask != 0 => NUMBERING.cpus_of_masks(&[GroupMask { group: *group, bits: mask as u64 }]).0,
        groups => all_of(groups),
    })
}

fn restrict_process(process: &KernelHandle, cpus: &CpuSet) -> io::Result<()> {
    let groups = groups_of(process);
    let [group] = groups.as_slice() else {
        let why = "it has threads in several processor groups, and a mask of a process holds in one";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    };
    let Some(mask) = group_masks(cpus).into_iter().find(|mask| mask.group == *group) else {
        return Err(io::Error::other(format!("cpu {cpus} is offline, or not in processor group {group}, where it is")));
    };
    let before = mask_of_process(process)?;
    // SAFETY: a call without memory.
    let own = with_fewer_cpus(unsafe { GetProcessId(process.as_raw()) }, &before);
    // SAFETY: a call without memory.
    check_result(unsafe { SetProcessAffinityMask(process.as_raw(), mask.bits as usize) })
        .map_err(|error| about_cpus(error, cpus))?;
    let now = mask_of_process(process)?;
    for (thread, had) in own {
        let rest = had.intersection(&now);
        if let (false, Ok(OpenedTask::Thread(thread))) = (rest.is_empty() || rest == now, OpenedTask::to_place(thread))
        {
            let _ = restrict_thread(&thread, &rest);
        }
    }
    Ok(())
}

/// Returns the threads of a process that have fewer cpus than it has, with their cpus.
pub fn with_fewer_cpus(process: u32, cpus: &CpuSet) -> Vec<(u32, CpuSet)> {
    let threads = snapshot::list_threads().unwrap_or_default().into_iter().filter(|(owner, _)| *owner == process);
    let seen = threads.filter_map(|(_, thread)| Some((thread, OpenedTask::to_look(thread).ok()?.read_mask().ok()?)));
    seen.filter(|(_, mask)| mask != cpus && mask.is_subset(cpus)).collect()
}

/// Returns the cpus of a thread, which is in one group at a time.
pub fn mask_of_thread(thread: &KernelHandle) -> io::Result<CpuSet> {
    let mut affinity = GROUP_AFFINITY::default();
    // SAFETY: the kernel fills the structure.
    check_result(unsafe { GetThreadGroupAffinity(thread.as_raw(), &raw mut affinity) })?;
    Ok(NUMBERING.cpus_of_masks(&[GroupMask { group: affinity.Group, bits: affinity.Mask as u64 }]).0)
}

/// Restricts a thread to cpus of one group.
pub fn restrict_thread(thread: &KernelHandle, cpus: &CpuSet) -> io::Result<()> {
    let GroupMask { group, bits } = one_mask(cpus)?;
    let affinity = GROUP_AFFINITY { Mask: bits as usize, Group: group, Reserved: [0; 3] };
    // SAFETY: the kernel reads the structure, which outlives the call.
    check_result(unsafe { SetThreadGroupAffinity(thread.as_raw(), &raw const affinity, std::ptr::null_mut()) })
        .map_err(|error| about_cpus(error, cpus))
}

/// Returns the mask of a set with all active cpus in one group.
pub fn one_mask(cpus: &CpuSet) -> io::Result<GroupMask> {
    match group_masks(cpus).as_slice() {
        [mask] => Ok(*mask),
        [] => Err(io::Error::other(format!("cpu {cpus} is offline, or not allowed for this process"))),
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("cpus {cpus} are in several processor groups, and a mask holds in one"),
        )),
    }
}
