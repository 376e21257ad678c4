//! As what memory between threads is seen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The distance of two lines: the line size of every x86-64 and most arm64 processors. On processors with longer lines
/// neighbouring indices share one, which does no harm while one index is used at a time.
pub const LINE_BYTES: usize = 64;

/// What memory can be seen as: an atomic for which all bits zero is a value.
///
/// # Safety
/// The type has no padding, needs no more alignment than a page has, divides a line, is valid with all bits zero, and changes by
/// atomic operations alone.
pub unsafe trait Word: Send + Sync {}

// SAFETY: eight bytes, any bits, atomic.
unsafe impl Word for AtomicU64 {}
// SAFETY: four bytes, any bits, atomic.
unsafe impl Word for AtomicU32 {}

/// The size of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// As large as the system gives for the asking.
    Huge,
    /// The smallest.
    Small,
}

/// The memory that is free now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Available {
    /// What programs can have without anything being swapped out, in bytes.
    pub all_bytes: u64,
    /// What is swapped out, in bytes.
    pub swapped_bytes: u64,
    /// What programs can have of each node, in bytes, by the node's number: what is free, and files that were not used for long.
    pub nodes: BTreeMap<u32, u64>,
}
