//! Fresh memory for two threads to communicate, on a requested node.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualAllocExNuma, VirtualFree,
};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::missing::unavailable_error;
pub use crate::values::memory::{AvailableMemory, LINE_BYTES, PageSize, Word};

const PAGE_BYTES: usize = 4_096;
/// Large pages need a right that users do not have, and are not requested.
pub const HUGE_PAGES_CURE: Option<&str> = None;

/// Zeroed memory of whole pages; freed on drop.
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
    pub fn new(bytes: usize) -> io::Result<Self> {
        let memory = Self::allocate_pages(bytes, None)?;
        memory.touch_pages(0..memory.bytes);
        Ok(memory)
    }

    /// Fails: the node of VirtualAllocExNuma is only preferred, and the real node of pages is not read yet.
    pub fn on_node(_: usize, _: u32) -> io::Result<Self> {
        Err(unavailable_error())
    }

    /// Allocates small pages: large ones need a right that users do not have.
    pub fn map_untouched(bytes: usize, node: Option<u32>, _: PageSize) -> io::Result<Self> {
        Self::allocate_pages(bytes, node)
    }

    fn allocate_pages(bytes: usize, node: Option<u32>) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES);
        let (kind, address) = (MEM_COMMIT | MEM_RESERVE, ptr::null());
        // SAFETY: new memory at an address chosen by the kernel; no other memory is affected.
        let start = unsafe {
            match node {
                None => VirtualAlloc(address, bytes, kind, PAGE_READWRITE),
                Some(node) => VirtualAllocExNuma(GetCurrentProcess(), address, bytes, kind, PAGE_READWRITE, node),
            }
        };
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, bytes })
    }

    pub fn touch_pages(&self, bytes: Range<usize>) {
        for page in (bytes.start.next_multiple_of(PAGE_BYTES)..bytes.end.min(self.bytes)).step_by(PAGE_BYTES) {
            // SAFETY: inside the memory and aligned; as atomic as any write of an aligned word, and a word may be all zero.
            unsafe { self.start.cast::<u8>().add(page).cast::<u32>().write_volatile(0) };
        }
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn page_nodes(&self, _: usize) -> io::Result<BTreeMap<u32, usize>> {
        Err(unavailable_error())
    }

    pub fn huge_share(&self) -> Option<f64> {
        Some(0.0)
    }

    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; borrowed exclusively, so the words are not accessed as atomics meanwhile, and any bits are a number.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / size_of::<u64>()) }
    }

    pub fn home_node(&self) -> Option<u32> {
        None
    }

    pub fn words(&self) -> &[W] {
        // SAFETY: the whole memory, aligned to a page, zeroed by the kernel, alive as long as `self`, and only accessed as atomics of this
        // one type.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes / size_of::<W>()) }
    }

    pub const fn line_count(&self) -> usize {
        self.bytes / LINE_BYTES
    }

    pub fn line(&self, index: usize) -> &W {
        &self.words()[index * (LINE_BYTES / size_of::<W>())]
    }
}

impl<W: Word> Drop for PageMemory<W> {
    fn drop(&mut self) {
        // SAFETY: exactly the memory that was allocated; references to its words borrow `self` and are gone.
        unsafe { VirtualFree(self.start.as_ptr().cast(), 0, MEM_RELEASE) };
    }
}

impl AvailableMemory {
    pub fn read_now() -> Option<Self> {
        let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
        // SAFETY: the kernel fills the structure, and was given its length.
        let is_known = unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0;
        is_known.then(|| Self { all_bytes: status.ullAvailPhys, ..Self::default() })
    }
}
