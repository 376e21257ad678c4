//! Test data: a machine with a node without cpus, and devices to attach to it.

use crate::assemble::assemble_machine;
use crate::facts::{CpuFacts, DeviceKind, MachineFacts, NodeFacts, PciDevice};
use crate::{CpuSet, Machine};

/// Parses a cpu list, such as 0-3.
pub fn parse_set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).expect("a cpu list")
}

/// A network card with nothing known but its name.
pub fn network_card(name: &str) -> PciDevice {
    PciDevice {
        kind: DeviceKind::Network,
        names: vec![name.to_owned()],
        address: None,
        driver: None,
        node: None,
        local_cpus: None,
        link: None,
        queues: None,
    }
}

/// Returns a machine with four cpus in each of the nodes 0, 1 and 2; node 3 has no cpus, and its nearest node is 1.
pub fn four_node_machine(devices: Vec<PciDevice>) -> Machine {
    let distances = [[10, 20, 30, 40], [20, 10, 20, 15], [30, 20, 10, 40], [40, 15, 40, 10]];
    let node = |number: u32| NodeFacts {
        number,
        cpus: (number * 4..number * 4 + 4).filter(|cpu| *cpu < 12).collect(),
        distances: distances[number as usize].to_vec(),
        ..NodeFacts::default()
    };
    let cpu = |number| CpuFacts { number, package: Some(i64::from(number / 4)), ..CpuFacts::default() };
    assemble_machine(MachineFacts {
        cpus: (0..12).map(cpu).collect(),
        nodes: (0..4).map(node).collect(),
        devices,
        ..MachineFacts::default()
    })
}
