//! `numactl -H`: nodes with their cpus, memory and distances.

use corewise_machine::CpuSet;
use corewise_machine::facts::NodeFacts;

use crate::topology::limits::LARGEST_CPU;
use crate::topology::nodes::LARGEST_NODE;

/// Reads the nodes by number.
pub fn read_nodes(text: &str) -> Vec<NodeFacts> {
    let mut nodes: Vec<NodeFacts> = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("node ") else {
            add_distances(line, &mut nodes);
            continue;
        };
        let Some((number, rest)) = rest.split_once(' ') else { continue };
        let Some(number) = number.parse().ok().filter(|number| *number <= LARGEST_NODE) else { continue };
        let index = nodes.iter().position(|node| node.number == number).unwrap_or_else(|| {
            nodes.push(NodeFacts { number, ..NodeFacts::default() });
            nodes.len() - 1
        });
        if let Some(cpus) = rest.strip_prefix("cpus:") {
            nodes[index].cpus = cpus
                .split_whitespace()
                .filter_map(|cpu| cpu.parse().ok())
                .filter(|cpu| *cpu <= LARGEST_CPU)
                .collect::<CpuSet>();
        } else if let Some(size) = rest.strip_prefix("size:") {
            let megabytes: Option<u64> = size.trim().strip_suffix("MB").and_then(|size| size.trim().parse().ok());
            nodes[index].memory_bytes = megabytes.and_then(|size| size.checked_mul(1 << 20));
        }
    }
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// Reads a row of distances, `  0:  10  21`, if it is of a known node.
fn add_distances(line: &str, nodes: &mut [NodeFacts]) {
    let Some((number, row)) = line.split_once(':') else { return };
    let Ok(number) = number.trim().parse::<u32>() else { return };
    let row: Option<Vec<u32>> = row.split_whitespace().map(|distance| distance.parse().ok()).collect();
    let count = nodes.len();
    let node = nodes.iter_mut().find(|node| node.number == number && node.distances.is_empty());
    if let (Some(node), Some(row)) = (node, row)
        && row.len() == count
    {
        node.distances = row;
    }
}
