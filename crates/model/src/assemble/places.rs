//! Packages, dies and NUMA nodes.

use super::group;
use crate::facts::{MachineFacts, NodeFacts};
use crate::machine::{Node, Object};
use crate::{CpuSet, Gap};

/// The packages, in order of their lowest cpu; cpus without a package number are one package.
pub fn packages(facts: &MachineFacts) -> Vec<Object> {
    let groups = group::by_key(&facts.cpus, |cpu| cpu.package);
    groups.into_iter().map(|(os_number, cpus)| Object { os_number, cpus }).collect()
}

/// The dies, in order of their lowest cpu: as the kernel lists them, by die number in the package where it does not, and
/// the package where there is no die number either.
pub fn dies(facts: &MachineFacts) -> Vec<Object> {
    let listed = group::by_sharing(&facts.cpus, |cpu| cpu.die_cpus.as_ref());
    let place = |cpu: u32| listed.iter().position(|set| set.contains(cpu));
    let groups =
        group::by_key(&facts.cpus, |cpu| (cpu.package, cpu.die_cpus.as_ref().and_then(|_| place(cpu.number)), cpu.die));
    groups.into_iter().map(|((_, _, os_number), cpus)| Object { os_number, cpus }).collect()
}

/// The NUMA nodes, in order of their numbers; all cpus are one node where the source knows none.
pub fn nodes(facts: &MachineFacts, online: &CpuSet) -> Vec<Node> {
    if facts.nodes.is_empty() {
        return vec![Node { number: 0, cpus: online.clone(), memory_bytes: None, distances: Vec::new() }];
    }
    let mut given: Vec<&NodeFacts> = facts.nodes.iter().collect();
    given.sort_by_key(|node| node.number);
    given.dedup_by_key(|node| node.number);
    let innermost = innermost(&given, online);
    let distances =
        |node: &NodeFacts| if node.distances.len() == given.len() { node.distances.clone() } else { vec![] };
    given
        .iter()
        .zip(innermost)
        .map(|(node, cpus)| Node {
            number: node.number,
            cpus,
            memory_bytes: node.memory_bytes,
            distances: distances(node),
        })
        .collect()
}

/// The online cpus of each node. A cpu that several nodes claim goes to the smallest of them: Linux has every cpu in one
/// node, but a hand-made description may nest them.
fn innermost(given: &[&NodeFacts], online: &CpuSet) -> Vec<CpuSet> {
    let claimed: Vec<CpuSet> = given.iter().map(|node| node.cpus.intersection(online)).collect();
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_by_key(|&at| claimed[at].len());
    let mut taken = CpuSet::new();
    let mut sets = vec![CpuSet::new(); given.len()];
    for at in order {
        sets[at] = claimed[at].difference(&taken);
        taken = taken.union(&claimed[at]);
    }
    sets
}

/// What to say of nodes that are not known.
pub fn node_gaps(facts: &MachineFacts, nodes: &[Node], online: &CpuSet) -> Option<Gap> {
    if online.is_empty() {
        return None;
    }
    if facts.nodes.is_empty() {
        return Some(Gap::new("NUMA nodes", "they are not reported; all cpus are treated as one node"));
    }
    let placed = nodes.iter().fold(CpuSet::new(), |all, node| all.union(&node.cpus));
    let missing = online.difference(&placed);
    (!missing.is_empty()).then(|| Gap::new("NUMA nodes", format!("the online cpus {missing} are in no node")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::{facts, lists, set};

    fn node(number: u32, list: &str) -> NodeFacts {
        NodeFacts { number, cpus: set(list), memory_bytes: Some(0), distances: vec![10, 20] }
    }

    #[test]
    fn cpus_without_a_package_number_are_one_package() {
        let found = packages(&facts(3, |cpu| cpu.package = (cpu.number > 0).then_some(36)));
        assert_eq!(lists(found.iter().map(|package| &package.cpus)), ["0", "1,2"]);
        assert_eq!(found.iter().map(|package| package.os_number).collect::<Vec<_>>(), [None, Some(36)]);
        assert_eq!(packages(&facts(3, |_| ())).len(), 1);
    }

    #[test]
    fn dies_are_listed_or_numbered_or_the_package() {
        let found = |facts: &MachineFacts| lists(dies(facts).iter().map(|die| &die.cpus));
        let packaged = facts(4, |cpu| cpu.package = Some(i64::from(cpu.number / 2)));
        assert_eq!(found(&packaged), ["0,1", "2,3"]);
        let numbered = facts(4, |cpu| {
            cpu.package = Some(i64::from(cpu.number / 2));
            cpu.die = Some(0);
        });
        assert_eq!(found(&numbered), ["0,1", "2,3"], "die numbers begin anew in each package");
        let listed = facts(4, |cpu| {
            cpu.package = Some(0);
            cpu.die_cpus = Some(set(["0,2", "1,3"][cpu.number as usize % 2]));
        });
        assert_eq!(found(&listed), ["0,2", "1,3"]);
    }

    #[test]
    fn nodes_may_be_sparse_and_without_cpus() {
        let mut machine = facts(4, |_| ());
        machine.nodes = vec![node(8, ""), node(2, "0-3,7")];
        let found = nodes(&machine, &set("0-3"));
        assert_eq!(
            found.iter().map(|node| (node.number, node.cpus.to_string())).collect::<Vec<_>>(),
            [(2, "0-3".into()), (8, String::new())]
        );
        assert_eq!(found[0].distances, [10, 20]);
        assert_eq!(node_gaps(&machine, &found, &set("0-3")), None);
        assert!(node_gaps(&machine, &found, &set("0-5")).unwrap().why.contains("cpus 4,5 are"));
    }

    #[test]
    fn a_cpu_that_nested_nodes_claim_goes_to_the_smallest() {
        let mut machine = facts(6, |_| ());
        machine.nodes = vec![node(0, "0-5"), node(1, "2-5"), node(2, "4-5")];
        assert_eq!(lists(nodes(&machine, &set("0-5")).iter().map(|node| &node.cpus)), ["0,1", "2,3", "4,5"]);
        assert!(nodes(&machine, &set("0-5"))[0].distances.is_empty(), "two distances for three nodes say nothing");
    }

    #[test]
    fn no_nodes_are_one_node_and_a_gap() {
        let machine = facts(2, |_| ());
        let found = nodes(&machine, &set("0-1"));
        assert_eq!((found.len(), found[0].memory_bytes), (1, None));
        assert!(node_gaps(&machine, &found, &set("0-1")).is_some());
    }
}
