//! A file's words in memory that several processes share.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A file that is mapped (mmap(2), MAP_SHARED); the file stays mapped when it is closed or removed.
#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory is only ever seen as atomics.
unsafe impl Send for SharedWords {}
// SAFETY: the memory is only ever seen as atomics.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps so many words of a file that has them. Who maps it to read gets a fault if words are stored, or the file is cut.
    ///
    /// # Errors
    /// Where the file is shorter, and what the kernel says.
    pub fn of_file(file: &File, words: usize, writes: bool) -> io::Result<Self> {
        let bytes = words * size_of::<AtomicU64>();
        if words == 0 || file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::other("the file is too short"));
        }
        let access = if writes { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address of the kernel's choice; no existing memory is affected.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("memory at address zero"))?;
        Ok(Self { start, words })
    }

    /// The words. A plain load of 64 bits neither tears nor writes on the machines that corewise runs on.
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: so many words are mapped for as long as this value lives, and seen as atomics alone.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's alone, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * size_of::<AtomicU64>()) };
    }
}
