//! Machines with devices for tests, each with a difficulty.

use crate::assemble::assemble_machine;
use crate::facts::{CpuFacts, DeviceKind, MachineFacts, NodeFacts, PciDevice};
use crate::{CpuSet, Machine};

/// Parses a set.
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

/// Nodes 0, 1 and 2 of four cpus each, and node 3 without cpus, which is nearest to node 1.
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
