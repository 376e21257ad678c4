//! Handles of kernel objects, closed on drop, and results of calls.

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::process::Child;
use std::time::Duration;

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// A kernel object.
#[derive(Debug)]
pub struct KernelHandle {
    raw: HANDLE,
    is_owned: bool,
}

// SAFETY: kernel handles are valid in the whole process, for all of its threads.
unsafe impl Send for KernelHandle {}
// SAFETY: as above.
unsafe impl Sync for KernelHandle {}

impl KernelHandle {
    /// Returns the handle of a child, valid until the child is dropped.
    pub fn of_child(child: &Child) -> Self {
        Self::from_constant(child.as_raw_handle())
    }

    /// Returns true if a process ends within a time.
    pub fn has_ended(&self, wait: Duration) -> bool {
        let milliseconds = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX).min(u32::MAX - 1);
        // SAFETY: a call without memory, for a handle that is open.
        unsafe { WaitForSingleObject(self.raw, milliseconds) == 0 }
    }

    /// Wraps the result of a call that makes or opens an object.
    ///
    /// # Errors
    /// The call's error, if it failed.
    pub fn new(raw: HANDLE) -> io::Result<Self> {
        if raw.is_null() || raw == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { raw, is_owned: true })
    }

    /// Wraps a constant that stands for an object and is not closed.
    pub const fn from_constant(raw: HANDLE) -> Self {
        Self { raw, is_owned: false }
    }

    pub const fn as_raw(&self) -> HANDLE {
        self.raw
    }
}

impl Drop for KernelHandle {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: the handle belongs to this value only.
            unsafe { CloseHandle(self.raw) };
        }
    }
}

/// Returns the error of a call that returned zero.
pub fn check_result(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
