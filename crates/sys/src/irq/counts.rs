//! How often interrupts struck each cpu, from /proc/interrupts.

use std::collections::BTreeMap;

use corewise_model::interrupt::device::CpuCount;

use crate::Root;
use crate::linux::interrupts::Interrupts;

/// The counts of interrupts by their numbers; cpus that were never struck are left out.
pub type Counts = BTreeMap<u32, Vec<CpuCount>>;

/// The counts of the interrupts that have a number, at this moment; empty where /proc/interrupts cannot be read.
pub fn counts(root: &Root) -> Counts {
    root.read("proc/interrupts").map(|text| of(&Interrupts::parse(&text))).unwrap_or_default()
}

/// The counts in a table.
pub(super) fn of(table: &Interrupts) -> Counts {
    let numbered = table.sources.iter().filter_map(|source| Some((source.name.parse().ok()?, source)));
    let by_cpu = |counts: &[u64]| above_zero(table.cpus.iter().copied().zip(counts.iter().copied()));
    numbered.map(|(number, source)| (number, by_cpu(&source.counts))).collect()
}

pub(super) fn above_zero(counts: impl Iterator<Item = (u32, u64)>) -> Vec<CpuCount> {
    let struck = counts.filter(|(_, count)| *count > 0);
    struck.map(|(cpu, since_boot)| CpuCount { cpu, since_boot, per_second: None }).collect()
}
