//! A fresh page of memory whose cache lines two threads can talk over.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// The bytes of a page used here; real pages may be larger.
const PAGE_BYTES: usize = 4096;
/// The distance of two lines: the line size of every x86-64 and most arm64 processors. On processors with longer lines
/// neighbouring indices share one, which does no harm while one index is used at a time.
const LINE_BYTES: usize = 64;

/// An anonymous page, fresh from the kernel, that nobody has used before; given back on drop.
///
/// The kernel places it on the memory node of the cpu that first touches it, so touch it from the thread that should
/// own it: [`Page::new`] does.
#[derive(Debug)]
pub struct Page {
    start: NonNull<u8>,
}

// SAFETY: the page is only ever seen as atomics.
unsafe impl Send for Page {}
// SAFETY: the page is only ever seen as atomics.
unsafe impl Sync for Page {}

impl Page {
    /// How many lines a page has.
    pub const LINES: usize = PAGE_BYTES / LINE_BYTES;

    /// Maps a page and touches it from the calling thread.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a new private mapping at an address of the kernel's choice; no existing memory is affected.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("a page at address zero"))?;
        let page = Self { start };
        for line in 0..Self::LINES {
            page.line(line).store(0, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(page)
    }

    /// The first word of a line.
    ///
    /// # Panics
    /// When the index is not below [`Page::LINES`].
    pub fn line(&self, index: usize) -> &AtomicU64 {
        assert!(index < Self::LINES, "line {index} of a page with {} lines", Self::LINES);
        // SAFETY: inside the mapping, aligned to 64 bytes, zeroed by the kernel, alive as long as `self`, and never seen as
        // anything but an atomic.
        unsafe { &*self.start.as_ptr().add(index * LINE_BYTES).cast::<AtomicU64>() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made; references to its lines borrow `self` and are gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), PAGE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn lines_are_apart_and_zero() {
        let page = Page::new().unwrap();
        page.line(0).store(u64::MAX, Ordering::Relaxed);
        assert_eq!(page.line(1).load(Ordering::Relaxed), 0);
        let distance = std::ptr::from_ref(page.line(1)) as usize - std::ptr::from_ref(page.line(0)) as usize;
        assert_eq!(distance, LINE_BYTES);
    }
}
