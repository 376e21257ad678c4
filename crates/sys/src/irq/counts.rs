//! Counts of interrupts per cpu, from /proc/interrupts.

use std::collections::BTreeMap;

use corewise_machine::interrupt::device::CpuCount;

use crate::interrupts::InterruptTable;
use crate::root::{FileSource, Root};

/// Counts by interrupt number; cpus with zero are left out.
pub type Counts = BTreeMap<u32, Vec<CpuCount>>;

/// Reads the counts of all sources on all cpus now; empty if /proc/interrupts cannot be read.
pub fn read_table(root: &Root) -> InterruptTable {
    table_of(root)
}

/// As [`table`], from any source.
pub(super) fn table_of(source: &dyn FileSource) -> InterruptTable {
    source.file_text("proc/interrupts").map(|text| InterruptTable::parse(&text)).unwrap_or_default()
}

/// Reads the counts of the interrupts that have a number; empty if /proc/interrupts cannot be read.
pub fn read_counts(root: &Root) -> Counts {
    counts_of_table(&read_table(root))
}

/// Extracts the counts from a table.
pub(super) fn counts_of_table(table: &InterruptTable) -> Counts {
    let numbered = table.sources.iter().filter_map(|source| Some((source.name.parse().ok()?, source)));
    let by_cpu = |counts: &[u64]| above_zero(table.cpus.iter().copied().zip(counts.iter().copied()));
    numbered.map(|(number, source)| (number, by_cpu(&source.counts))).collect()
}

pub(super) fn above_zero(counts: impl Iterator<Item = (u32, u64)>) -> Vec<CpuCount> {
    let struck = counts.filter(|(_, count)| *count > 0);
    struck.map(|(cpu, since_boot)| CpuCount { cpu, since_boot, per_second: None }).collect()
}
