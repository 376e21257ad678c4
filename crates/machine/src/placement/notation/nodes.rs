//! Memory nodes that go with a set of cpus.

use super::list::counted_nodes;
use super::text::{TextFault, TextPiece};
use crate::machine::NumaNode;
use crate::{CpuSet, Machine};

/// Returns the numbers of the nodes with the memory nearest to the cpus. A node without memory, or without permission to use it, is
/// replaced by the nearest nodes that have some, all of them if several are equally near.
pub(super) fn with_memory(cpus: &CpuSet, machine: &Machine) -> CpuSet {
    let has_memory = |node: &NumaNode| machine.has_memory(node);
    let mut numbers = CpuSet::new();
    for node in machine.nodes.iter().filter(|node| !node.cpus.is_disjoint(cpus)) {
        if has_memory(node) {
            numbers.insert(node.number);
            continue;
        }
        let distance = |index: usize| node.distances.get(index).copied().unwrap_or(u32::MAX);
        let others = || machine.nodes.iter().enumerate().filter(|(_, other)| has_memory(other));
        let nearest = others().map(|(index, _)| distance(index)).min();
        numbers.extend(others().filter(|(index, _)| Some(distance(*index)) == nearest).map(|(_, other)| other.number));
    }
    numbers
}

/// Returns the numbers of the nodes that hold exactly these cpus; `None` if they are not whole nodes.
pub(super) fn exact_nodes(cpus: &CpuSet, machine: &Machine) -> Option<CpuSet> {
    let touched = || machine.nodes.iter().filter(|node| !node.cpus.is_disjoint(cpus));
    let whole = touched().fold(CpuSet::new(), |sum, node| sum.union(&node.cpus));
    (!whole.is_empty() && whole == *cpus).then(|| touched().map(|node| node.number).collect())
}

/// Returns the subset of the nodes that have no memory.
pub(super) fn memoryless_nodes(numbers: &CpuSet, machine: &Machine) -> CpuSet {
    let without = |node: &&crate::machine::NumaNode| node.memory_bytes == Some(0) && numbers.contains(node.number);
    machine.nodes.iter().filter(without).map(|node| node.number).collect()
}

/// Returns the numbers of the machine's nodes.
pub(super) fn node_numbers(machine: &Machine) -> CpuSet {
    machine.nodes.iter().map(|node| node.number).collect()
}

/// Returns the cpus of nodes that a text names.
///
/// # Errors
/// If the machine lacks one of them, or none has a cpu.
pub(super) fn cpus_of_nodes(text: TextPiece<'_>, numbers: &CpuSet, machine: &Machine) -> Result<CpuSet, TextFault> {
    let known = node_numbers(machine);
    let unknown = numbers.difference(&known);
    if !unknown.is_empty() {
        let (unknown, known) = (counted_nodes(&unknown), counted_nodes(&known));
        return Err(text.fault_here(format!("this machine has {known}, and no {unknown}")));
    }
    let named = machine.nodes.iter().filter(|node| numbers.contains(node.number));
    let cpus = named.fold(CpuSet::new(), |all, node| all.union(&node.cpus));
    match cpus.is_empty() {
        true => Err(text.fault_here(format!("there are no cpus on {}", counted_nodes(numbers)))),
        false => Ok(cpus),
    }
}
