//! A file's words in memory that several processes share.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A mapped file (mmap(2), MAP_SHARED); it stays mapped when the file is closed or removed.
#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory is only accessed as atomics.
unsafe impl Send for SharedWords {}
// SAFETY: the memory is only accessed as atomics.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps `words` words of a file that is at least as long. A mapping for reading faults if words are stored, or the file is cut.
    ///
    /// # Errors
    /// If the file is shorter; errors of the kernel.
    pub fn of_file(file: &File, words: usize, writes: bool) -> io::Result<Self> {
        let bytes = words * size_of::<AtomicU64>();
        if words == 0 || file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::other("the file is too short"));
        }
        let access = if writes { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address chosen by the kernel; no existing memory is affected.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("memory at address zero"))?;
        Ok(Self { start, words })
    }

    /// Returns the words. A plain load of 64 bits neither tears nor writes on the supported machines.
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: `self.words` words are mapped while this value lives, and accessed only as atomics.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * size_of::<AtomicU64>()) };
    }
}
