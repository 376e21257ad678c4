//! Sleeping until a word changes, and waking the sleepers, within one process: WaitOnAddress.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windows_sys::Win32::Foundation::ERROR_TIMEOUT;
use windows_sys::Win32::System::Threading::{WaitOnAddress, WakeByAddressSingle};

pub use crate::values::thread::WaitEnd;

pub fn wait_on_word(word: &AtomicU32, expected: u32, timeout: Duration) -> io::Result<WaitEnd> {
    if word.load(Ordering::Relaxed) != expected {
        return Ok(WaitEnd::Changed);
    }
    // The largest number would mean to wait forever.
    let milliseconds = u32::try_from(timeout.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX).min(u32::MAX - 1);
    // SAFETY: the kernel reads four bytes of both, which outlive the call.
    let result =
        unsafe { WaitOnAddress(word.as_ptr().cast(), (&raw const expected).cast(), size_of::<u32>(), milliseconds) };
    if result != 0 {
        return Ok(WaitEnd::Woken);
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(ERROR_TIMEOUT as i32) { Ok(WaitEnd::TimedOut) } else { Err(error) }
}

/// Wakes one thread. Windows does not report if there was one: always true, so that the caller does not wait for a thread that was woken.
pub fn wake_one(word: &AtomicU32) -> bool {
    // SAFETY: the address is not accessed, only compared.
    unsafe { WakeByAddressSingle(word.as_ptr().cast()) };
    true
}
