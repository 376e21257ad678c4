//! Fresh memory that two threads can talk over, on a node that is known.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::memory_policy;
pub use crate::values::memory::{LINE_BYTES, Word};

/// The bytes of the smallest page; real pages may be larger.
const PAGE_BYTES: usize = 4096;
/// Anonymous memory of whole pages, fresh from the kernel, that nobody has used before and that is all zero; given back on drop.
#[derive(Debug)]
pub struct Memory<W: Word = AtomicU64> {
    start: NonNull<W>,
    bytes: usize,
}

// SAFETY: the memory is only ever seen as atomics.
unsafe impl<W: Word> Send for Memory<W> {}
// SAFETY: the memory is only ever seen as atomics.
unsafe impl<W: Word> Sync for Memory<W> {}

impl<W: Word> Memory<W> {
    /// Maps at least so many bytes, rounded up to pages, and touches each page from the calling thread. The kernel places a page on
    /// the memory node of the cpu that touches it first, unless the thread's memory policy says otherwise, so call it from the thread
    /// that should own the memory.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let memory = Self::map(bytes)?;
        memory.touch();
        Ok(memory)
    }

    /// The same on one node, whatever thread calls: bound by mbind(2) before the first touch, and looked up afterwards.
    ///
    /// # Errors
    /// In words: the node is not there, has no memory, or is not allowed; binding is forbidden to this process or unknown to the
    /// kernel; the pages are elsewhere nevertheless.
    pub fn on_node(bytes: usize, node: u32) -> io::Result<Self> {
        let memory = Self::map(bytes)?;
        memory_policy::bind(memory.start.cast(), memory.bytes, node)?;
        memory.touch();
        match memory.home() {
            Some(home) if home == node => Ok(memory),
            Some(home) => Err(io::Error::other(format!("memory bound to node {node} is on node {home}"))),
            None => Err(io::Error::other(format!("it is unknown whether memory bound to node {node} is there"))),
        }
    }

    fn map(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES);
        // SAFETY: a new private mapping at an address of the kernel's choice; no existing memory is affected.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("memory at address zero"))?;
        Ok(Self { start, bytes })
    }

    /// Writes one word of each page: a page that was only read would be the kernel's page of zeros.
    fn touch(&self) {
        for page in (0..self.bytes).step_by(PAGE_BYTES) {
            // SAFETY: inside the mapping and aligned; nobody else has the address yet, and a word may be all zero.
            unsafe { self.start.cast::<u8>().add(page).cast::<u32>().write_volatile(0) };
        }
    }

    /// The node that the memory is on; absent where the first and the last page are on different ones, where the kernel has no NUMA,
    /// or where this process may not ask (get_mempolicy(2) is closed in many containers).
    pub fn home(&self) -> Option<u32> {
        let node = |offset: usize| {
            // SAFETY: inside the mapping.
            memory_policy::node_of(unsafe { self.start.cast::<u8>().add(offset) }).ok()
        };
        let (first, last) = (node(0)?, node(self.bytes - 1)?);
        (first == last).then_some(first)
    }

    /// All words.
    pub fn words(&self) -> &[W] {
        // SAFETY: the whole mapping, aligned to a page, zeroed by the kernel, alive as long as `self`, and never seen as anything but
        // atomics of this one type.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes / size_of::<W>()) }
    }

    /// How many lines it has.
    pub const fn lines(&self) -> usize {
        self.bytes / LINE_BYTES
    }

    /// The first word of a line.
    ///
    /// # Panics
    /// When the index is not below [`Memory::lines`].
    pub fn line(&self, index: usize) -> &W {
        &self.words()[index * (LINE_BYTES / size_of::<W>())]
    }
}

impl<W: Word> Drop for Memory<W> {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` made; references to its words borrow `self` and are gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn lines_are_apart_and_zero() {
        let memory = Memory::<AtomicU64>::new(PAGE_BYTES + 1).unwrap();
        assert_eq!((memory.lines(), memory.words().len()), (128, 1024));
        assert!(memory.words().iter().all(|word| word.load(Ordering::Relaxed) == 0));
        memory.line(0).store(u64::MAX, Ordering::Relaxed);
        assert_eq!(memory.line(1).load(Ordering::Relaxed), 0);
        let distance = std::ptr::from_ref(memory.line(1)) as usize - std::ptr::from_ref(memory.line(0)) as usize;
        assert_eq!(distance, LINE_BYTES);
        assert_eq!(Memory::<AtomicU32>::new(0).unwrap().words().len(), 1024);
    }

    #[test]
    fn memory_is_where_it_was_bound_to_and_has_no_home_where_there_are_no_nodes() {
        let Ok(nodes) = memory_policy::allowed_nodes() else {
            return assert!(Memory::<AtomicU64>::new(1).unwrap().home().is_none());
        };
        for bytes in [1, 3 * PAGE_BYTES, 1 << 20] {
            assert_eq!(Memory::<AtomicU64>::on_node(bytes, nodes[0]).unwrap().home(), Some(nodes[0]));
        }
    }

    #[test]
    fn a_node_that_is_not_there_is_told() {
        if let Err(error) = memory_policy::allowed_nodes() {
            return println!("skipped: the nodes cannot be had: {error}");
        }
        for node in [1_000, u32::MAX] {
            let error = Memory::<AtomicU64>::on_node(1, node).unwrap_err();
            assert_eq!(error.to_string(), format!("there is no node {node}"));
        }
    }
}
