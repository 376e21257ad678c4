//! When processes and threads were made, which tells those of one number apart, and whether they have ended.

use std::io;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, GetThreadTimes, OpenProcess, OpenThread, PROCESS_QUERY_LIMITED_INFORMATION,
    THREAD_QUERY_LIMITED_INFORMATION,
};

use super::handle::{Handle, checked};
use super::thread::hundreds_of_ns;

/// Times count in 1/100 s, as those of other systems do, from 1601 on.
pub const HUNDREDS_OF_NS: u64 = 100_000;

/// When something was made, and whether it has ended.
#[derive(Clone, Copy, Debug)]
pub struct Birth {
    pub start_ticks: u64,
    pub has_ended: bool,
}

impl Birth {
    pub fn of_process(id: u32) -> io::Result<Self> {
        // SAFETY: a call without memory.
        let process = Handle::new(unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, id) })?;
        Self::by(|created, ended, system, user| {
            // SAFETY: the kernel fills the four times.
            unsafe { GetProcessTimes(process.raw(), created, ended, system, user) }
        })
    }

    pub fn of_thread(id: u32) -> io::Result<Self> {
        // SAFETY: a call without memory.
        let thread = Handle::new(unsafe { OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, id) })?;
        Self::by(|created, ended, system, user| {
            // SAFETY: the kernel fills the four times.
            unsafe { GetThreadTimes(thread.raw(), created, ended, system, user) }
        })
    }

    fn by(times: impl Fn(*mut FILETIME, *mut FILETIME, *mut FILETIME, *mut FILETIME) -> i32) -> io::Result<Self> {
        let [mut created, mut ended, mut system, mut user] = [FILETIME::default(); 4];
        checked(times(&raw mut created, &raw mut ended, &raw mut system, &raw mut user))?;
        Ok(Self { start_ticks: hundreds_of_ns(created) / HUNDREDS_OF_NS, has_ended: hundreds_of_ns(ended) != 0 })
    }
}
