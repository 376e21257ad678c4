//! All processes, and facts about each.

use std::io;
use std::os::windows::ffi::OsStringExt as _;

use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessCommandLineInformation};
use windows_sys::Win32::Foundation::{LocalFree, UNICODE_STRING};
use windows_sys::Win32::UI::Shell::CommandLineToArgvW;

use super::handle::KernelHandle;
use super::opened_task::{OpenedTask, ProcessBirth, is_gone};
use super::process::{self, ProcessIdentity};
use super::{snapshot, task, users};
pub use crate::values::processes::{ExecutableFile, ProcessFacts, ThreadFacts};

/// Maximum size of a command line: at most 32,767 units, after the structure that points to it.
const LONGEST_COMMAND_LINE_BYTES: usize = (32 << 10) * 2 + size_of::<UNICODE_STRING>();

pub const HAVE_CONTROL_GROUPS: bool = false;

/// Returns the numbers of all processes.
pub fn all_processes() -> Vec<u32> {
    snapshot::list_processes().unwrap_or_default().into_iter().map(|entry| entry.id).collect()
}

impl ProcessFacts {
    /// Reads the facts about a process. Fails for other users' processes, except for administrators.
    pub fn read_facts(id: u32) -> io::Result<Option<Self>> {
        let opened = match OpenedTask::to_look(id) {
            Err(error) if is_gone(&error) => return Ok(None),
            other => other?,
        };
        let birth = opened.read_birth()?;
        match &opened {
            OpenedTask::Process(process) if !birth.has_ended => build_facts(id, birth, process).map(Some),
            _ => Ok(None),
        }
    }

    /// As [`Self::read_facts`]: here the arguments cost little.
    pub fn read_without_arguments(id: u32) -> io::Result<Option<Self>> {
        Self::read_facts(id)
    }
}

impl ExecutableFile {
    /// Returns true for a file: a path means the same file for all processes.
    pub fn is_at_its_path(&self) -> bool {
        matches!(self, Self::File { .. })
    }
}

fn build_facts(id: u32, birth: ProcessBirth, process: &KernelHandle) -> io::Result<ProcessFacts> {
    let executable = process::executable_path(process);
    let name = executable.as_ref().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let user = users::number_of(&users::of_process(process)?);
    Ok(ProcessFacts {
        process: ProcessIdentity { id, start_ticks: birth.start_ticks },
        parent: process::parent_of(process, birth.start_ticks),
        name: name.unwrap_or_default(),
        executable: match executable {
            Ok(path) => ExecutableFile::File { path, device: 0, inode: 0 },
            // The process System, which belongs to the kernel.
            Err(_) if id <= task::SYSTEM => ExecutableFile::Kernel,
            Err(error) => ExecutableFile::Unreadable(error.to_string()),
        },
        arguments: command_line(process).map_or_else(Vec::new, |line| command_words(&line)),
        user,
        real_user: user,
        cgroup: String::new(),
        unit: None,
        user_unit: None,
        session: 0,
        has_terminal: false,
    })
}

/// Returns the command line of a process, with its zero; `None` if this version does not report it.
fn command_line(process: &KernelHandle) -> Option<Vec<u16>> {
    let mut words = vec![0_u64; LONGEST_COMMAND_LINE_BYTES.div_ceil(8)];
    let mut length = 0;
    // SAFETY: the kernel writes at most as many bytes as the words have.
    let status = unsafe {
        NtQueryInformationProcess(
            process.as_raw(),
            ProcessCommandLineInformation,
            words.as_mut_ptr().cast(),
            size_of_val(words.as_slice()) as u32,
            &raw mut length,
        )
    };
    if status != 0 {
        return None;
    }
    // SAFETY: the kernel filled the structure, which begins the words and is aligned as they are.
    let text = unsafe { words.as_ptr().cast::<UNICODE_STRING>().read() };
    let place = (text.Buffer as usize).checked_sub(words.as_ptr() as usize)?;
    if place % 2 != 0 || place + usize::from(text.Length) > size_of_val(words.as_slice()) {
        return None;
    }
    // SAFETY: the text lies within the words, as just checked, and is aligned.
    let units = unsafe { std::slice::from_raw_parts(text.Buffer, usize::from(text.Length) / 2) };
    Some(units.iter().copied().chain([0]).collect())
}

/// Splits a command line into arguments, as most programs do.
fn command_words(line: &[u16]) -> Vec<String> {
    // For an empty line the call would return the name of this program.
    if line.iter().all(|unit| *unit == 0) {
        return Vec::new();
    }
    let mut count = 0;
    // SAFETY: the line ends with a zero.
    let list = unsafe { CommandLineToArgvW(line.as_ptr(), &raw mut count) };
    if list.is_null() {
        return Vec::new();
    }
    let word = |index: usize| {
        // SAFETY: the list has `count` texts, and each ends with a zero.
        let units = unsafe {
            let text = *list.add(index);
            let length = (0..).take_while(|place| *text.add(*place) != 0).count();
            std::slice::from_raw_parts(text, length)
        };
        std::ffi::OsString::from_wide(units).to_string_lossy().into_owned()
    };
    let words = (0..usize::try_from(count).unwrap_or(0)).map(word).collect();
    // SAFETY: the list was allocated by the call, and is no longer used.
    unsafe { LocalFree(list.cast()) };
    words
}

/// Returns the process itself: its threads have its mask, and those with fewer cpus of their own keep them. It has the
/// process's name.
pub fn process_threads(process: u32) -> Vec<ThreadFacts> {
    let seen = |id: u32| {
        let opened = OpenedTask::to_look(id).ok()?;
        let birth = opened.read_birth().ok().filter(|birth| !birth.has_ended)?;
        let identity = ProcessIdentity { id, start_ticks: birth.start_ticks };
        let name = process::ProcessStat::read_stat(id).ok()??.name;
        Some(ThreadFacts { identity, name, cpus: opened.read_mask().ok()? })
    };
    seen(process).into_iter().collect()
}

/// Returns true if a user is one of the system's services.
pub fn is_system_user(user: u32) -> bool {
    users::is_service(user)
}

/// Returns the name of a user, by the user's number in this process.
pub fn user_name(user: u32) -> Option<String> {
    users::name_of(user)
}
