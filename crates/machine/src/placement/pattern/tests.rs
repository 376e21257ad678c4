//! The patterns on machines that make them hard.

use crate::placement::notation::{self, Notation};
use crate::placement::sample::*;
use crate::{CpuSet, Level, Machine};

#[test]
fn the_patterns_of_the_articles() {
    let bulldozer = bulldozer();
    assert_eq!(resolve_text(&bulldozer, "spread(4, cluster)").unwrap().cpus.to_hexadecimal(), "55");
    assert_eq!(resolve_text(&bulldozer, "pack(4, cluster)").unwrap().cpus.to_hexadecimal(), "f");
    assert_eq!(
        resolve_cpus(&bulldozer, "spread(4, package)"),
        "0,2,4,6",
        "as far apart as can be inside the level too"
    );
    assert_eq!(resolve_cpus(&bulldozer, "spread(5, cluster)"), "0-2,4,6");
}

#[test]
fn cores_come_before_siblings() {
    let machine = stacked();
    assert_eq!(resolve_order(&machine, "pack(4, llc)"), "0-3");
    assert_eq!(resolve_order(&machine, "pack(12, llc)"), "0-7,16-19", "one cache holds them");
    assert_eq!(resolve_order(&machine, "pack(20, llc)"), "0-19", "cores of both before siblings");
    assert_eq!(resolve_order(&machine, "pack(4, core)"), "0,16,1,17", "the level is the core");
    assert_eq!(resolve_order(&machine, "spread(6, llc)"), "0,8,1,9,2,10");
    assert_eq!(resolve_cpus(&machine, "spread(18, core)"), "0-16,24", "siblings are spread over the caches");
    assert_eq!(resolve_cpus(&machine, "spread(3, core)"), "0,1,8", "cores are spread over the caches");
    assert_eq!(resolve_order(&machine, "pack(2, cpu)"), "0,1", "as many cpus whichever they are: one of each core");
    assert_eq!(resolve_order(&machine, "pack(20, cpu)"), "0-19");
    assert_eq!(resolve_order(&machine, "pack(3, cpu, all - 0-5)"), "6,7,16", "one cache holds three cores");
    assert_eq!(resolve_cpus(&machine, "spread(2, cpu)"), "0,8");
}

#[test]
fn performance_kinds_are_preferred() {
    let machine = hybrid();
    assert_eq!(resolve_order(&machine, "spread(4, core)"), "0,2,4,6");
    assert_eq!(
        resolve_cpus(&machine, "spread(12, core)"),
        "0,2,4,6,8,10,12,14,16,20,24,28",
        "small cores before siblings"
    );
    assert_eq!(resolve_cpus(&machine, "pack(4, llc)"), "0,2,4,6");
    assert_eq!(resolve_cpus(&machine, "pack(2, cluster)"), "0,1", "the one cluster, and the better kind");
    assert_eq!(resolve_cpus(&machine, "pack(4, cluster)"), "16-19", "the fewest clusters: one of four small cores");
    assert_eq!(resolve_cpus(&machine, "pack(4, cluster, performance)"), "0-3");
    assert_eq!(resolve_cpus(&machine, "spread(4, cluster, efficiency)"), "16,20,24,28");
    assert_eq!(resolve_cpus(&machine, "spread(16, cluster)"), "0,2,4,6,8,10,12,14,16,17,20,21,24,25,28,29");
}

#[test]
fn nodes_with_memory_are_preferred() {
    let machine = without_memory();
    assert_eq!(resolve_cpus(&machine, "spread(2, node)"), "0,32");
    assert_eq!(resolve_cpus(&machine, "pack(20, node)"), "0-8,10,12,14,32,34,36,38,40,42,44,46");
    assert_eq!(resolve_cpus(&machine, "spread(4, node)"), "0,16,32,48");
}

#[test]
fn unequal_objects_are_filled_evenly_and_packed_well() {
    let machine = lopsided();
    assert_eq!(resolve_cpus(&machine, "spread(3, llc)"), "0,2,8");
    assert_eq!(resolve_cpus(&machine, "spread(9, llc)"), "0-5,8-10");
    assert_eq!(resolve_cpus(&machine, "pack(5, llc)"), "2-6", "the one cache that holds them");
    assert_eq!(resolve_cpus(&machine, "pack(7, llc)"), "0-6", "two hold them, and the lowest two do");
    assert_eq!(resolve_cpus(&machine, "pack(9, llc)"), "2-10", "0-7 would be one short");
}

/// What the patterns promise, on every number and level.
#[test]
fn patterns_keep_their_promises() {
    for machine in [bulldozer(), stacked(), without_memory(), hybrid(), lopsided()] {
        for level in Level::EVERYWHERE {
            for count in 1..=machine.online.len() {
                let spread = resolve_text(&machine, &format!("spread({count}, {level})")).unwrap();
                let pack = resolve_text(&machine, &format!("pack({count}, {level})")).unwrap();
                assert_eq!((spread.cpus.len(), pack.cpus.len()), (count, count));
                let objects = machine.objects_of(level);
                assert_eq!(touched(&objects, &spread.cpus), most(&machine, level, count), "spread({count}, {level})");
                assert_eq!(touched(&objects, &pack.cpus), fewest(&objects, count), "pack({count}, {level})");
                cores_before_siblings(&machine, &spread.cpus);
                if level == Level::Cpu {
                    cores_before_siblings(&machine, &pack.cpus);
                }
            }
        }
    }
}

fn touched(objects: &[CpuSet], cpus: &CpuSet) -> usize {
    objects.iter().filter(|object| !object.is_disjoint(cpus)).count()
}

/// As many objects as there are, or as there are cpus to place.
fn most(machine: &Machine, level: Level, count: usize) -> usize {
    let objects = if level == Level::Cpu { machine.online.len() } else { machine.objects_of(level).len() };
    objects.min(count)
}

fn fewest(objects: &[CpuSet], count: usize) -> usize {
    let mut sizes: Vec<usize> = objects.iter().map(CpuSet::len).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    (1..).find(|number| sizes.iter().take(*number).sum::<usize>() >= count).unwrap()
}

fn cores_before_siblings(machine: &Machine, cpus: &CpuSet) {
    let used = machine.cores.iter().map(|core| core.cpus.intersection(cpus).len());
    let (least, most) = (used.clone().min().unwrap(), used.max().unwrap());
    assert!(most <= 1 || least >= 1, "{cpus} has siblings while a core is free");
}

#[test]
fn cpus_in_no_node_are_taken_last_with_a_note() {
    let mut machine = bulldozer();
    machine.nodes = vec![
        crate::machine::NumaNode { number: 1, cpus: parse_set("2-3"), ..Default::default() },
        crate::machine::NumaNode { number: 3, cpus: parse_set("6-7"), ..Default::default() },
    ];
    assert_eq!(resolve_cpus(&machine, "spread(2, node)"), "2,6");
    assert_eq!(resolve_cpus(&machine, "spread(4, node)"), "2,3,6,7");
    assert_eq!(resolve_cpus(&machine, "pack(3, node)"), "2,3,6");
    assert_eq!(resolve_order(&machine, "spread(5, node)"), "2,6,3,7,0");
    let notes = resolve_text(&machine, "spread(2, node)").unwrap().notes;
    assert_eq!(notes, ["cpus 0,1,4,5 are in no node; spread(2, node) takes them last."]);
    assert!(resolve_text(&machine, "spread(2, llc)").unwrap().notes.is_empty());
    assert_eq!(resolve_cpus(&machine, "with-memory"), "2,3,6,7");
}

#[test]
fn memory_that_is_not_allowed_counts_as_none() {
    let mut machine = bulldozer();
    machine.nodes = vec![
        crate::machine::NumaNode {
            number: 0,
            cpus: parse_set("0-3"),
            memory_bytes: Some(1),
            distances: vec![10, 20],
            ..Default::default()
        },
        crate::machine::NumaNode {
            number: 1,
            cpus: parse_set("4-7"),
            memory_bytes: Some(1),
            distances: vec![20, 10],
            ..Default::default()
        },
    ];
    machine.allowed_memory = Some(CpuSet::from_cpu(1));
    assert_eq!(resolve_cpus(&machine, "with-memory"), "4-7");
    assert_eq!(resolve_cpus(&machine, "spread(1, core)"), "4");
    let lines = notation::print_notation(Notation::Cgroup, &parse_set("0-3"), &[0, 1, 2, 3], &machine);
    assert!(format!("{lines:?}").contains("echo 1 > cpuset.mems"), "{lines:?}");
}

#[test]
fn cpus_that_an_export_leaves_out_are_taken_by_number_only() {
    let mut machine = bulldozer();
    machine.present = parse_set("0-9");
    machine.unlisted = parse_set("8-9");
    assert_eq!(resolve_cpus(&machine, "8,0"), "0,8");
    let all = resolve_text(&machine, "all").unwrap();
    assert_eq!((all.cpus.to_string(), all.left_out[0].reason.reason_words()), ("0-7".into(), "offline or not allowed"));
}
