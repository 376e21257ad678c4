//! Counts of interrupts per cpu, from /proc/interrupts.

use std::collections::BTreeMap;

use corewise_machine::interrupt::device::CpuCount;

use crate::interrupts::Interrupts;
use crate::root::{Root, Source};

/// Counts by interrupt number; cpus with zero are left out.
pub type Counts = BTreeMap<u32, Vec<CpuCount>>;

/// Reads the counts of all sources on all cpus now; empty if /proc/interrupts cannot be read.
pub fn table(root: &Root) -> Interrupts {
    table_of(root)
}

/// As [`table`], from any source.
pub(super) fn table_of(source: &dyn Source) -> Interrupts {
    source.text("proc/interrupts").map(|text| Interrupts::parse(&text)).unwrap_or_default()
}

/// Reads the counts of the interrupts that have a number; empty if /proc/interrupts cannot be read.
pub fn counts(root: &Root) -> Counts {
    of(&table(root))
}

/// Extracts the counts from a table.
pub(super) fn of(table: &Interrupts) -> Counts {
    let numbered = table.sources.iter().filter_map(|source| Some((source.name.parse().ok()?, source)));
    let by_cpu = |counts: &[u64]| above_zero(table.cpus.iter().copied().zip(counts.iter().copied()));
    numbered.map(|(number, source)| (number, by_cpu(&source.counts))).collect()
}

pub(super) fn above_zero(counts: impl Iterator<Item = (u32, u64)>) -> Vec<CpuCount> {
    let struck = counts.filter(|(_, count)| *count > 0);
    struck.map(|(cpu, since_boot)| CpuCount { cpu, since_boot, per_second: None }).collect()
}
