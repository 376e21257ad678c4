//! Kinds of memory of nodes (high-bandwidth, CXL, persistent, …), and the nodes with the best access to it.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::facts::{MemoryKind, NodeFacts};
use corewise_machine::machine::ProcessorFacts;

use super::nodes::{LARGEST_NODE, NODES};
use super::reader::ValueReader;

/// Folders of devices with memory that becomes a node, the prefix of the names in them, and the kind of memory.
const DEVICES: [(&str, &str, MemoryKind); 2] = [
    ("sys/bus/dax/devices", "dax", MemoryKind::SpecialPurpose),
    ("sys/bus/nd/devices", "region", MemoryKind::Persistent),
];

/// The regions of CXL, with dax devices two folders below.
const CXL_REGIONS: &str = "sys/bus/cxl/devices";

/// Ratio of a memory-only node's bandwidth to that of the nodes with cpus from which it counts as high: HBM has 3 to 8 times that of DRAM,
/// different DRAM has less than twice.
const HIGH_BANDWIDTH: u64 = 2;

/// The models of Intel's family 6 with MCDRAM on the package, which in flat mode is a node without cpus: Knights Landing and Knights Mill
/// (Linux, `arch/x86/include/asm/intel-family.h`). Their firmware has no HMAT.
const WITH_MCDRAM: [u32; 2] = [0x57, 0x85];

/// Adds the kinds of memory of nodes without cpus, and the initiators of all nodes.
pub fn add_kinds(reader: &ValueReader, nodes: &mut [NodeFacts]) {
    let by_device = by_device(reader);
    let bandwidths: Vec<Option<u64>> = nodes.iter().map(|node| node_bandwidth(reader, node.number)).collect();
    let with_cpus = nodes.iter().zip(&bandwidths).filter(|(node, _)| !node.cpus.is_empty());
    let usual = with_cpus.filter_map(|(_, bandwidth)| *bandwidth).max();
    for (node, bandwidth) in nodes.iter_mut().zip(bandwidths) {
        node.initiators = best_initiators(reader, node.number);
        if node.cpus.is_empty() {
            let is_high = bandwidth.zip(usual).is_some_and(|(own, usual)| is_high(own, usual));
            let by_bandwidth = is_high.then_some(MemoryKind::HighBandwidth);
            node.memory_kind = by_bandwidth.or_else(|| by_device.get(&node.number).copied());
        }
    }
}

/// Returns true if a bandwidth is that of high-bandwidth memory, given the usual one of DRAM in the same unit.
pub fn is_high(bandwidth: u64, usual: u64) -> bool {
    usual > 0 && bandwidth / usual >= HIGH_BANDWIDTH
}

/// Marks memory of nodes without cpus as on-package memory of some processors, if its kind is unknown; the nodes with the shortest distance
/// are its initiators.
pub fn add_on_package(processor: &ProcessorFacts, nodes: &mut [NodeFacts]) {
    let is_one = processor.vendor.as_deref() == Some("GenuineIntel")
        && processor.family == Some(6)
        && processor.model.is_some_and(|model| WITH_MCDRAM.contains(&model));
    if !is_one {
        return;
    }
    let has_cpus: Vec<(u32, bool)> = nodes.iter().map(|node| (node.number, !node.cpus.is_empty())).collect();
    for node in nodes.iter_mut().filter(|node| node.cpus.is_empty() && node.memory_kind.is_none()) {
        node.memory_kind = Some(MemoryKind::HighBandwidth);
        if node.initiators.is_empty() && node.distances.len() == has_cpus.len() {
            let near = || has_cpus.iter().zip(&node.distances).filter(|((_, has_cpus), _)| *has_cpus);
            let shortest = near().map(|(_, distance)| *distance).min();
            node.initiators =
                near().filter(|(_, distance)| Some(**distance) == shortest).map(|((number, _), _)| *number).collect();
        }
    }
}

/// Returns the kind of memory by node, from the devices that it belongs to; the most specific one counts.
fn by_device(reader: &ValueReader) -> BTreeMap<u32, MemoryKind> {
    let mut kinds = BTreeMap::new();
    for (folder, beginning, kind) in DEVICES {
        for name in reader.folder_names(folder).into_iter().filter(|name| name.starts_with(beginning)) {
            target_node(reader, &format!("{folder}/{name}")).into_iter().for_each(|node| _ = kinds.insert(node, kind));
        }
    }
    let below = |folder: &str, beginning: &str| {
        let names = reader.folder_names(folder).into_iter().filter(|name| name.starts_with(beginning));
        names.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
    };
    for region in below(CXL_REGIONS, "region") {
        for device in below(&region, "dax_region").iter().flat_map(|folder| below(folder, "dax")) {
            target_node(reader, &device).into_iter().for_each(|node| _ = kinds.insert(node, MemoryKind::Cxl));
        }
    }
    kinds
}

fn target_node(reader: &ValueReader, device: &str) -> Option<u32> {
    let number = reader.known_number(&format!("{device}/target_node"))?;
    u32::try_from(number).ok().filter(|number| *number <= LARGEST_NODE)
}

/// Returns the bandwidth from the nearest cpus in MB/s, from the firmware's table (HMAT).
fn node_bandwidth(reader: &ValueReader, node: u32) -> Option<u64> {
    reader.read_number(&format!("{NODES}/node{node}/access0/initiators/read_bandwidth"))
}

/// Returns the nodes with the best access of all (class 0, which devices may share).
fn best_initiators(reader: &ValueReader, node: u32) -> CpuSet {
    let numbers = reader.numbered_names(&format!("{NODES}/node{node}/access0/initiators"), "node");
    numbers.into_iter().filter(|number| *number <= LARGEST_NODE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn memory_is_named_by_its_device_or_its_bandwidth() {
        let node = |number: u32, name: &str| format!("{NODES}/node{number}/{name}");
        let bandwidth = "access0/initiators/read_bandwidth";
        let root = Root::from_files([
            (node(0, bandwidth), "100000"),
            (node(1, bandwidth), "400000"),
            (node(1, "access0/initiators/node0"), ""),
            (node(2, bandwidth), "150000"),
            ("sys/bus/dax/devices/dax0.0/target_node".into(), "2"),
            ("sys/bus/nd/devices/region0/target_node".into(), "3"),
            ("sys/bus/dax/devices/dax1.0/target_node".into(), "4"),
            ("sys/bus/cxl/devices/region1/dax_region1/dax1.0/target_node".into(), "4"),
            ("sys/bus/nd/devices/region7/target_node".into(), "-1"),
        ]);
        let cpus = |number| if number == 0 { CpuSet::from_cpu(0) } else { CpuSet::new() };
        let mut nodes: Vec<NodeFacts> =
            (0..6).map(|number| NodeFacts { number, cpus: cpus(number), ..NodeFacts::default() }).collect();
        add_kinds(&ValueReader::new(&root), &mut nodes);
        let words: Vec<_> = nodes.iter().map(|node| node.memory_kind.map_or("", MemoryKind::word)).collect();
        assert_eq!(words, ["", "HBM", "special-purpose memory", "NVM", "CXL", ""]);
        assert_eq!(nodes[1].initiators, CpuSet::from_cpu(0));
    }

    /// Knights Landing in sub-NUMA mode: two nodes with cpus, and the MCDRAM of each, as its firmware gives distances.
    #[test]
    fn memory_on_the_package_of_a_known_processor_is_named_without_a_table() {
        let rows = [[10, 21, 31, 41], [21, 10, 41, 31], [31, 41, 10, 41], [41, 31, 41, 10]];
        let node = |number: u32| NodeFacts {
            number,
            cpus: if number < 2 { CpuSet::from_cpu(number) } else { CpuSet::new() },
            distances: rows[number as usize].to_vec(),
            ..NodeFacts::default()
        };
        let found = |model| {
            let vendor = Some("GenuineIntel".to_owned());
            let processor = ProcessorFacts { vendor, family: Some(6), model: Some(model), ..ProcessorFacts::default() };
            let mut nodes: Vec<NodeFacts> = (0..4).map(node).collect();
            add_on_package(&processor, &mut nodes);
            nodes.iter().map(|node| (node.memory_kind, node.initiators.to_string())).collect::<Vec<_>>()
        };
        let named = |near: &str| (Some(MemoryKind::HighBandwidth), near.to_owned());
        let none = || (None, String::new());
        assert_eq!(found(0x57), [none(), none(), named("0"), named("1")]);
        assert_eq!(found(0x55), [none(), none(), none(), none()], "its memory-only nodes may be anything");
    }
}
