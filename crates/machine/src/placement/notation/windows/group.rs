//! Windows' numbering of cpus: in groups of at most 64, in which the threads of a core are adjacent, whatever other systems do on the same
//! machine.

use crate::machine::{NumaNode, ProcessorGroup};
use crate::placement::notation::{mask, tree};
use crate::{CpuSet, Level, Machine};

/// Maximum cpus in a group.
const GROUP_CPUS: usize = 64;

/// A processor group.
pub(in crate::placement::notation) struct Group {
    /// This machine's cpu numbers in the order of the group's bits. On Windows some may belong to no cpu.
    pub cpus: Vec<u32>,
    /// Nodes of the group, in the order of its bits.
    pub nodes: Vec<GroupNode>,
}

/// A NUMA node, or a part of one, in a group.
pub(in crate::placement::notation) struct GroupNode {
    /// Windows' number; `None` for a part of a split node.
    pub number: Option<usize>,
    /// First bit in the group's masks.
    pub first_bit: usize,
    /// Number of its cpus in this group.
    pub length: usize,
}

/// Returns the groups of a machine: the reported ones, or else the ones that Windows is assumed to make.
pub(in crate::placement::notation) fn groups_of_machine(machine: &Machine) -> Vec<Group> {
    if machine.processor_groups.is_empty() { assumed_groups(machine) } else { reported_groups(machine) }
}

/// Returns the groups that Windows reports, with the nodes that lie in one group as a single run of cpus.
fn reported_groups(machine: &Machine) -> Vec<Group> {
    let group = |reported: &ProcessorGroup| {
        let first = reported.first_cpu;
        let node = |node: &NumaNode| {
            let first_bit = node.cpus.lowest()?.checked_sub(first)? as usize;
            let is_whole = node.cpus.is_subset(&reported.cpus) && node.cpus.run_count() == 1;
            is_whole.then(|| GroupNode { number: Some(node.number as usize), first_bit, length: node.cpus.len() })
        };
        Group {
            cpus: reported.cpus.highest().map_or_else(Vec::new, |last| (first..=last).take(GROUP_CPUS).collect()),
            nodes: machine.nodes.iter().filter_map(node).collect(),
        }
    };
    machine.processor_groups.iter().map(group).collect()
}

/// Returns the fewest groups that hold whole packages, or whole nodes of packages too large for a group. A node of more than 64 cpus is cut
/// after every 64.
fn assumed_groups(machine: &Machine) -> Vec<Group> {
    let order = tree::tree_order(machine);
    let mut groups: Vec<Group> = Vec::new();
    for unit in group_units(&order, machine) {
        let length: usize = unit.iter().map(|(_, cpus)| cpus.len()).sum();
        if groups.last().is_none_or(|group| group.cpus.len() + length > GROUP_CPUS) {
            groups.push(Group { cpus: Vec::new(), nodes: Vec::new() });
        }
        let Some(group) = groups.last_mut() else { continue };
        for (number, cpus) in unit {
            group.nodes.push(GroupNode { number, first_bit: group.cpus.len(), length: cpus.len() });
            group.cpus.extend(cpus);
        }
    }
    groups
}

/// Number of a node, if whole, and its cpus.
type NodePart = (Option<usize>, Vec<u32>);

/// Returns the units that stay in one group: the nodes of a package together, or node by node if the package is too large.
fn group_units(order: &[u32], machine: &Machine) -> Vec<Vec<NodePart>> {
    let mut nodes = machine.objects_of(Level::Node);
    nodes.retain(|cpus| !cpus.is_empty());
    if nodes.is_empty() {
        nodes.push(machine.online.clone());
    }
    let mut units = Vec::new();
    let mut packages = machine.objects_of(Level::Package);
    packages.sort_by_cached_key(|cpus| order.iter().position(|cpu| cpus.contains(*cpu)));
    for package in packages {
        let in_order = |set: &CpuSet| order.iter().copied().filter(|cpu| set.contains(*cpu)).collect::<Vec<u32>>();
        let mut rest = package.clone();
        let mut parts: Vec<NodePart> = Vec::new();
        for (number, node) in nodes.iter().enumerate().filter(|(_, node)| !node.is_disjoint(&package)) {
            parts.push((node.is_subset(&package).then_some(number), in_order(&node.intersection(&rest))));
            rest = rest.difference(node);
        }
        // An offline node leaves cpus behind that are in no node.
        if !rest.is_empty() {
            parts.push((None, in_order(&rest)));
        }
        if package.len() <= GROUP_CPUS {
            units.push(parts);
            continue;
        }
        for (number, cpus) in parts {
            let whole = cpus.len() <= GROUP_CPUS;
            units.extend(cpus.chunks(GROUP_CPUS).map(|part| vec![(number.filter(|_| whole), part.to_vec())]));
        }
    }
    units
}

/// Returns the bits of a group that are in a set.
pub(in crate::placement::notation) fn group_bits(group: &Group, cpus: &CpuSet) -> u64 {
    let bit = |(place, cpu): (usize, &u32)| if cpus.contains(*cpu) { 1 << place } else { 0 };
    group.cpus.iter().enumerate().map(bit).sum()
}

/// Returns the cpus of a group's bits; `None` if a bit is no cpu.
pub(in crate::placement::notation) fn of_bits(group: &Group, bits: u64) -> Option<CpuSet> {
    mask::of_word(bits).iter().map(|bit| group.cpus.get(bit as usize).copied()).collect()
}

/// Returns the bits of a node in its group.
pub(super) fn node_span(node: &GroupNode) -> u64 {
    let ones = if node.length >= GROUP_CPUS { u64::MAX } else { (1 << node.length) - 1 };
    ones << node.first_bit
}
