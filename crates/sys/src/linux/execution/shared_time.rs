//! The clock of a run, and a point in time that a child passes to its parent.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Returns the time since the system started: clock_gettime(2), CLOCK_MONOTONIC.
pub fn monotonic_now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the time; the clock exists everywhere.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A point in time that a child passes on, in a page of memory shared by both.
pub struct SharedTime {
    nanoseconds: *mut AtomicU64,
}

impl SharedTime {
    pub fn new() -> io::Result<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping of the kernel's choice.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<AtomicU64>(), access, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { nanoseconds: page.cast() })
    }

    pub fn time_writer(&self) -> TimeWriter {
        TimeWriter(self.nanoseconds)
    }

    pub fn read_time(&self) -> Duration {
        // SAFETY: the page is mapped while this lives, aligned, and zero at first, which is a valid value.
        Duration::from_nanos(unsafe { &*self.nanoseconds }.load(Ordering::SeqCst))
    }
}

impl Drop for SharedTime {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size; the writer is the child's, which has its own mapping.
        unsafe { libc::munmap(self.nanoseconds.cast(), size_of::<AtomicU64>()) };
    }
}

/// The child's end of a shared time.
#[derive(Clone, Copy)]
pub struct TimeWriter(*mut AtomicU64);

// SAFETY: it is used only after fork(2), in the child, which never unmaps its mapping.
unsafe impl Send for TimeWriter {}
// SAFETY: as above; the value is atomic.
unsafe impl Sync for TimeWriter {}

impl TimeWriter {
    /// Stores the time now. Safe to call between fork(2) and execve(2).
    pub fn write_now(self) {
        let nanoseconds = u64::try_from(monotonic_now().as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: as in [`SharedTime::read_time`].
        unsafe { &*self.0 }.store(nanoseconds, Ordering::SeqCst);
    }
}
