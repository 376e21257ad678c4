//! NUMA nodes: their cpus, memory and distances.

use std::collections::BTreeMap;

use corewise_machine::facts::NodeFacts;
use corewise_machine::{CpuSet, Gap, GapSubject};

use super::reader::ValueReader;

/// The folder of the nodes.
pub const NODES: &str = "sys/devices/system/node";

/// Largest node number that is read: Linux is built for at most 1,024 nodes.
pub const LARGEST_NODE: u32 = 1_023;

/// The files of a node that list its cpus.
const FILES: [&str; 2] = ["cpulist", "cpumap"];

const MOST_NAMED: usize = 8;

/// The firmware's distance of a node to itself, the least there is.
const OWN_DISTANCE: u32 = 10;

/// Returns the online nodes by number. A kernel without NUMA has no such folder: then all cpus and all memory are node 0, as it reports
/// itself. Empty if /proc/meminfo is missing as well.
pub fn read_nodes(reader: &ValueReader, online: &CpuSet) -> Vec<NodeFacts> {
    let listed = reader.read_list(&format!("{NODES}/online")).filter(|set| !set.is_empty());
    let there: CpuSet =
        reader.numbered_names(NODES, "node").into_iter().filter(|number| *number <= LARGEST_NODE).collect();
    let numbers = listed.as_ref().map_or_else(|| there.clone(), |listed| node_numbers(reader, listed, &there, online));
    if numbers.is_empty() {
        let memory_bytes = reader.read_text("proc/meminfo").and_then(|text| memory_bytes(&text));
        let only = NodeFacts { number: 0, cpus: online.clone(), memory_bytes, ..NodeFacts::default() };
        return memory_bytes.map(|_| only).into_iter().collect();
    }
    let mut nodes: Vec<NodeFacts> = numbers.iter().map(|number| read_node(reader, number)).collect();
    let sets = divide_cpus(reader, &numbers, online);
    nodes.iter_mut().for_each(|node| node.cpus = sets.get(&node.number).cloned().unwrap_or_default());
    if let Some(only) = one_for_all(reader, &nodes, online) {
        return vec![only];
    }
    nodes
}

fn node_gap(what: &str, why: String) -> Gap {
    Gap::new(what, why).about(&[GapSubject::Nodes])
}

fn node_file(number: u32, name: &str) -> String {
    format!("{NODES}/node{number}/{name}")
}

/// Returns the listed nodes that have a folder. Adds unlisted nodes if they have cpus that the listed ones leave out.
fn node_numbers(reader: &ValueReader, listed: &CpuSet, there: &CpuSet, online: &CpuSet) -> CpuSet {
    let listed: CpuSet = listed.iter().take_while(|number| *number <= LARGEST_NODE).collect();
    let list = format!("{NODES}/online");
    let absent = listed.difference(there);
    if !absent.is_empty() && !there.is_empty() {
        let files: Vec<String> = absent.iter().take(MOST_NAMED).map(|number| node_file(number, FILES[0])).collect();
        let why = format!("{list} lists {absent}, without {}", files.join(", "));
        reader.add_doubt(node_gap("NUMA nodes", why));
    }
    let cpus = |numbers: &CpuSet| {
        let sets = numbers
            .iter()
            .filter_map(|number| FILES.iter().find_map(|name| reader.read_cpus(&node_file(number, name))));
        sets.fold(CpuSet::new(), |all, cpus| all.union(&cpus)).intersection(online)
    };
    let believed = if there.is_empty() { listed.clone() } else { listed.intersection(there) };
    let others = there.difference(&listed);
    if others.is_empty() || cpus(&believed) == *online || cpus(&others).is_subset(&cpus(&believed)) {
        return believed;
    }
    reader.add_doubt(node_gap("NUMA nodes", format!("{list} says {listed}, but nodes {others} have online cpus")));
    believed.union(&others)
}

fn read_node(reader: &ValueReader, number: u32) -> NodeFacts {
    let distances = read_distances(reader, &node_file(number, "distance"));
    NodeFacts {
        number,
        memory_bytes: reader.read_text(&node_file(number, "meminfo")).and_then(|text| memory_bytes(&text)),
        distances,
        file: Some(node_file(number, FILES[0])),
        ..NodeFacts::default()
    }
}

/// Returns the cpus of each node. Every cpu is in one: if the lists and masks contradict this or each other, a cpu is in the node that most
/// files name, or else in the smallest, since a description by hand may nest them.
fn divide_cpus(reader: &ValueReader, numbers: &CpuSet, online: &CpuSet) -> BTreeMap<u32, CpuSet> {
    let read = |number: u32, name: &str| {
        Some((number, node_file(number, name), reader.read_cpus(&node_file(number, name))?.intersection(online)))
    };
    let readings: Vec<(u32, String, CpuSet)> =
        numbers.iter().flat_map(|number| FILES.iter().filter_map(move |name| read(number, name))).collect();
    let mut first: BTreeMap<u32, CpuSet> = BTreeMap::new();
    readings.iter().for_each(|(number, _, cpus)| _ = first.entry(*number).or_insert_with(|| cpus.clone()));
    let all = first.values().fold(CpuSet::new(), |all, cpus| all.union(cpus));
    let is_divided = all == *online && first.values().map(CpuSet::len).sum::<usize>() == all.len();
    let agree = readings.iter().all(|(number, _, cpus)| first[number] == *cpus);
    let each_has_all = first.len() == numbers.len() && first.values().all(|cpus| cpus == online);
    if (is_divided && agree) || each_has_all {
        return first;
    }
    let mut votes: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for (number, _, cpus) in &readings {
        cpus.iter().for_each(|cpu| *votes.entry(cpu).or_default().entry(*number).or_default() += 1);
        let size = sizes.entry(*number).or_default();
        *size = (*size).max(cpus.len());
    }
    let mut sets: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for (cpu, nodes) in votes {
        let best =
            nodes.into_iter().max_by_key(|(number, count)| (*count, std::cmp::Reverse((sizes[number], *number))));
        best.into_iter().for_each(|(number, _)| _ = sets.entry(number).or_default().insert(cpu));
    }
    let nothing = CpuSet::new();
    let wrong = readings.iter().filter(|(number, _, cpus)| cpus != sets.get(number).unwrap_or(&nothing));
    let doubts: Vec<String> = wrong.take(MOST_NAMED).map(|(_, file, cpus)| format!("{file} says {cpus}")).collect();
    if !doubts.is_empty() {
        let why = format!("files contradict each other: {}", doubts.join("; "));
        reader.add_doubt(node_gap("cpus of NUMA nodes", why));
    }
    sets
}

/// Returns one node in place of several that all hold every cpu, which a kernel bug causes.
fn one_for_all(reader: &ValueReader, nodes: &[NodeFacts], online: &CpuSet) -> Option<NodeFacts> {
    let [first, _, ..] = nodes else { return None };
    if online.len() < 2 || nodes.iter().any(|node| node.cpus != *online) {
        return None;
    }
    let name =
        FILES.iter().find(|name| reader.read_cpus(&node_file(first.number, name)).is_some()).unwrap_or(&FILES[0]);
    let why = format!(
        "each of the {} nodes holds every cpu ({}); they are treated as one",
        nodes.len(),
        node_file(first.number, name)
    );
    reader.add_doubt(node_gap("NUMA nodes", why));
    let memory = nodes.iter().filter_map(|node| node.memory_bytes).reduce(|a, b| a.saturating_add(b));
    Some(NodeFacts { number: first.number, cpus: online.clone(), memory_bytes: memory, ..NodeFacts::default() })
}

/// Parses the `MemTotal` line, of a node or of the whole machine, into bytes.
fn memory_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim_end().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

/// Returns a node's distances; none, and a gap, if one of them is no number or less than that of a node to itself.
fn read_distances(reader: &ValueReader, file: &str) -> Vec<u32> {
    let text = reader.read_text(file).unwrap_or_default();
    let distances: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
    match distances {
        Ok(distances) if distances.iter().all(|distance| *distance >= OWN_DISTANCE) => distances,
        _ => {
            let why = format!("{file} says {}, but distances are numbers from {OWN_DISTANCE} on", text.trim());
            reader.add_doubt(Gap::new("distances of nodes", why));
            Vec::new()
        }
    }
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
        let found = read_nodes(&ValueReader::new(&root), &CpuSet::first_cpus(4));
        assert_eq!(found.iter().map(|node| node.number).collect::<Vec<_>>(), [0, 2], "node 1 has no online cpu");
        assert_eq!((found[0].memory_bytes, found[0].distances.clone()), (Some(1 << 30), vec![10, 20]));
        assert_eq!((found[1].cpus.to_string(), found[1].memory_bytes), ("2,3".into(), None));
        assert!(found[1].distances.is_empty());
    }

    #[test]
    fn without_numa_all_memory_is_one_node() {
        let root = Root::from_files([("proc/meminfo", "MemTotal:   2048 kB\n")]);
        let found = read_nodes(&ValueReader::new(&root), &CpuSet::first_cpus(4));
        assert_eq!((found.len(), found[0].memory_bytes, found[0].cpus.len()), (1, Some(2 << 20), 4));
        let nothing = Root::from_files([("other", "")]);
        assert!(read_nodes(&ValueReader::new(&nothing), &CpuSet::first_cpus(4)).is_empty());
    }

    fn told(files: &[(&str, &str)]) -> (String, String) {
        let root = Root::from_files(files.iter().map(|(path, text)| (format!("{NODES}/{path}"), *text)));
        let reader = ValueReader::new(&root);
        let found = read_nodes(&reader, &CpuSet::first_cpus(4));
        let sets = found.iter().map(|node| format!("{}: {}", node.number, node.cpus)).collect::<Vec<_>>().join(", ");
        (sets, reader.into_gaps().into_iter().map(|gap| gap.why).collect())
    }

    #[test]
    fn a_list_that_contradicts_the_others_loses_against_masks() {
        for wrong in ["0", "0-3", "1-2"] {
            let files =
                [("node0/cpulist", wrong), ("node0/cpumap", "3"), ("node1/cpulist", "2-3"), ("node1/cpumap", "c")];
            let (sets, gap) = told(&files);
            assert_eq!((sets.as_str(), gap.contains("node0/cpulist says")), ("0: 0,1, 1: 2,3", true), "{wrong}: {gap}");
        }
    }

    #[test]
    fn nodes_that_all_hold_every_cpu_are_one() {
        let memory = "Node 0 MemTotal: 1 kB";
        let files =
            [("node0/cpumap", "f"), ("node0/meminfo", memory), ("node1/cpumap", "f"), ("node1/meminfo", memory)];
        let (sets, gap) = told(&files);
        assert_eq!((sets.as_str(), gap.contains("node0/cpumap")), ("0: 0-3", true), "{gap}");
    }

    #[test]
    fn the_list_of_nodes_is_checked_against_their_folders() {
        let files = |online| [("online", online), ("node0/cpulist", "0-1"), ("node1/cpulist", "2-3")];
        assert_eq!(told(&files("0-1")), ("0: 0,1, 1: 2,3".into(), String::new()));
        for wrong in ["0", "0-9"] {
            let (sets, gap) = told(&files(wrong));
            assert_eq!((sets.as_str(), gap.contains("node/online")), ("0: 0,1, 1: 2,3", true), "{wrong}: {gap}");
        }
    }
}
