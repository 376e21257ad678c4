//! Output of other memory tools as a map: Intel's Memory Latency Checker (nanoseconds and MB/s), `numactl -H`
//! (distances, which are not nanoseconds).

use corewise_machine::assemble::assemble_machine;
use corewise_machine::facts::{CpuFacts, MachineFacts, NodeFacts};
use corewise_machine::{CpuSet, Machine};

use super::plan::{MemoryPlan, caches_bytes, one_of_each_core};
use super::{MemoryMap, NodeBandwidth, NodeCost, StreamOperation};
use crate::artifact::{ArtifactOrigin, ArtifactProvenance};

/// Maximum number of nodes in a table.
const MOST_NODES: usize = 4_096;

/// Contents of a text, by tool.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportedMemory {
    /// Intel's Memory Latency Checker: from a node to a node.
    Mlc {
        /// Idle latencies in nanoseconds.
        latencies: Vec<(u32, u32, f64)>,
        /// Reads of all cpus of a node, in gigabytes (1e9) per second.
        bandwidths: Vec<(u32, u32, f64)>,
    },
    /// `numactl -H`: a machine with its distances.
    Numactl(Box<Machine>),
}

/// Reads a text of one of the tools.
///
/// # Errors
/// The missing part, in words that follow the file's name and a colon.
pub fn read_memory(text: &str) -> Result<ImportedMemory, String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.iter().any(|line| line.starts_with("available:") && line.contains("node")) {
        return read_numactl(&lines).map(|machine| ImportedMemory::Numactl(Box::new(machine)));
    }
    let latencies = table_after(&lines, |line| line.contains("idle latencies") || line.contains("Idle latencies"))?;
    let between = |line: &str| line.contains("Bandwidths between nodes");
    let bandwidths = table_after(&lines, between)?.into_iter().map(|(from, to, mb_s)| (from, to, mb_s / 1e3)).collect();
    if latencies.is_empty() {
        return Err(
            "it is no output of Intel's Memory Latency Checker (mlc) with latencies, and none of numactl -H".into()
        );
    }
    Ok(ImportedMemory::Mlc { latencies, bandwidths })
}

/// Returns the matrix of the first table after a title: "Numa node  0  1", then a row for each node.
fn table_after(lines: &[&str], is_title: impl Fn(&str) -> bool) -> Result<Vec<(u32, u32, f64)>, String> {
    let Some(title) = lines.iter().position(|line| is_title(line)) else { return Ok(Vec::new()) };
    let numbers =
        |line: &str| line.split_whitespace().map(|word| word.parse::<f64>().ok()).collect::<Option<Vec<f64>>>();
    let head = lines[title..].iter().enumerate().find_map(|(place, line)| {
        let rest = line.trim().strip_prefix("Numa node")?;
        let nodes: Option<Vec<u32>> = rest.split_whitespace().map(|word| word.parse().ok()).collect();
        nodes.filter(|nodes| !nodes.is_empty()).map(|nodes| (title + place, nodes))
    });
    let Some((place, nodes)) = head else { return Err("a table of nodes has no head \"Numa node 0 1 …\"".into()) };
    let mut found = Vec::new();
    for line in lines[place + 1..].iter().take(MOST_NODES) {
        let Some(row) = numbers(line).filter(|row| row.len() > 1) else { break };
        let (from, values) = (row[0], &row[1..]);
        if values.len() != nodes.len() || from.fract() != 0.0 || from < 0.0 {
            return Err(format!("the row \"{}\" has not one number for each of {} nodes", line.trim(), nodes.len()));
        }
        if let Some(value) = values.iter().find(|value| !value.is_finite() || **value <= 0.0) {
            return Err(format!("{value} in the row of node {from} is no latency and no bandwidth"));
        }
        found.extend(nodes.iter().zip(values).map(|(to, value)| (from as u32, *to, *value)));
    }
    if found.is_empty() { Err("a table of nodes has no rows".into()) } else { Ok(found) }
}

/// Reads "node 0 cpus: 0 1", "node 0 size: 24105 MB", and the distances after "node distances:".
fn read_numactl(lines: &[&str]) -> Result<Machine, String> {
    let mut nodes: Vec<NodeFacts> = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["node", number, what @ ("cpus:" | "size:"), rest @ ..] = &words[..] else { continue };
        let number: u32 = number.parse().map_err(|_| format!("\"{number}\" is no number of a node"))?;
        if nodes.len() >= MOST_NODES {
            return Err(format!("it has more than {MOST_NODES} nodes"));
        }
        let place = nodes.iter().position(|node| node.number == number).unwrap_or_else(|| {
            nodes.push(NodeFacts { number, ..NodeFacts::default() });
            nodes.len() - 1
        });
        if *what == "cpus:" {
            let cpus = (!rest.is_empty()).then(|| CpuSet::parse_list(&rest.join(","))).transpose();
            nodes[place].cpus = cpus.map_err(|error| error.to_string())?.unwrap_or_default();
        } else {
            let mib: u64 = rest.first().and_then(|word| word.parse().ok()).ok_or("a size of a node is no number")?;
            nodes[place].memory_bytes = Some(mib.saturating_mul(1 << 20));
        }
    }
    nodes.sort_by_key(|node| node.number);
    for node in &mut nodes {
        let begin = format!("{}:", node.number);
        let row = lines.iter().find_map(|line| line.trim().strip_prefix(&begin));
        let row: Option<Vec<u32>> = row.and_then(|row| row.split_whitespace().map(|word| word.parse().ok()).collect());
        node.distances = row.unwrap_or_default();
    }
    let cpus = nodes.iter().fold(CpuSet::new(), |all, node| all.union(&node.cpus));
    if cpus.is_empty() || nodes.iter().any(|node| node.distances.len() != nodes.len()) {
        return Err("it has no cpus, or not one distance from each node to each".into());
    }
    let cpus = cpus.iter().map(|number| CpuFacts { number, ..CpuFacts::default() }).collect();
    Ok(assemble_machine(MachineFacts { cpus, nodes, ..MachineFacts::default() }))
}

/// Builds a map of the contents. `machine` is the measured machine; a file of numactl has its own. `file` and
/// `at_unix_ms` are for the record.
///
/// # Errors
/// If the machine lacks a node of the file.
pub fn build_map(
    imported: ImportedMemory,
    machine: Machine,
    file: String,
    (at_unix_ms, corewise): (i64, &str),
) -> Result<MemoryMap, String> {
    let (machine, latencies, bandwidths, format, remarks) = match imported {
        ImportedMemory::Numactl(machine) => {
            let remarks =
                vec!["distances are what firmware states relative to the own node (10), not nanoseconds".to_owned()];
            (*machine, Vec::new(), Vec::new(), "numactl -H", remarks)
        }
        ImportedMemory::Mlc { latencies, bandwidths } => {
            let remarks = vec![
                "mlc names nodes, not cpus: each number is shown for all cpus of its node".to_owned(),
                "its loaded latencies are left out".to_owned(),
            ];
            (machine, latencies, bandwidths, "Intel Memory Latency Checker", remarks)
        }
    };
    let missing = latencies.iter().chain(&bandwidths).flat_map(|(from, to, _)| [*from, *to]);
    let missing = missing.into_iter().find(|node| machine.nodes.iter().all(|own| own.number != *node));
    if let Some(node) = missing {
        return Err(format!("node {node} of the file is not a node of this machine"));
    }
    let plan = MemoryPlan::new(&machine, &machine.online, 0, 0);
    let of = |table: &[(u32, u32, f64)], from: Option<u32>, to: u32| {
        table.iter().find(|(known, other, _)| Some(*known) == from && *other == to).map(|(_, _, value)| *value)
    };
    let cell = |(initiator, node): (usize, usize)| {
        let (initiator, node) = (&plan.initiators[initiator], plan.nodes[node]);
        let all = plan.initiators.iter().filter(|other| other.node == initiator.node);
        let all = all.fold(CpuSet::new(), |all, other| all.union(&other.cpus));
        let gb_s = of(&bandwidths, initiator.node, node);
        NodeCost {
            initiator: initiator.cpus.clone(),
            cpu: initiator.cpu,
            node,
            huge_ns: of(&latencies, initiator.node, node).into_iter().collect(),
            small_ns: Vec::new(),
            bandwidth: gb_s
                .map(|gb_s| NodeBandwidth {
                    operation: StreamOperation::Read,
                    cpus: one_of_each_core(&machine, &all),
                    visits_gb_s: vec![gb_s],
                })
                .into_iter()
                .collect(),
        }
    };
    let everything =
        (0..plan.initiators.len()).flat_map(|initiator| (0..plan.nodes.len()).map(move |node| (initiator, node)));
    let cells = everything.map(cell).collect();
    Ok(MemoryMap {
        provenance: ArtifactProvenance {
            origin: ArtifactOrigin::Imported { file, format: format.to_owned(), remarks },
            corewise: corewise.to_owned(),
            started_unix_ms: at_unix_ms,
            elapsed_s: 0.0,
            budget_s: 0.0,
            seed: 0,
            partial: false,
        },
        clock: None,
        cpus: machine.online.clone(),
        // Another tool chose its buffers: this size avoids a warning about caches.
        buffer_bytes: super::plan::BUFFER_TO_CACHES.saturating_mul(caches_bytes(&machine)),
        caches_bytes: caches_bytes(&machine),
        staircases: Vec::new(),
        cells,
        curves: Vec::new(),
        rounds: 1,
        gaps: Vec::new(),
        machine,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Artifact as _;

    const MLC: &str = "Intel(R) Memory Latency Checker - v3.9\nMeasuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t     0\t     1\t\n       0\t  81.5\t 139.5\t\n       1\t 138.9\t  81.3\t\n\nMeasuring Peak Injection Memory Bandwidths for the system\nALL Reads        :\t220000.1\t\n\nMeasuring Memory Bandwidths between nodes within system \nBandwidths are in MB/sec\n\t\tNuma node\nNuma node\t     0\t     1\t\n       0\t110000.5\t34000.2\t\n       1\t34100.0\t110100.0\t\n\nMeasuring Loaded Latencies for the system\nDelay\n 00000\t 220.51\t   215000.1\n";
    const NUMACTL: &str = "available: 3 nodes (0-1,4)\nnode 0 cpus: 0 1\nnode 0 size: 1000 MB\nnode 0 free: 7 MB\nnode 1 cpus: 2 3\nnode 1 size: 0 MB\nnode 1 free: 0 MB\nnode 4 cpus:\nnode 4 size: 2000 MB\nnode distances:\nnode   0   1   4 \n  0:  10  21  17 \n  1:  21  10  28 \n  4:  17  28  10 \n";

    fn two_nodes() -> Machine {
        let text = "name = \"x\"\ncpus = \"0-3\"\nnodes = [{ cpus = \"0-1\" }, { cpus = \"2-3\" }]\n";
        corewise_machine::machine_file::parse(text).unwrap().machine
    }

    #[test]
    fn tables_of_mlc_are_nanoseconds_and_gigabytes() {
        let map = build_map(read_memory(MLC).unwrap(), two_nodes(), "mlc.txt".into(), (0, "test")).unwrap();
        map.check_loaded().unwrap();
        let shown = map.draw_conclusions();
        let ns: Vec<f64> = shown.costs.iter().map(|cost| cost.huge_ns.unwrap().median).collect();
        assert_eq!(ns, [81.5, 139.5, 138.9, 81.3]);
        assert_eq!(shown.costs[1].streams[0].gb_s.median, 34.0002);
        let is_remote = |text: &str| text.starts_with("Memory of another node takes") && text.contains("(1.7x");
        assert!(shown.findings.iter().any(|finding| is_remote(&finding.statement)));
        let one = corewise_machine::machine_file::parse("name = \"x\"\ncpus = \"0-3\"\nnodes = [{ cpus = \"0-3\" }]\n")
            .unwrap();
        let refused =
            super::build_map(read_memory(MLC).unwrap(), one.machine, "mlc.txt".into(), (0, "test")).unwrap_err();
        assert_eq!(refused, "node 1 of the file is not a node of this machine");
    }

    #[test]
    fn distances_of_numactl_are_no_nanoseconds() {
        let map = build_map(read_memory(NUMACTL).unwrap(), two_nodes(), "n.txt".into(), (0, "test")).unwrap();
        map.check_loaded().unwrap();
        assert_eq!(map.machine.nodes.iter().map(|node| node.number).collect::<Vec<_>>(), [0, 1, 4]);
        let shown = map.draw_conclusions();
        // Node 1 has no memory: its cpus are nearest to node 0.
        let of = |node| shown.costs.iter().filter(move |cost| cost.own_node == Some(node));
        assert_eq!(
            of(1).map(|cost| (cost.node, cost.distance, cost.is_nearest)).collect::<Vec<_>>(),
            [(0, 21, true), (4, 28, false)]
        );
        assert!(shown.costs.iter().all(|cost| cost.huge_ns.is_none()) && shown.findings.is_empty());
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for (text, what) in [
            ("", "it is no output of"),
            ("Measuring idle latencies\n", "no head"),
            ("Measuring idle latencies\nNuma node 0 1\n 0 81\n", "has not one number for each of 2 nodes"),
            ("Measuring idle latencies\nNuma node 0\n 0 -3\n", "-3 in the row of node 0"),
            ("Measuring idle latencies\nNuma node 0\n 0 nan\n", "is no latency"),
            ("Measuring idle latencies\nNuma node 0\n", "no rows"),
            ("available: 1 nodes (0)\nnode 0 cpus: 0 1\n", "not one distance"),
            ("available: 1 nodes (0)\nnode 0 cpus: 0 x\n", "x"),
            ("available: 1 nodes (0)\nnode 0 size: big\n", "no number"),
        ] {
            let error = read_memory(text).unwrap_err();
            assert!(error.contains(what), "{text:?}: {error}");
        }
    }
}
