//! Handles of the kernel's objects, closed when they are dropped, and what calls return.

use std::io;

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, INVALID_HANDLE_VALUE};

/// An object of the kernel's.
#[derive(Debug)]
pub struct Handle {
    raw: HANDLE,
    is_owned: bool,
}

// SAFETY: the kernel's handles hold in the whole process, for all of its threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// What a call returned that makes or opens an object.
    ///
    /// # Errors
    /// That of the call, where it returned none.
    pub fn new(raw: HANDLE) -> io::Result<Self> {
        if raw.is_null() || raw == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { raw, is_owned: true })
    }

    /// A constant that stands for an object and is not closed.
    pub const fn constant(raw: HANDLE) -> Self {
        Self { raw, is_owned: false }
    }

    pub const fn raw(&self) -> HANDLE {
        self.raw
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: the handle is this value's alone.
            unsafe { CloseHandle(self.raw) };
        }
    }
}

/// The error of a call that returned zero.
pub fn checked(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
