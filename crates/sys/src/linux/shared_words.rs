//! A file's words in memory that several processes share.

use std::fs::File;
use std::io::{self, Write as _};
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
    /// Maps `words` words of a file that is at least as long; for writing, the file first gets this length and the space for it. A mapping
    /// for reading faults if words are stored, or the file is cut.
    ///
    /// # Errors
    /// If the file is shorter, or there is no space for it; errors of the kernel.
    pub fn of_file(file: &File, words: usize, writes: bool) -> io::Result<Self> {
        let bytes = words * size_of::<AtomicU64>();
        if writes {
            allocate_space(file, bytes)?;
        }
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

/// Gives the beginning of a file its space on the disk: fallocate(2). Storing into a mapped page without space is SIGBUS once the disk is
/// full.
fn allocate_space(mut file: &File, bytes: usize) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: a call without memory.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() != Some(libc::EOPNOTSUPP) => Err(error),
        _ if file.metadata()?.len() > 0 => {
            Err(io::Error::other("it has content, and its file system allocates no space"))
        }
        _ => file.write_all(&vec![0; bytes]),
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * size_of::<AtomicU64>()) };
    }
}
