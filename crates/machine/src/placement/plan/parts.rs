//! Labelled cpu sets that an exchange of cpus must map onto sets with equal labels: objects, caches, nodes and single cpus.

use super::distances::{DistanceSymmetry, SymmetryInvariant};
use crate::facts::{CacheKind, CoreType};
use crate::machine::MachineObject;
use crate::{CpuSet, Level, Machine};

/// Node memories that differ by at least this share are different classes. Smaller differences arise because the kernel reserves part of
/// the first node's memory.
const MEMORY_LEAP: f64 = 0.20;

/// Label of a set of cpus. Two sets are exchangeable only if both carry the same labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartLabel {
    /// An object with no property but its level.
    Object(Level),
    /// A last-level cache: its cache level, its size in bytes, whether it has stacked cache (V-Cache).
    Llc(Option<u8>, Option<u64>, bool),
    /// A cache: its level, its contents, its size in bytes.
    Cache(u8, CacheKind, Option<u64>),
    /// A NUMA node: the class of its memory size (`None` if unknown), and the class of its distances.
    Node(Option<usize>, usize),
    /// A group of nodes with distances to each other of at most this value.
    Within(u32),
    /// Mark of a single cpu.
    Cpu(CpuMark),
    /// A set that partly overlaps others, identified by its index in the list of such sets; no exchange moves it.
    Crossing(usize),
}

/// Properties of a cpu, apart from its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuMark {
    /// True if a placement may use it.
    pub usable: bool,
    /// Its core type, if the machine has several.
    pub kind: Option<CoreType>,
    /// True if the scheduler's tick stops on it.
    pub tickless: bool,
    /// True if it serves the most interrupts.
    pub busiest: bool,
}

/// A set of points with a label. Points 0 to the highest cpu are cpus; each node without cpus gets a number above them.
pub type LabelledPart = (CpuSet, PartLabel);

/// Returns all parts of a machine.
pub fn parts_of_machine(machine: &Machine, usable: &CpuSet, busiest: Option<u32>) -> Vec<LabelledPart> {
    let mut parts: Vec<LabelledPart> = Vec::new();
    for level in [Level::Package, Level::Die, Level::Cluster, Level::Core] {
        parts.extend(machine.objects_of(level).into_iter().map(|cpus| (cpus, PartLabel::Object(level))));
    }
    let llc = |llc: &crate::machine::Llc| (llc.cpus.clone(), PartLabel::Llc(llc.level, llc.size_bytes, llc.vcache));
    parts.extend(machine.llcs.iter().map(llc));
    let cache = |cache: &crate::machine::Cache| {
        (cache.cpus.clone(), PartLabel::Cache(cache.level, cache.kind, cache.size_bytes))
    };
    parts.extend(machine.caches.iter().map(cache));
    parts.extend(node_parts(machine));
    let mark = |cpu: u32| CpuMark {
        usable: usable.contains(cpu),
        kind: machine.kind_of(cpu).map(|kind| kind.core_type),
        tickless: machine.nohz_full.contains(cpu),
        busiest: busiest == Some(cpu),
    };
    parts.extend(machine.online.iter().map(|cpu| (CpuSet::from_cpu(cpu), PartLabel::Cpu(mark(cpu)))));
    parts.retain(|(points, _)| !points.is_empty());
    parts
}

/// Returns the nodes, and the groups of nodes within each distance.
fn node_parts(machine: &Machine) -> Vec<LabelledPart> {
    let above = machine.online.highest().map_or(0, |highest| highest + 1);
    let point = |index: usize, cpus: &CpuSet| {
        if cpus.is_empty() { CpuSet::from_cpu(above + index as u32) } else { cpus.clone() }
    };
    let points: Vec<CpuSet> = machine.nodes.iter().enumerate().map(|(index, node)| point(index, &node.cpus)).collect();
    let bytes = |node| if machine.has_memory(node) { node.memory_bytes } else { Some(0) };
    let memory = memory_classes(&machine.nodes.iter().map(bytes).collect::<Vec<_>>());
    let inside = |package: &MachineObject| {
        let nodes = machine.nodes.iter().enumerate().filter(|(_, node)| !node.cpus.is_empty());
        nodes.filter(|(_, node)| node.cpus.is_subset(&package.cpus)).map(|(index, _)| index).collect()
    };
    let blocks: Vec<Vec<usize>> = machine.packages.iter().map(inside).collect();
    let DistanceSymmetry { classes, kept } = DistanceSymmetry::from_nodes(&machine.nodes, &blocks);
    let node = |index: usize| (points[index].clone(), PartLabel::Node(memory[index], classes[index]));
    let mut parts: Vec<LabelledPart> = (0..points.len()).map(node).collect();
    if let SymmetryInvariant::Nested(groups) = kept {
        for (distance, nodes) in groups {
            let together = nodes.iter().flat_map(|index| points[*index].iter()).collect();
            parts.push((together, PartLabel::Within(distance)));
        }
    }
    parts
}

/// Returns the class of each size, 0 for the smallest; `None` if a size is unknown. A new class begins where the next larger size is at
/// least `MEMORY_LEAP` larger.
fn memory_classes(sizes: &[Option<u64>]) -> Vec<Option<usize>> {
    let mut sorted: Vec<u64> = sizes.iter().flatten().copied().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let leaps = |pair: &[u64]| pair[1] as f64 >= pair[0] as f64 * (1.0 + MEMORY_LEAP);
    let begins: Vec<u64> = sorted.windows(2).filter(|pair| leaps(pair)).map(|pair| pair[1]).collect();
    sizes.iter().map(|size| size.map(|size| begins.partition_point(|begin| *begin <= size))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_the_kernel_keeps_makes_no_other_node() {
        let gigabytes = |sizes: &[u64]| memory_classes(&sizes.iter().map(|size| Some(size << 30)).collect::<Vec<_>>());
        assert_eq!(gigabytes(&[61, 64, 64, 128, 0]), [Some(1), Some(1), Some(1), Some(2), Some(0)]);
        assert_eq!(gigabytes(&[0, 0]), [Some(0), Some(0)]);
        assert_eq!(memory_classes(&[None, Some(0), Some(1)]), [None, Some(0), Some(1)]);
    }
}
