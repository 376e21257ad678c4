//! Identity of processes and threads: number and creation time.

use std::io;
use std::path::PathBuf;

use corewise_machine::CpuSet;
use windows_sys::Wdk::System::SystemInformation::{NtQuerySystemInformation, SystemTimeOfDayInformation};
use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessBasicInformation};
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;
use windows_sys::Win32::System::Threading::{
    PROCESS_BASIC_INFORMATION, PROCESS_NAME_WIN32, QueryFullProcessImageNameW,
};

use super::handle::{KernelHandle, check_result};
use super::missing::answers;
use super::opened_task::{HUNDREDS_OF_NS, OpenedTask, ProcessBirth, gone_error, is_gone};
use super::snapshot;
use super::text::from_wide;
use super::thread::hundreds_of_ns;
use super::users;
pub use crate::values::process::{ProcessIdentity, ProcessStat};

/// Maximum length of a path in UTF-16 units, with its zero.
const LONGEST_PATH: usize = 32_768;

impl ProcessStat {
    /// Reads the state; a thread has its process's name.
    pub fn read_stat(id: u32) -> io::Result<Option<Self>> {
        match OpenedTask::to_look(id).and_then(|opened| stat_of_opened(&opened)) {
            Err(error) if is_gone(&error) => Ok(None),
            other => other.map(Some),
        }
    }
}

fn stat_of_opened(opened: &OpenedTask) -> io::Result<ProcessStat> {
    let birth = opened.read_birth()?;
    let owner;
    let process = match opened {
        OpenedTask::Process(process) => process,
        OpenedTask::Thread(_) => {
            owner = OpenedTask::to_look(opened.process_id())?;
            let OpenedTask::Process(process) = &owner else { return Err(gone_error()) };
            process
        }
    };
    let name = executable_path(process).ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    Ok(ProcessStat {
        name: name.unwrap_or_default(),
        has_ended: birth.has_ended,
        parent: parent_of(process, birth.start_ticks),
        session: 0,
        has_terminal: false,
        start_ticks: birth.start_ticks,
    })
}

/// Returns the file that a process executes, with `/` between folders, so that patterns of rules need not write each `\` twice.
pub(super) fn executable_path(process: &KernelHandle) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; LONGEST_PATH];
    let mut length = path.len() as u32;
    // SAFETY: the kernel writes at most `length` units into the buffer.
    let call =
        unsafe { QueryFullProcessImageNameW(process.as_raw(), PROCESS_NAME_WIN32, path.as_mut_ptr(), &raw mut length) };
    check_result(call)?;
    Ok(from_wide(&path).replace('\\', "/").into())
}

/// Returns the parent of a process started at `start_ticks`; 0 if the parent has ended: a process that reuses its number is younger.
pub(super) fn parent_of(process: &KernelHandle, start_ticks: u64) -> u32 {
    let mut basic = PROCESS_BASIC_INFORMATION::default();
    let mut length = 0;
    // SAFETY: the kernel fills the structure of this class, and is given its size.
    let status = unsafe {
        NtQueryInformationProcess(
            process.as_raw(),
            ProcessBasicInformation,
            (&raw mut basic).cast(),
            size_of_val(&basic) as u32,
            &raw mut length,
        )
    };
    let parent = if status == 0 { basic.InheritedFromUniqueProcessId as u32 } else { 0 };
    let is_older = |birth: ProcessBirth| birth.start_ticks <= start_ticks;
    if parent > 0 && ProcessBirth::read_birth(parent).is_ok_and(is_older) { parent } else { 0 }
}

impl ProcessIdentity {
    pub fn this_process() -> io::Result<Self> {
        let id = std::process::id();
        ProcessBirth::read_birth(id).map(|birth| Self { id, start_ticks: birth.start_ticks })
    }

    pub fn find_task(id: u32) -> io::Result<Self> {
        let birth = ProcessBirth::read_birth(id)?;
        if birth.has_ended { Err(gone_error()) } else { Ok(Self { id, start_ticks: birth.start_ticks }) }
    }

    pub fn is_alive(&self) -> bool {
        ProcessBirth::read_birth(self.id).is_ok_and(|birth| self.is_it(birth))
    }

    fn is_it(&self, birth: ProcessBirth) -> bool {
        !birth.has_ended && birth.start_ticks == self.start_ticks
    }

    pub fn restrict_thread(&self, cpus: &CpuSet) -> io::Result<CpuSet> {
        self.restrict_in_turn(&[cpus])
    }

    /// Restricts it. It stays open from the check of its identity to the last change, so all are of the same one.
    pub fn restrict_in_turn(&self, steps: &[&CpuSet]) -> io::Result<CpuSet> {
        let opened = OpenedTask::to_place(self.id)?;
        if !self.is_it(opened.read_birth()?) {
            return Err(gone_error());
        }
        let restricted = steps.iter().try_for_each(|cpus| opened.restrict_to(cpus));
        match restricted.and_then(|()| opened.read_mask()) {
            Err(_) if !self.is_it(opened.read_birth()?) => Err(gone_error()),
            other => other,
        }
    }
}

/// Returns the process of a thread; the number itself for a process.
pub fn process_of(id: u32) -> io::Result<Option<u32>> {
    match OpenedTask::to_look(id) {
        Err(error) if is_gone(&error) => Ok(None),
        opened => opened.map(|opened| Some(opened.process_id())),
    }
}

/// Returns the present time in the unit of processes' creation times.
#[cfg_attr(not(feature = "changes"), allow(dead_code, reason = "a change says when it was made"))]
pub fn ticks_since_boot() -> u64 {
    let mut now = FILETIME::default();
    // SAFETY: the call fills the time.
    unsafe { GetSystemTimeAsFileTime(&raw mut now) };
    hundreds_of_ns(now) / HUNDREDS_OF_NS
}

/// Identifies the boot by its start time on the clock of that time: setting the clock later moves both the time of the boot and its
/// correction. SYSTEM_TIMEOFDAY_INFORMATION: BootTime, CurrentTime, TimeZoneBias, two numbers of 32 bits, BootTimeBias, SleepTimeBias.
pub fn boot_id() -> io::Result<String> {
    let mut times = [0_u64; 6];
    let mut length = 0;
    // SAFETY: the kernel writes at most as many bytes as the numbers have.
    let status = unsafe {
        NtQuerySystemInformation(
            SystemTimeOfDayInformation,
            times.as_mut_ptr().cast(),
            size_of_val(&times) as u32,
            &raw mut length,
        )
    };
    let [boot, _, _, _, correction, _] = times;
    if status != 0 || boot == 0 {
        return Err(io::Error::other("Windows does not say when it began"));
    }
    Ok(format!("{:x}", boot.wrapping_sub(correction)))
}

pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns `None`: machines of one model are not distinguished here yet.
pub fn host_hash() -> Option<String> {
    None
}

pub fn is_descendant_of(process: u32) -> bool {
    let processes = snapshot::list_processes().unwrap_or_default();
    let parent =
        |id: &u32| processes.iter().find(|entry| entry.id == *id).map(|entry| entry.parent).filter(|id| *id > 0);
    // Numbers are reused, so parents may form a cycle.
    std::iter::successors(Some(std::process::id()), parent).skip(1).take(processes.len()).any(|id| id == process)
}

/// Returns the user of this process, by the user's number in it.
pub fn effective_user() -> u32 {
    users::own_user().map_or(0, users::number_of)
}

answers! {
    fn number_space() -> String = String::new();
    fn number_space_id() -> u64 = 0;
    fn sees_all_numbers() -> bool = true;
    fn reads_own_numbers() -> bool = true;
    fn is_root() -> bool = false;
    fn others_called(&str) -> Vec<(u32, u32)> = Vec::new();
}
