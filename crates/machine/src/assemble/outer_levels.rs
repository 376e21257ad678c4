//! Packages and the levels around them, dies, and NUMA nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::partition;
use crate::facts::{CpuFacts, MachineFacts, NodeFacts};
use crate::machine::{MachineObject, NumaNode};
use crate::{CpuSet, Gap, GapSubject};

/// Returns the packages, in order of their lowest cpu: by number if the numbers are unique. If they are not, or if there are none (-1 on
/// s390), the lists of cpus decide. Cpus without both are one package.
///
/// Lists no longer than cores are ignored: some kernels list the threads of a core as a package (POWER7). They count if core numbers show
/// that several packages of one core each have the same number (Itanium).
pub fn build_packages(facts: &MachineFacts, cores: &[MachineObject]) -> Vec<MachineObject> {
    let listed = ListedGroups::from_lists(facts, |cpu| cpu.package_cpus.as_ref());
    let beyond_cores = cores.iter().any(|core| core.cpus.iter().any(|cpu| listed.len_of(cpu) > core.cpus.len()));
    let believed = beyond_cores || several_have_the_same_numbers(facts, cores);
    let place = |cpu: &CpuFacts| listed.group_of_cpu(cpu.number).filter(|_| believed);
    let groups = partition::by_key(&facts.cpus, |cpu| (place(cpu), cpu.package));
    groups.into_iter().map(|((_, os_number), cpus)| MachineObject { os_number, cpus }).collect()
}

/// Returns the books, or drawers, in order of their lowest cpu: as the kernel lists them, each with the whole of the objects inside. Empty
/// if no list exists.
pub fn build_outer_objects(
    facts: &MachineFacts,
    inside: &[MachineObject],
    list: impl Fn(&CpuFacts) -> Option<&CpuSet>,
) -> Vec<MachineObject> {
    if facts.cpus.iter().all(|cpu| list(cpu).is_none()) {
        return Vec::new();
    }
    let whole = |cpus: &CpuSet| {
        let held = inside.iter().filter(|object| !object.cpus.is_disjoint(cpus));
        held.fold(cpus.clone(), |all, object| all.union(&object.cpus))
    };
    let with_all = |cpu: &CpuFacts| (cpu.number, whole(list(cpu).unwrap_or(&CpuSet::from_cpu(cpu.number))));
    let listed: BTreeMap<u32, CpuSet> = facts.cpus.iter().map(with_all).collect();
    let groups = partition::by_sharing(&facts.cpus, |cpu| listed.get(&cpu.number));
    groups.into_iter().map(|cpus| MachineObject { os_number: None, cpus }).collect()
}

/// Returns true if two cores have the same package, die and core number.
fn several_have_the_same_numbers(facts: &MachineFacts, cores: &[MachineObject]) -> bool {
    let firsts =
        cores.iter().filter_map(|core| facts.cpus.binary_search_by_key(&core.cpus.lowest()?, |cpu| cpu.number).ok());
    let numbers = firsts.map(|at| &facts.cpus[at]).filter_map(|cpu| Some((cpu.package?, cpu.die, cpu.core?)));
    let mut seen = BTreeSet::new();
    !numbers.into_iter().all(|numbers| seen.insert(numbers))
}

/// Returns the dies, in order of their lowest cpu: as the kernel lists them, otherwise by die number in the package, otherwise the package.
pub fn build_dies(facts: &MachineFacts, packages: &[MachineObject]) -> Vec<MachineObject> {
    let listed = ListedGroups::from_lists(facts, |cpu| cpu.die_cpus.as_ref());
    let package = |cpu: &CpuFacts| packages.iter().position(|package| package.cpus.contains(cpu.number));
    let by_number = |cpu: &CpuFacts| cpu.die.filter(|_| cpu.die_cpus.is_none());
    let groups = partition::by_key(&facts.cpus, |cpu| (package(cpu), listed.group_of_cpu(cpu.number), by_number(cpu)));
    let number = |cpus: &CpuSet| facts.cpus.iter().find(|cpu| cpus.contains(cpu.number) && cpu.die.is_some())?.die;
    groups.into_iter().map(|(_, cpus)| MachineObject { os_number: number(&cpus), cpus }).collect()
}

/// Groups formed by the kernel's lists, and the group of each cpu.
struct ListedGroups {
    groups: Vec<CpuSet>,
    place: BTreeMap<u32, usize>,
}

impl ListedGroups {
    fn from_lists<'a>(facts: &'a MachineFacts, list: impl Fn(&'a CpuFacts) -> Option<&'a CpuSet>) -> Self {
        let groups = partition::by_sharing(&facts.cpus, &list);
        let has = |cpu: &u32| {
            facts.cpus.binary_search_by_key(cpu, |facts| facts.number).is_ok_and(|at| list(&facts.cpus[at]).is_some())
        };
        let place = groups.iter().enumerate().flat_map(|(at, cpus)| cpus.iter().map(move |cpu| (cpu, at)));
        let place = place.filter(|(cpu, _)| has(cpu)).collect();
        Self { groups, place }
    }

    fn group_of_cpu(&self, cpu: u32) -> Option<usize> {
        self.place.get(&cpu).copied()
    }

    fn len_of(&self, cpu: u32) -> usize {
        self.group_of_cpu(cpu).map_or(0, |at| self.groups[at].len())
    }
}

/// Returns the NUMA nodes, in order of their numbers; one node with all cpus if the source reports none.
pub fn build_nodes(facts: &MachineFacts, online: &CpuSet) -> Vec<NumaNode> {
    if facts.nodes.is_empty() {
        return vec![NumaNode { number: 0, cpus: online.clone(), ..NumaNode::default() }];
    }
    let mut given: Vec<&NodeFacts> = facts.nodes.iter().collect();
    given.sort_by_key(|node| node.number);
    given.dedup_by_key(|node| node.number);
    let innermost = innermost_cpus(&given, online);
    let distances =
        |node: &NodeFacts| if node.distances.len() == given.len() { node.distances.clone() } else { vec![] };
    given
        .iter()
        .zip(innermost)
        .map(|(node, cpus)| NumaNode {
            number: node.number,
            cpus,
            memory_bytes: node.memory_bytes,
            distances: distances(node),
            memory_kind: node.memory_kind,
            initiators: node.initiators.clone(),
        })
        .collect()
}

/// Returns the allowed nodes that exist; `None` if the source does not say or names none of them.
pub fn allowed_memory(allowed: Option<CpuSet>, nodes: &[NumaNode], gaps: &mut Vec<Gap>) -> Option<CpuSet> {
    let allowed = allowed?;
    let known: CpuSet = nodes.iter().map(|node| node.number).collect();
    if allowed.is_disjoint(&known) {
        gaps.push(Gap::new("allowed memory", format!("none of the allowed nodes {allowed} is there")));
        return None;
    }
    Some(allowed.intersection(&known))
}

/// Returns the online cpus of each node. A cpu that several nodes claim goes to the smallest of them: Linux has every cpu in one node, but
/// a hand-made description may nest them.
fn innermost_cpus(given: &[&NodeFacts], online: &CpuSet) -> Vec<CpuSet> {
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

/// Returns a gap for unknown nodes.
pub fn node_gaps(facts: &MachineFacts, nodes: &[NumaNode], online: &CpuSet) -> Option<Gap> {
    if online.is_empty() {
        return None;
    }
    if facts.nodes.is_empty() {
        let why = "they are not reported; all cpus are treated as one node";
        return Some(Gap::new("NUMA nodes", why).about(&[GapSubject::Nodes]));
    }
    let placed = nodes.iter().fold(CpuSet::new(), |all, node| all.union(&node.cpus));
    let missing = online.difference(&placed);
    let files: Vec<&str> = facts.nodes.iter().filter_map(|node| node.file.as_deref()).take(MOST_NAMED).collect();
    let by = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
    let why = format!("the online cpus {missing} are in no node{by}");
    (!missing.is_empty()).then(|| Gap::new("NUMA nodes", why).about(&[GapSubject::Nodes]))
}

/// Maximum files named in a gap.
const MOST_NAMED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::cores;
    use crate::assemble::sample::{cpu_facts, format_lists, parse_set};

    fn node(number: u32, list: &str) -> NodeFacts {
        NodeFacts {
            number,
            cpus: parse_set(list),
            memory_bytes: Some(0),
            distances: vec![10, 20],
            ..NodeFacts::default()
        }
    }

    #[test]
    fn cpus_without_a_package_number_are_one_package() {
        let found = build_packages(&cpu_facts(3, |cpu| cpu.package = (cpu.number > 0).then_some(36)), &[]);
        assert_eq!(format_lists(found.iter().map(|package| &package.cpus)), ["0", "1,2"]);
        assert_eq!(found.iter().map(|package| package.os_number).collect::<Vec<_>>(), [None, Some(36)]);
        assert_eq!(build_packages(&cpu_facts(3, |_| ()), &[]).len(), 1);
    }

    #[test]
    fn packages_are_listed_where_their_numbers_do_not_tell_them_apart() {
        let found = |facts: &MachineFacts| {
            format_lists(build_packages(facts, &cores::build_cores(facts)).iter().map(|package| &package.cpus))
        };
        let machine = |package: Option<i64>, core: fn(u32) -> i64, lists: [&str; 4]| {
            cpu_facts(4, |cpu| {
                (cpu.package, cpu.core) = (package, Some(core(cpu.number)));
                cpu.thread_siblings = Some(CpuSet::from_cpu(cpu.number));
                cpu.package_cpus = Some(parse_set(lists[cpu.number as usize]));
            })
        };
        assert_eq!(found(&machine(None, |_| 0, ["0-1", "0-1", "2-3", "2-3"])), ["0,1", "2,3"], "s390: number -1");
        assert_eq!(found(&machine(None, i64::from, ["0", "1", "2", "3"])), ["0-3"], "POWER7: cores are listed");
        assert_eq!(
            found(&machine(Some(0), |_| 0, ["0", "1", "2", "3"])),
            ["0", "1", "2", "3"],
            "Itanium, one core each"
        );
        assert_eq!(found(&machine(Some(0), |cpu| i64::from(cpu % 2), ["0-1", "0-1", "2-3", "2-3"])), ["0,1", "2,3"]);
        assert_eq!(found(&machine(Some(0), i64::from, ["0", "1", "2", "3"])), ["0-3"]);
    }

    #[test]
    fn memory_is_allowed_on_nodes_that_are_there() {
        let nodes = [0, 2].map(|number| NumaNode { number, ..NumaNode::default() });
        let mut gaps = Vec::new();
        assert_eq!(allowed_memory(Some(parse_set("1-9")), &nodes, &mut gaps), Some(parse_set("2")));
        assert_eq!((allowed_memory(None, &nodes, &mut gaps), gaps.len()), (None, 0));
        assert_eq!((allowed_memory(Some(parse_set("7")), &nodes, &mut gaps), gaps.len()), (None, 1));
    }

    #[test]
    fn books_and_drawers_hold_whole_packages_where_they_are_listed() {
        let listed = |list: fn(u32) -> Option<&'static str>| {
            let facts = cpu_facts(8, |cpu| {
                cpu.package = Some(i64::from(cpu.number / 2));
                cpu.book_cpus = list(cpu.number).map(parse_set);
            });
            format_lists(
                build_outer_objects(&facts, &build_packages(&facts, &[]), |cpu| cpu.book_cpus.as_ref())
                    .iter()
                    .map(|book| &book.cpus),
            )
        };
        assert_eq!(listed(|_| None), [""; 0]);
        assert_eq!(listed(|cpu| Some(["0-3", "4-7"][cpu as usize / 4])), ["0-3", "4-7"]);
        assert_eq!(listed(|cpu| (cpu == 1).then_some("1-2")), ["0-3", "4,5", "6,7"], "packages are never divided");
    }

    #[test]
    fn dies_are_listed_or_numbered_or_the_package() {
        let found = |facts: &MachineFacts| {
            format_lists(build_dies(facts, &build_packages(facts, &[])).iter().map(|die| &die.cpus))
        };
        let packaged = cpu_facts(4, |cpu| cpu.package = Some(i64::from(cpu.number / 2)));
        assert_eq!(found(&packaged), ["0,1", "2,3"]);
        let numbered = cpu_facts(4, |cpu| {
            cpu.package = Some(i64::from(cpu.number / 2));
            cpu.die = Some(0);
        });
        assert_eq!(found(&numbered), ["0,1", "2,3"], "die numbers begin anew in each package");
        let listed = cpu_facts(4, |cpu| {
            cpu.package = Some(0);
            cpu.die_cpus = Some(parse_set(["0,2", "1,3"][cpu.number as usize % 2]));
        });
        assert_eq!(found(&listed), ["0,2", "1,3"]);
    }

    #[test]
    fn nodes_may_be_sparse_and_without_cpus() {
        let mut machine = cpu_facts(4, |_| ());
        machine.nodes = vec![node(8, ""), node(2, "0-3,7")];
        let found = build_nodes(&machine, &parse_set("0-3"));
        assert_eq!(
            found.iter().map(|node| (node.number, node.cpus.to_string())).collect::<Vec<_>>(),
            [(2, "0-3".into()), (8, String::new())]
        );
        assert_eq!(found[0].distances, [10, 20]);
        assert_eq!(node_gaps(&machine, &found, &parse_set("0-3")), None);
        assert!(node_gaps(&machine, &found, &parse_set("0-5")).unwrap().why.contains("cpus 4,5 are"));
    }

    #[test]
    fn a_cpu_that_nested_nodes_claim_goes_to_the_smallest() {
        let mut machine = cpu_facts(6, |_| ());
        machine.nodes = vec![node(0, "0-5"), node(1, "2-5"), node(2, "4-5")];
        assert_eq!(
            format_lists(build_nodes(&machine, &parse_set("0-5")).iter().map(|node| &node.cpus)),
            ["0,1", "2,3", "4,5"]
        );
        assert!(
            build_nodes(&machine, &parse_set("0-5"))[0].distances.is_empty(),
            "two distances for three nodes say nothing"
        );
    }

    #[test]
    fn no_nodes_are_one_node_and_a_gap() {
        let machine = cpu_facts(2, |_| ());
        let found = build_nodes(&machine, &parse_set("0-1"));
        assert_eq!((found.len(), found[0].memory_bytes), (1, None));
        assert!(node_gaps(&machine, &found, &parse_set("0-1")).is_some());
    }
}
