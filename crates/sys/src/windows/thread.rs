//! The operating system's counts for the calling thread and for this process.

use std::io;
use std::time::{Duration, Instant};

use corewise_machine::thread::ThreadUse;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetCurrentThreadId, GetProcessTimes, GetThreadTimes,
};

use super::handle::check_result;
pub use crate::values::thread::{SwitchCounts, ThreadGlance};

pub const IS_ACCOUNTED: bool = false;

/// A thread's counters at one moment. The kernel counts in its ticks of 1 to 16 ms, and does not count switches.
#[derive(Clone, Copy, Debug)]
pub struct ThreadMoment {
    at: Instant,
    user: Duration,
    system: Duration,
}

impl ThreadMoment {
    pub fn read_now() -> io::Result<Self> {
        // SAFETY: it returns a constant for the calling thread, which needs no closing.
        let thread = unsafe { GetCurrentThread() };
        let times = |created: *mut _, ended: *mut _, system: *mut _, user: *mut _| {
            // SAFETY: the kernel fills the four times.
            unsafe { GetThreadTimes(thread, created, ended, system, user) }
        };
        let (system, user) = used_times(times)?;
        Ok(Self { at: Instant::now(), user, system })
    }

    pub fn use_since(&self, earlier: &Self) -> ThreadUse {
        let elapsed = self.at.saturating_duration_since(earlier.at);
        let user = self.user.saturating_sub(earlier.user);
        let system = self.system.saturating_sub(earlier.system);
        ThreadUse {
            user_s: user.as_secs_f64(),
            system_s: system.as_secs_f64(),
            off_cpu_s: elapsed.saturating_sub(user + system).as_secs_f64(),
            voluntary_switches: 0,
            involuntary_switches: 0,
        }
    }
}

impl ThreadGlance {
    pub fn read_now() -> Self {
        let cpu_time = ThreadMoment::read_now().map_or(Duration::ZERO, |moment| moment.user + moment.system);
        Self { cpu_time_ns: cpu_time.as_nanos() as u64, ..Self::default() }
    }
}

impl SwitchCounts {
    pub fn read_now() -> Self {
        Self::default()
    }
}

/// Returns the system and user time of a call that fills four times.
pub(super) fn used_times(
    times: impl Fn(*mut FILETIME, *mut FILETIME, *mut FILETIME, *mut FILETIME) -> i32,
) -> io::Result<(Duration, Duration)> {
    let mut filled = [FILETIME::default(); 4];
    let [created, ended, system, user] = &mut filled;
    check_result(times(created, ended, system, user))?;
    Ok((filetime_duration(filled[2]), filetime_duration(filled[3])))
}

/// Converts a time to units of 100 ns.
pub(super) fn hundreds_of_ns(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

fn filetime_duration(time: FILETIME) -> Duration {
    Duration::from_nanos(hundreds_of_ns(time).saturating_mul(100))
}

pub fn own_number() -> u32 {
    // SAFETY: a call without memory.
    unsafe { GetCurrentThreadId() }
}

/// Returns 0. The cheapest call on Windows does not enter the kernel.
pub fn parent_number() -> u32 {
    0
}

pub fn monotonic_raw_ns() -> u64 {
    monotonic_ns()
}

#[inline]
pub fn monotonic_ns() -> u64 {
    let (mut count, mut frequency) = (0_i64, 0_i64);
    // SAFETY: the calls fill the numbers, and cannot fail since Windows XP.
    unsafe {
        QueryPerformanceCounter(&raw mut count);
        QueryPerformanceFrequency(&raw mut frequency);
    }
    (count as u128 * 1_000_000_000 / frequency.max(1) as u128) as u64
}

pub fn process_cpu_time() -> io::Result<Duration> {
    // SAFETY: it returns a constant for this process, which needs no closing.
    let process = unsafe { GetCurrentProcess() };
    let times = |created: *mut _, ended: *mut _, system: *mut _, user: *mut _| {
        // SAFETY: the kernel fills the four times.
        unsafe { GetProcessTimes(process, created, ended, system, user) }
    };
    used_times(times).map(|(system, user)| system + user)
}
