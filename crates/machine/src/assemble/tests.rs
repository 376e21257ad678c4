//! Tests of the whole: whatever the facts are, every level divides the online cpus.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::sample::parse_set;
use super::*;
use crate::Level;
use crate::facts::{CacheFacts, CacheKind, CpuFacts, NodeFacts};
use crate::machine::ProcessorFacts;

fn some_cpus() -> impl Strategy<Value = CpuSet> {
    vec(0_u32..12, 0..6).prop_map(CpuSet::from_iter)
}

fn some_cache() -> impl Strategy<Value = CacheFacts> {
    let kind = prop::sample::select(vec![CacheKind::Data, CacheKind::Instruction, CacheKind::Unified]);
    (1_u8..=4, kind, option::of(0_u64..1 << 40), some_cpus())
        .prop_map(|(level, kind, size_bytes, shared_with)| CacheFacts { level, kind, size_bytes, shared_with })
}

fn some_cpu() -> impl Strategy<Value = CpuFacts> {
    let numbers = (0_u32..12, option::of(-1_i64..3), option::of(0_i64..3), option::of(0_i64..4));
    let sets = (
        option::of(some_cpus()),
        option::of(some_cpus()),
        option::of(some_cpus()),
        vec(some_cache(), 0..5),
        option::of(some_cpus()),
    );
    let measures = (option::of(0_u32..2_000), option::of(0_u32..300), option::of(0_u64..6_000_000));
    (numbers, sets, measures).prop_map(|(numbers, sets, measures)| CpuFacts {
        number: numbers.0,
        package: numbers.1,
        package_cpus: sets.4,
        die: numbers.2,
        core: numbers.3,
        die_cpus: sets.0,
        cluster_cpus: sets.1,
        thread_siblings: sets.2,
        caches: sets.3,
        capacity: measures.0,
        highest_performance: measures.1,
        maximum_frequency_khz: measures.2,
        base_frequency_khz: None,
        ..CpuFacts::default()
    })
}

fn some_facts() -> impl Strategy<Value = MachineFacts> {
    let node = (0_u32..9, some_cpus(), vec(0_u32..50, 0..4)).prop_map(|(number, cpus, distances)| NodeFacts {
        number,
        cpus,
        distances,
        ..NodeFacts::default()
    });
    let rest = (option::of(some_cpus()), option::of(some_cpus()), vec(node, 0..4), any::<bool>());
    (vec(some_cpu(), 0..12), rest).prop_map(|(cpus, (online, allowed, nodes, modules))| MachineFacts {
        processor: if modules { sample::bulldozer_facts() } else { ProcessorFacts::default() },
        cpus,
        online,
        allowed,
        nodes,
        ..MachineFacts::default()
    })
}

proptest! {
    #[test]
    fn every_level_divides_the_online_cpus(facts in some_facts()) {
        let machine = assemble_machine(facts);
        for level in Level::EVERYWHERE.into_iter().filter(|level| *level != Level::Node) {
            let objects = machine.objects_of(level);
            let all = objects.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
            prop_assert_eq!(&all, &machine.online, "{}", level);
            prop_assert_eq!(objects.iter().map(CpuSet::len).sum::<usize>(), all.len(), "{}", level);
            prop_assert!(objects.iter().all(|cpus| !cpus.is_empty()));
            prop_assert!(objects.is_sorted_by_key(CpuSet::lowest));
        }
        let in_nodes: usize = machine.nodes.iter().map(|node| node.cpus.len()).sum();
        prop_assert!(in_nodes <= machine.online.len());
        prop_assert!(machine.allowed.is_subset(&machine.online) && machine.online.is_subset(&machine.present));
        prop_assert!(machine.online.is_empty() || !machine.allowed.is_empty());
        prop_assert!(machine.kinds.len() <= 3 && machine.kinds.len() != 1);
    }
}

#[test]
fn no_facts_are_a_machine_without_objects() {
    let machine = assemble_machine(MachineFacts::default());
    assert!(machine.online.is_empty() && machine.cores.is_empty() && machine.gaps.is_empty());
}

#[test]
fn lists_that_name_offline_cpus_are_cut() {
    let cpus = vec![CpuFacts { number: 1, ..CpuFacts::default() }, CpuFacts { number: 2, ..CpuFacts::default() }];
    let facts = MachineFacts {
        cpus,
        present: Some(parse_set("0-2")),
        isolated: Some(parse_set("0-1")),
        nohz_full: Some(parse_set("2-9")),
        ..MachineFacts::default()
    };
    let machine = assemble_machine(facts);
    assert_eq!((machine.isolated.to_string(), machine.nohz_full.to_string()), ("1".into(), "2".into()));
    assert_eq!((machine.offline_cpus().to_string(), machine.possible.to_string()), ("0".into(), "0-2".into()));
}
