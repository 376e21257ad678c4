//! Which process is meant: its number, and when it was made.

use std::io;

use corewise_model::CpuSet;
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME};
use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;

use super::births::{Birth, HUNDREDS_OF_NS};
use super::missing::{answers, missing};
use super::thread::hundreds_of_ns;
use super::{affinity, snapshot};
pub use crate::values::process::{Process, Stat};

impl Stat {
    pub fn of(id: u32) -> io::Result<Option<Self>> {
        let Some(entry) = snapshot::processes()?.into_iter().find(|entry| entry.id == id) else { return Ok(None) };
        let birth = Birth::of_process(id)?;
        Ok(Some(Self {
            name: entry.name,
            has_ended: birth.has_ended,
            parent: entry.parent,
            session: 0,
            has_terminal: false,
            start_ticks: birth.start_ticks,
        }))
    }
}

impl Process {
    pub fn this() -> io::Result<Self> {
        let id = std::process::id();
        Birth::of_process(id).map(|birth| Self { id, start_ticks: birth.start_ticks })
    }

    pub fn is_alive(&self) -> bool {
        Birth::of_process(self.id).is_ok_and(|birth| !birth.has_ended && birth.start_ticks == self.start_ticks)
    }

    pub fn restrict(&self, cpus: &CpuSet) -> io::Result<CpuSet> {
        if !Birth::of_thread(self.id).is_ok_and(|birth| birth.start_ticks == self.start_ticks) {
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
    fn number_space_id() -> u64 = 0;
    fn sees_all_numbers() -> bool = true;
    fn reads_own_numbers() -> bool = true;
    fn is_root() -> bool = false;
    fn effective_user() -> u32 = 0;
    fn others_called(&str) -> Vec<(u32, u32)> = Vec::new();
}
