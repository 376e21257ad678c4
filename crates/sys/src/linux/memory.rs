//! Fresh memory on a known node: for threads to communicate, and for measuring access times.

mod available;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::memory_policy;
pub use crate::values::memory::{AvailableMemory, LINE_BYTES, PageSize, Word};

/// Size of the smallest page, in bytes; real pages may be larger.
const PAGE_BYTES: usize = 4096;
/// Command that makes the kernel give huge pages to programs that ask for them.
pub const HUGE_PAGES_CURE: Option<&str> = Some("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
/// Size of a huge page on most processors, in bytes.
const HUGE_BYTES: usize = 2 << 20;

/// Anonymous memory of whole pages, fresh from the kernel and zeroed; unmapped on drop.
#[derive(Debug)]
pub struct PageMemory<W: Word = AtomicU64> {
    start: NonNull<W>,
    bytes: usize,
}

// SAFETY: the memory is only accessed as atomics.
unsafe impl<W: Word> Send for PageMemory<W> {}
// SAFETY: the memory is only accessed as atomics.
unsafe impl<W: Word> Sync for PageMemory<W> {}

impl<W: Word> PageMemory<W> {
    /// Maps at least `bytes`, rounded up to pages, and touches each page from the calling thread. The kernel places a page on the memory
    /// node of the cpu that touches it first, unless the thread's memory policy says otherwise. So call it from the thread that should own
    /// the memory.
    ///
    /// # Errors
    /// If the kernel has no memory for it.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let memory = Self::map_pages(bytes)?;
        memory.touch_pages(0..memory.bytes);
        Ok(memory)
    }

    /// As [`Self::new`], on one node whichever thread calls: bound by mbind(2) before the first touch, and verified afterwards.
    ///
    /// # Errors
    /// A described reason: the node does not exist, has no memory, or is not allowed; binding is forbidden to this process or unknown to
    /// the kernel; the pages are elsewhere nevertheless.
    pub fn on_node(bytes: usize, node: u32) -> io::Result<Self> {
        let memory = Self::map_pages(bytes)?;
        memory_policy::bind_pages(memory.start.cast(), memory.bytes, node)?;
        memory.touch_pages(0..memory.bytes);
        match memory.home_node() {
            Some(home) if home == node => Ok(memory),
            Some(home) => Err(io::Error::other(format!("memory bound to node {node} is on node {home}"))),
            None => Err(io::Error::other(format!("it is unknown whether memory bound to node {node} is there"))),
        }
    }

    /// Maps at least `bytes` in pages of a size, bound to `node` if given, without touching them. [`PageMemory::touch_pages`] does that piece by
    /// piece, so that it can be stopped. The memory begins at a multiple of 2 MiB, as huge pages do.
    ///
    /// # Errors
    /// As [`PageMemory::on_node`]. A lack of huge pages is no error: see [`PageMemory::huge_share`].
    pub fn map_untouched(bytes: usize, node: Option<u32>, pages: PageSize) -> io::Result<Self> {
        let whole = Self::map_pages(bytes + HUGE_BYTES)?;
        let address = whole.start.as_ptr() as usize;
        let before = address.next_multiple_of(HUGE_BYTES) - address;
        let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES);
        // SAFETY: inside the mapping, since one huge page more was mapped than is kept.
        let start = unsafe { whole.start.cast::<u8>().add(before) };
        let behind = whole.bytes - before - bytes;
        // SAFETY: whole pages at both ends of our own mapping, with an address not known elsewhere; the pages between stay.
        unsafe {
            if before > 0 {
                libc::munmap(whole.start.as_ptr().cast(), before);
            }
            if behind > 0 {
                libc::munmap(start.add(bytes).as_ptr().cast(), behind);
            }
        }
        std::mem::forget(whole);
        let memory = Self { start: start.cast(), bytes };
        if let Some(node) = node {
            memory_policy::bind_pages(memory.start.cast(), memory.bytes, node)?;
        }
        let advice = match pages {
            PageSize::Huge => libc::MADV_HUGEPAGE,
            PageSize::Small => libc::MADV_NOHUGEPAGE,
        };
        // SAFETY: our own mapping; the advice changes the kind of pages, not their contents. A kernel without huge pages refuses it.
        unsafe { libc::madvise(memory.start.as_ptr().cast(), memory.bytes, advice) };
        Ok(memory)
    }

    fn map_pages(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES);
        // SAFETY: a new private mapping at an address chosen by the kernel; no existing memory is affected.
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

    /// Writes a zero to the first word of each page in a range of bytes: a page that was only read would be the kernel's page of zeros. For
    /// fresh memory, before other threads have it.
    pub fn touch_pages(&self, bytes: Range<usize>) {
        for page in (bytes.start.next_multiple_of(PAGE_BYTES)..bytes.end.min(self.bytes)).step_by(PAGE_BYTES) {
            // SAFETY: inside the mapping and aligned; as atomic as any write of an aligned word, and a word may be all zero.
            unsafe { self.start.cast::<u8>().add(page).cast::<u32>().write_volatile(0) };
        }
    }

    /// Returns its size in bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the nodes of its pages, each with a count of pages, from a sample of at most `most_pages` evenly spaced pages: move_pages(2)
    /// without target nodes. Untouched pages are on no node.
    ///
    /// # Errors
    /// EPERM if the call is forbidden, as in many containers; ENOSYS if the kernel was built without NUMA.
    pub fn page_nodes(&self, most_pages: usize) -> io::Result<BTreeMap<u32, usize>> {
        let distance = (self.bytes / most_pages.max(1)).next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        // SAFETY: inside the mapping.
        let address = |offset| unsafe { self.start.cast::<u8>().add(offset) }.as_ptr();
        let pages: Vec<*mut u8> = (0..self.bytes).step_by(distance).map(address).collect();
        let mut status = vec![-1_i32; pages.len()];
        let (count, nodes) = (pages.len(), std::ptr::null::<i32>());
        // SAFETY: the kernel reads `count` addresses and writes `count` results; without target nodes no page is moved.
        let result =
            unsafe { libc::syscall(libc::SYS_move_pages, 0, count, pages.as_ptr(), nodes, status.as_mut_ptr(), 0) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut found = BTreeMap::new();
        for node in status.into_iter().filter_map(|node| u32::try_from(node).ok()) {
            *found.entry(node).or_default() += 1;
        }
        Ok(found)
    }

    /// Returns the share of it in huge pages, from /proc/self/smaps; `None` if that cannot be read.
    pub fn huge_share(&self) -> Option<f64> {
        let smaps = fs::read_to_string("/proc/self/smaps").ok()?;
        let address = self.start.as_ptr() as u64;
        let huge = huge_bytes(&smaps, address..address + self.bytes as u64);
        Some(huge as f64 / self.bytes as f64)
    }

    /// Returns all words, for a thread that has the memory to itself.
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; borrowed exclusively, so the words are not accessed as atomics meanwhile, and any bits are a number.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / size_of::<u64>()) }
    }

    /// Returns the node of the memory. `None` if the first and the last page are on different nodes, if the kernel has no NUMA, or if this
    /// process may not ask (get_mempolicy(2) is forbidden in many containers).
    pub fn home_node(&self) -> Option<u32> {
        let node = |offset: usize| {
            // SAFETY: inside the mapping.
            memory_policy::node_of(unsafe { self.start.cast::<u8>().add(offset) }).ok()
        };
        let (first, last) = (node(0)?, node(self.bytes - 1)?);
        (first == last).then_some(first)
    }

    /// Returns all words.
    pub fn words(&self) -> &[W] {
        // SAFETY: the whole mapping, aligned to a page, zeroed by the kernel, alive as long as `self`, and only accessed as atomics of this
        // one type.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes / size_of::<W>()) }
    }

    /// Returns its number of cache lines.
    pub const fn line_count(&self) -> usize {
        self.bytes / LINE_BYTES
    }

    /// Returns the first word of a line.
    ///
    /// # Panics
    /// If the index is not below [`PageMemory::line_count`].
    pub fn line(&self, index: usize) -> &W {
        &self.words()[index * (LINE_BYTES / size_of::<W>())]
    }
}

impl<W: Word> Drop for PageMemory<W> {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` made; references to its words borrow `self` and are gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Returns the bytes of an address range that are in huge pages. The kernel may list neighbouring memory together; the count is then
/// limited to the range.
fn huge_bytes(smaps: &str, wanted: Range<u64>) -> u64 {
    let (mut overlap, mut huge) = (0, 0);
    for line in smaps.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let ends = range.map(|(start, end)| [start, end].map(|text| u64::from_str_radix(text, 16)));
        if let Some([Ok(start), Ok(end)]) = ends {
            overlap = end.min(wanted.end).saturating_sub(start.max(wanted.start));
        } else if let Some(kilobytes) = line.strip_prefix("AnonHugePages:") {
            let bytes = kilobytes.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10;
            huge += bytes.min(overlap);
        }
    }
    huge
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn lines_are_apart_and_zero() {
        let memory = PageMemory::<AtomicU64>::new(PAGE_BYTES + 1).unwrap();
        assert_eq!((memory.line_count(), memory.words().len()), (128, 1024));
        assert!(memory.words().iter().all(|word| word.load(Ordering::Relaxed) == 0));
        memory.line(0).store(u64::MAX, Ordering::Relaxed);
        assert_eq!(memory.line(1).load(Ordering::Relaxed), 0);
        let distance = std::ptr::from_ref(memory.line(1)) as usize - std::ptr::from_ref(memory.line(0)) as usize;
        assert_eq!(distance, LINE_BYTES);
        assert_eq!(PageMemory::<AtomicU32>::new(0).unwrap().words().len(), 1024);
    }

    #[test]
    fn memory_is_where_it_was_bound_to_and_has_no_home_where_there_are_no_nodes() {
        let Ok(nodes) = memory_policy::allowed_nodes() else {
            return assert!(PageMemory::<AtomicU64>::new(1).unwrap().home_node().is_none());
        };
        for bytes in [1, 3 * PAGE_BYTES, 1 << 20] {
            assert_eq!(PageMemory::<AtomicU64>::on_node(bytes, nodes[0]).unwrap().home_node(), Some(nodes[0]));
        }
    }

    #[test]
    fn pages_that_are_touched_are_on_a_node_and_those_that_are_not_on_none() {
        let memory = PageMemory::<AtomicU64>::map_untouched(8 << 20, None, PageSize::Small).unwrap();
        assert_eq!(memory.start.as_ptr() as usize % HUGE_BYTES, 0);
        let Ok(before) = memory.page_nodes(1 << 20) else {
            return println!("skipped: move_pages is closed to this process");
        };
        assert_eq!(before.values().sum::<usize>(), 0);
        memory.touch_pages(0..4 << 20);
        assert_eq!(memory.page_nodes(1 << 20).unwrap().values().sum::<usize>(), 1024);
        assert_eq!(memory.huge_share(), Some(0.0));
        memory.touch_pages(4 << 20..memory.bytes());
        assert_eq!(memory.page_nodes(16).unwrap().values().sum::<usize>(), 16);
    }

    #[test]
    fn huge_pages_are_counted_within_the_range_alone() {
        let smaps = "1000-3000 rw-p 0 00:00 0\nAnonHugePages:      4 kB\n3000-9000 rw-p 0 00:00 0 [heap]\nAnonHugePages:  8 kB\n";
        assert_eq!(huge_bytes(smaps, 0x3000..0x9000), 8 << 10);
        assert_eq!(huge_bytes(smaps, 0x3000..0x4000), 4 << 10);
        assert_eq!(huge_bytes(smaps, 0x1000..0x9000), 12 << 10);
        assert_eq!(huge_bytes(smaps, 0xa000..0xb000), 0);
    }

    #[test]
    fn a_node_that_is_not_there_is_told() {
        if let Err(error) = memory_policy::allowed_nodes() {
            return println!("skipped: the nodes cannot be had: {error}");
        }
        for node in [1_000, u32::MAX] {
            let error = PageMemory::<AtomicU64>::on_node(1, node).unwrap_err();
            assert_eq!(error.to_string(), format!("there is no node {node}"));
        }
    }
}
