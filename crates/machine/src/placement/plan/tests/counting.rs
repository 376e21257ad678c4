//! Numbers and sizes of classes are what brute force finds.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::brute::{BruteClasses, applied};
use super::built::{built_in, machine, recipes};
use crate::placement::plan::classes::{all_classes, classes_of};
use crate::placement::plan::classifier::SetClassifier;
use crate::placement::plan::count::ExactCount;
use crate::placement::plan::parts::parts_of_machine;
use crate::placement::plan::tree::MachineTree;
use crate::placement::sample::{bulldozer, lopsided, parse_set};
use crate::{CpuSet, Machine};

/// Compares every subset's class and every class's size; gives the number of classes by size.
fn agrees(machine: &Machine, usable: &CpuSet, busiest: Option<u32>) -> Vec<usize> {
    let tree = MachineTree::from_parts(parts_of_machine(machine, usable, busiest));
    let mut classifier = SetClassifier::new(&tree);
    let brute = BruteClasses::new(machine, usable, busiest);
    let mut members: BTreeMap<usize, Vec<CpuSet>> = BTreeMap::new();
    for (subset, cpus) in brute.subsets() {
        members.entry(brute.class(subset)).or_default().push(cpus);
    }
    let mut names: HashMap<usize, usize> = HashMap::new();
    let mut by_size = vec![0; usable.len() + 1];
    for (class, sets) in &members {
        let name = classifier.class_of(&sets[0]);
        assert_eq!(names.insert(name, *class), None, "{} is told as like a set that it is not like", sets[0]);
        assert!(sets.iter().all(|cpus| classifier.class_of(cpus) == name), "{sets:?} are one class");
        assert_eq!(classifier.class_size(&sets[0]), ExactCount::from(sets.len()), "{}", sets[0]);
        by_size[sets[0].len()] += 1;
    }
    for (size, number) in by_size.iter().enumerate() {
        assert_eq!(classes_of(&tree, size), ExactCount::from(*number), "classes of {size} cpus");
    }
    assert_eq!(all_classes(&tree), ExactCount::from(members.len() - 1));
    by_size
}

fn agrees_whole(machine: &Machine) -> Vec<usize> {
    agrees(machine, &machine.online, None)
}

#[test]
fn the_articles_bulldozer_has_as_many_classes_as_brute_force_finds() {
    assert_eq!(agrees_whole(&built_in("fx-8150")), [1, 1, 2, 2, 3, 2, 2, 1, 1]);
    assert_eq!(agrees_whole(&bulldozer())[4], 3);
}

#[test]
fn small_machines_have_as_many_classes_as_brute_force_finds() {
    assert_eq!(agrees_whole(&built_in("core2-quad-q6600")), [1, 1, 2, 1, 1]);
    agrees_whole(&lopsided());
    assert_eq!(
        agrees(&bulldozer(), &parse_set("1-7"), None)[1],
        2,
        "the sibling of one that cannot be used is unlike others"
    );
    assert_eq!(agrees(&bulldozer(), &parse_set("0-7"), Some(3))[1], 3, "and so is the busiest, and its sibling");
}

#[test]
fn machines_with_holes_have_as_many_classes_as_brute_force_finds() {
    let mut machine = built_in("simulated-sparse");
    // Brute force leaves nodes without cpus where they are; here that one is as far from one node as it is not from the other.
    machine.nodes.retain(|node| !node.cpus.is_empty());
    machine.nodes.iter_mut().for_each(|node| node.distances.truncate(2));
    agrees(&machine, &machine.online.difference(&machine.isolated), None);
}

#[test]
fn the_symmetries_that_brute_force_uses_make_all_of_them() {
    for machine in [bulldozer(), built_in("core2-quad-q6600")] {
        let brute = BruteClasses::new(&machine, &machine.online, None);
        let all = BruteClasses::symmetries(&machine, &machine.online);
        for (subset, _) in brute.subsets() {
            let smallest = all.iter().map(|symmetry| applied(symmetry, subset)).min();
            assert_eq!(smallest, Some(brute.class(subset)));
        }
    }
    assert_eq!(BruteClasses::symmetries(&bulldozer(), &parse_set("0-7")).len(), 24 * 16);
}

/// Four nodes of three cpus, a package each, at the given distances.
fn four_nodes(distances: [[u32; 4]; 4]) -> Machine {
    let recipe = super::built::MachineRecipe { begins: vec![5, 5], repeated: vec![0, 0, 0], labels: 0, seed: 1 };
    let mut machine = machine(&recipe);
    machine.nodes.iter_mut().zip(distances).for_each(|(node, row)| node.distances = row.to_vec());
    machine
}

#[test]
fn distances_that_nest_are_kept_exactly() {
    let groups = four_nodes([[10, 21, 31, 31], [21, 10, 31, 31], [31, 31, 10, 21], [31, 31, 21, 10]]);
    let equal = four_nodes([[10, 20, 20, 20], [20, 10, 20, 20], [20, 20, 10, 20], [20, 20, 20, 10]]);
    assert!(agrees_whole(&groups)[3] > agrees_whole(&equal)[3]);
}

/// Fewer symmetries than there are may be taken, but none that is not there; gives by how many there are more classes.
fn takes_no_symmetry_that_is_not_there(machine: &Machine) -> usize {
    let tree = MachineTree::from_parts(parts_of_machine(machine, &machine.online, None));
    let mut classifier = SetClassifier::new(&tree);
    let brute = BruteClasses::new(machine, &machine.online, None);
    let mut class_of: HashMap<usize, usize> = HashMap::new();
    for (subset, cpus) in brute.subsets() {
        let class = *class_of.entry(classifier.class_of(&cpus)).or_insert(brute.class(subset));
        assert_eq!(class, brute.class(subset), "{cpus} is told as like a set that it is not like");
    }
    assert_eq!(ExactCount::from(class_of.len() - 1), all_classes(&tree));
    class_of.len() - class_of.values().collect::<std::collections::HashSet<_>>().len()
}

#[test]
fn in_a_ring_no_symmetry_is_taken_that_is_not_there() {
    let ring = four_nodes([[10, 20, 30, 20], [20, 10, 20, 30], [30, 20, 10, 20], [20, 30, 20, 10]]);
    assert!(takes_no_symmetry_that_is_not_there(&ring) > 0, "a ring may be turned, too, which is not taken");
}

#[test]
fn what_cuts_through_stays_where_it_is() {
    let mut machine = bulldozer();
    // A node of one and a half modules: it cuts through the second.
    let node = |number, list| crate::machine::NumaNode {
        number,
        cpus: parse_set(list),
        memory_bytes: Some(1),
        ..Default::default()
    };
    machine.nodes = vec![node(0, "0-2"), node(1, "3-7")];
    let by_size = agrees_whole(&machine);
    assert_eq!(by_size[1], 4, "of 0-1, 2, 3, and 4-7");
    // A node of one core each of two modules: 0 and 1 are together, and so are 2 and 3, but not 0 and 3.
    machine.nodes = vec![node(0, "0,2"), node(1, "1,3-7")];
    assert!(takes_no_symmetry_that_is_not_there(&machine) > 0, "the two modules can be exchanged, which is not taken");
}

#[test]
fn nodes_of_memory_alone_move_with_those_they_are_near() {
    let mut machine = four_nodes([[10; 4]; 4]);
    let node = |number: usize| crate::machine::NumaNode {
        number: number as u32,
        cpus: if number < 4 { machine.nodes[number].cpus.clone() } else { CpuSet::new() },
        memory_bytes: Some(64 << 30),
        distances: (0..8)
            .map(|other| {
                if number == other {
                    10
                } else if number % 4 == other % 4 {
                    17
                } else {
                    20
                }
            })
            .collect(),
        ..Default::default()
    };
    machine.nodes = (0..8).map(node).collect();
    let tree = MachineTree::from_parts(parts_of_machine(&machine, &machine.online, None));
    assert_eq!(classes_of(&tree, 1), ExactCount::ONE, "each node has its own memory beside it");
    machine.nodes[7].memory_bytes = Some(0);
    let tree = MachineTree::from_parts(parts_of_machine(&machine, &machine.online, None));
    assert_eq!(classes_of(&tree, 1), ExactCount::from(2), "beside one node there is none");
}

#[test]
fn large_machines_are_counted_without_listing() {
    let machine = built_in("simulated-1536-cpus");
    let tree = MachineTree::from_parts(parts_of_machine(&machine, &machine.online, None));
    assert_eq!(classes_of(&tree, 1), ExactCount::ONE);
    // Siblings; cores of a die; dies of a package; packages of a group; packages of two groups.
    assert_eq!(classes_of(&tree, 2), ExactCount::from(5));
    assert_eq!(classes_of(&tree, 1534), ExactCount::from(5), "as many cpus are left out");
    assert_eq!(classes_of(&tree, 768), ExactCount::BEYOND);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_machines_have_as_many_classes_as_brute_force_finds(recipe in recipes(), out in any::<u16>(), busiest in 0_u32..24) {
        let machine = machine(&recipe);
        let usable: CpuSet = machine.online.iter().filter(|cpu| out & 0x8000 == 0 || out & 1 << cpu == 0).collect();
        agrees(&machine, &usable, Some(busiest));
    }
}
