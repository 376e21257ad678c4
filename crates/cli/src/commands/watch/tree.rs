//! The machine as an unfolding tree: package › last-level cache › core › cpu, with further levels if present.

use corewise_machine::{CpuSet, Level, Machine};

use crate::draw::tree::{TreeBranch, grow_tree};

/// An object of the machine, or a cpu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Unique label: "package:0 llc:0", "core:3", "cpu 7".
    pub label: String,
    /// A remark such as "V-Cache".
    pub note: &'static str,
    /// Its cpus; a single one for a cpu.
    pub cpus: CpuSet,
    /// Its parts; empty for a cpu.
    pub children: Vec<TreeNode>,
}

impl TreeNode {
    /// Returns true for a cpu.
    pub fn is_cpu(&self) -> bool {
        self.children.is_empty()
    }
}

/// Returns the nodes of a machine, outermost first.
pub fn build_nodes(machine: &Machine) -> Vec<TreeNode> {
    let found: Vec<TreeNode> = grow_tree(machine).iter().map(|branch| branch_node(machine, branch)).collect();
    match found.as_slice() {
        [] => machine.online.iter().map(cpu_node).collect(),
        _ => found,
    }
}

fn branch_node(machine: &Machine, branch: &TreeBranch) -> TreeNode {
    // Nodes and dies that equal a package or a last-level cache add no information.
    let is_usual = |level: &Level| matches!(level, Level::Package | Level::Llc);
    let has_usual = branch.objects.iter().any(|(level, _)| is_usual(level));
    let named = branch.objects.iter().filter(|(level, _)| !has_usual || is_usual(level));
    let words: Vec<String> = named.map(|(level, index)| format!("{level}:{index}")).collect();
    let has_vcache = branch.index_of(Level::Llc).is_some_and(|index| machine.llcs[index].vcache);
    let cores = branch.cores.iter().map(|index| core_node(*index, &machine.cores[*index].cpus));
    let mut children: Vec<TreeNode> =
        branch.children.iter().map(|child| branch_node(machine, child)).chain(cores).collect();
    children.sort_by_key(|child| child.cpus.lowest());
    TreeNode {
        label: words.join(" "),
        note: if has_vcache { "V-Cache" } else { "" },
        cpus: branch.cpus.clone(),
        children,
    }
}

fn core_node(index: usize, cpus: &CpuSet) -> TreeNode {
    match cpus.len() {
        1 => cpu_node(cpus.lowest().unwrap_or_default()),
        _ => TreeNode {
            label: format!("core:{index}"),
            note: "",
            cpus: cpus.clone(),
            children: cpus.iter().map(cpu_node).collect(),
        },
    }
}

fn cpu_node(cpu: u32) -> TreeNode {
    TreeNode { label: format!("cpu {cpu}"), note: "", cpus: CpuSet::from_cpu(cpu), children: Vec::new() }
}

/// Returns the number of rows of nodes that are unfolded to a depth.
pub fn rows_at(nodes: &[TreeNode], depth: usize) -> usize {
    let below = |node: &TreeNode| if depth == 0 { 0 } else { rows_at(&node.children, depth - 1) };
    nodes.iter().map(|node| 1 + below(node)).sum()
}

/// Collects the labels of nodes with children at this depth and below.
pub fn labels_at(nodes: &[TreeNode], depth: usize, into: &mut Vec<String>) {
    for node in nodes.iter().filter(|node| !node.is_cpu()) {
        if depth == 0 {
            into.push(node.label.clone());
        }
        // Nodes inside a folded one are folded too, so that they stay folded when it is unfolded.
        labels_at(&node.children, depth.saturating_sub(1), into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::fixtures::fabricated;

    #[test]
    fn levels_that_say_nothing_new_are_one_row() {
        let nodes = build_nodes(&fabricated::ryzen_9950x3d());
        assert_eq!((nodes[0].label.as_str(), nodes[0].children.len()), ("package:0", 2));
        let llc = &nodes[0].children[0];
        assert_eq!((llc.label.as_str(), llc.note), ("llc:0", "V-Cache"));
        assert_eq!(llc.children[1].label, "core:1");
        assert_eq!(
            llc.children[1].children.iter().map(|cpu| cpu.label.as_str()).collect::<Vec<_>>(),
            ["cpu 1", "cpu 17"]
        );
        assert_eq!([0, 1, 2, 3].map(|depth| rows_at(&nodes, depth)), [1, 3, 19, 51]);
        let mut folded = Vec::new();
        labels_at(&nodes, 1, &mut folded);
        assert_eq!(folded.len(), 2 + 16, "the caches, and the cores in them");
    }

    #[test]
    fn a_core_of_one_cpu_is_that_cpu() {
        let nodes =
            build_nodes(&corewise_machine::generate::one_package_machine(4, false, &[(CpuSet::first_cpus(4), 32)]));
        let all: Vec<&str> = nodes[0].children.iter().map(|node| node.label.as_str()).collect();
        assert_eq!(all, ["cpu 0", "cpu 1", "cpu 2", "cpu 3"]);
    }
}
