//! NUMA nodes: their cpus, memory and distances.

use corewise_model::CpuSet;
use corewise_model::facts::NodeFacts;

use super::reader::Reader;

/// The folder of the nodes.
const NODES: &str = "sys/devices/system/node";

/// The largest node number that is read: Linux is built for at most 1,024 nodes.
const LARGEST_NODE: u32 = 1_023;

/// The online nodes by number. A kernel without NUMA has no such folder: then all cpus and all memory are node 0, which
/// is so by its own account; without /proc/meminfo nothing is known.
pub fn nodes(reader: &Reader, online: &CpuSet) -> Vec<NodeFacts> {
    let listed = reader.list(&format!("{NODES}/online")).filter(|set| !set.is_empty());
    let there = reader.numbered(NODES, "node");
    let numbers: Vec<u32> = listed.map_or(there, |listed| listed.iter().collect());
    let numbers: Vec<u32> = numbers.into_iter().filter(|number| *number <= LARGEST_NODE).collect();
    if numbers.is_empty() {
        let memory_bytes = reader.text("proc/meminfo").and_then(|text| memory_bytes(&text));
        let only = NodeFacts { number: 0, cpus: online.clone(), memory_bytes, distances: Vec::new() };
        return memory_bytes.map(|_| only).into_iter().collect();
    }
    numbers.into_iter().map(|number| node(reader, number)).collect()
}

fn node(reader: &Reader, number: u32) -> NodeFacts {
    let file = |name: &str| format!("{NODES}/node{number}/{name}");
    let distances = reader.text(&file("distance")).unwrap_or_default();
    NodeFacts {
        number,
        cpus: reader.list_or_mask(&file("cpulist"), &file("cpumap")).unwrap_or_default(),
        memory_bytes: reader.text(&file("meminfo")).and_then(|text| memory_bytes(&text)),
        distances: distances.split_whitespace().map(str::parse).collect::<Result<_, _>>().unwrap_or_default(),
    }
}

/// The bytes of the `MemTotal` line, of a node or of the whole machine.
fn memory_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim_end().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn nodes_have_cpus_memory_and_distances() {
        let root = Root::from_files([
            (format!("{NODES}/online"), "0,2\n"),
            (format!("{NODES}/node0/cpulist"), "0-1\n"),
            (format!("{NODES}/node0/distance"), "10 20\n"),
            (format!("{NODES}/node0/meminfo"), "\nNode 0 MemTotal:       1048576 kB\nNode 0 MemFree: 1 kB\n"),
            (format!("{NODES}/node1/cpulist"), "9\n"),
            (format!("{NODES}/node2/cpumap"), "0c\n"),
            (format!("{NODES}/node2/distance"), "20 x\n"),
        ]);
        let found = nodes(&Reader::new(&root), &CpuSet::first(4));
        assert_eq!(found.iter().map(|node| node.number).collect::<Vec<_>>(), [0, 2], "node 1 is offline");
        assert_eq!((found[0].memory_bytes, found[0].distances.clone()), (Some(1 << 30), vec![10, 20]));
        assert_eq!((found[1].cpus.to_string(), found[1].memory_bytes), ("2,3".into(), None));
        assert!(found[1].distances.is_empty());
    }

    #[test]
    fn without_numa_all_memory_is_one_node() {
        let root = Root::from_files([("proc/meminfo", "MemTotal:   2048 kB\n")]);
        let found = nodes(&Reader::new(&root), &CpuSet::first(4));
        assert_eq!((found.len(), found[0].memory_bytes, found[0].cpus.len()), (1, Some(2 << 20), 4));
        let nothing = Root::from_files([("other", "")]);
        assert!(nodes(&Reader::new(&nothing), &CpuSet::first(4)).is_empty());
    }
}
