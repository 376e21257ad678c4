//! Views of memory shared between threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Distance of two lines: the line size of every x86-64 and most arm64 processors. On processors with longer lines neighbouring indices
/// share one, which is harmless while one index is used at a time.
pub const LINE_BYTES: usize = 64;

/// A type that memory can be viewed as: an atomic for which all bits zero is a value.
///
/// # Safety
/// The type has no padding, needs no more alignment than a page has, divides a line, is valid with all bits zero, and changes by atomic
/// operations alone.
pub unsafe trait Word: Send + Sync {}

// SAFETY: eight bytes, any bits, atomic.
unsafe impl Word for AtomicU64 {}
// SAFETY: four bytes, any bits, atomic.
unsafe impl Word for AtomicU32 {}

/// The size of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// The largest that the system gives on request.
    Huge,
    /// The smallest.
    Small,
}

/// The memory that is free now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AvailableMemory {
    /// Memory that programs can have without swapping, in bytes.
    pub all_bytes: u64,
    /// Swapped-out memory, in bytes.
    pub swapped_bytes: u64,
    /// Memory that programs can have of each node, in bytes, by the node's number: free memory, and files that were not used for long.
    pub nodes: BTreeMap<u32, u64>,
}
