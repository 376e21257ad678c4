//! Which process is meant: its number, and when it was made.

use std::io;

use corewise_model::CpuSet;
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME};
use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;
use windows_sys::Win32::System::Threading::{GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION};

use super::handle::{Handle, checked};
use super::missing::{answers, missing};
use super::thread::hundreds_of_ns;
use super::{affinity, snapshot, task};
pub use crate::values::process::{Process, Stat};

/// Times of processes count in 1/100 s, as those of other systems do, from 1601 on.
pub(super) const HUNDREDS_OF_NS: u64 = 100_000;

impl Stat {
    pub fn of(id: u32) -> io::Result<Option<Self>> {
        let Some(entry) = snapshot::processes()?.into_iter().find(|entry| entry.id == id) else { return Ok(None) };
        let times = Times::of(id)?;
        Ok(Some(Self {
            name: entry.name,
            has_ended: times.has_ended,
            parent: entry.parent,
            session: 0,
            has_terminal: false,
            start_ticks: times.start_ticks,
        }))
    }
}

/// When a process was made, and whether it has ended.
struct Times {
    start_ticks: u64,
    has_ended: bool,
}

impl Times {
    fn of(id: u32) -> io::Result<Self> {
        // SAFETY: a call without memory.
        let process = Handle::new(unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, id) })?;
        let [mut created, mut ended, mut system, mut user] = [FILETIME::default(); 4];
        // SAFETY: the kernel fills the four times.
        checked(unsafe {
            GetProcessTimes(process.raw(), &raw mut created, &raw mut ended, &raw mut system, &raw mut user)
        })?;
        Ok(Self { start_ticks: hundreds_of_ns(created) / HUNDREDS_OF_NS, has_ended: hundreds_of_ns(ended) != 0 })
    }
}

/// When a process was made; nothing where there is none, or it may not be looked at.
pub(super) fn start_ticks_of(id: u32) -> Option<u64> {
    Times::of(id).ok().map(|times| times.start_ticks)
}

impl Process {
    pub fn this() -> io::Result<Self> {
        let id = std::process::id();
        Times::of(id).map(|times| Self { id, start_ticks: times.start_ticks })
    }

    pub fn is_alive(&self) -> bool {
        Times::of(self.id).is_ok_and(|times| !times.has_ended && times.start_ticks == self.start_ticks)
    }

    pub fn restrict(&self, cpus: &CpuSet) -> io::Result<CpuSet> {
        if task::thread(0, self.id).is_none_or(|thread| thread != *self) {
            return Err(io::Error::from_raw_os_error(ERROR_INVALID_PARAMETER as i32));
        }
        affinity::set(self.id, cpus)?;
        affinity::of(self.id)
    }
}

pub fn ticks_since_boot() -> u64 {
    let mut now = FILETIME::default();
    // SAFETY: the call fills the time.
    unsafe { GetSystemTimeAsFileTime(&raw mut now) };
    hundreds_of_ns(now) / HUNDREDS_OF_NS
}

pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

pub fn is_descendant_of(process: u32) -> bool {
    let processes = snapshot::processes().unwrap_or_default();
    let parent =
        |id: &u32| processes.iter().find(|entry| entry.id == *id).map(|entry| entry.parent).filter(|id| *id > 0);
    // Numbers are given again, so that parents may make a circle.
    std::iter::successors(Some(std::process::id()), parent).skip(1).take(processes.len()).any(|id| id == process)
}

answers! {
    fn process_of(u32) -> io::Result<Option<u32>> = missing();
    fn boot_id() -> io::Result<String> = missing();
    fn number_space() -> String = String::new();
    fn sees_all_numbers() -> bool = true;
    fn is_root() -> bool = false;
    fn effective_user() -> u32 = 0;
    fn others_called(&str) -> Vec<(u32, u32)> = Vec::new();
}
