//! The placements of the articles this project grew from, said in words and resolved on the machines they were written for.

use corewise_machine::machine_file::{MachineFile, MachineMatch, find_built_in};
use corewise_machine::placement::{ResolveContext, ResolvedExpression, parse};
use corewise_machine::{CpuSet, Level};

fn machine(name: &str) -> MachineFile {
    match find_built_in(name) {
        MachineMatch::Exactly(built_in) | MachineMatch::ByPart(built_in) => built_in.read_machine().unwrap(),
        found => panic!("{name}: {found:?}"),
    }
}

fn resolved(name: &str, expression: &str) -> ResolvedExpression {
    let machine = machine(name).machine;
    let context = ResolveContext { machine: &machine, reachable: &machine.allowed, quiet: None, worth: None };
    parse(expression).unwrap().resolve_on(&context).unwrap_or_else(|error| panic!("{expression} on {name}: {error}"))
}

/// Expressions, and the cpus that the articles, or what they say of their machines, make of them.
const PLACEMENTS: [(&str, &str, &str); 16] = [
    // One thread a module, or two busy modules: the masks 55 and 0F.
    ("fx-8150", "spread(4, cluster)", "0,2,4,6"),
    ("fx-8150", "pack(4, cluster)", "0-3"),
    ("fx-8150", "0x55", "0,2,4,6"),
    ("fx-8150", "cluster:3", "6,7"),
    // Neither thread of the first core, and the nodes that have memory.
    ("2990wx", "all - core:0", "2-63"),
    ("2990wx", "core:0", "0,1"),
    ("2990wx", "with-memory", "0-15,32-47"),
    ("2990wx", "node:1", "16-31"),
    // The die with V-Cache, without the cpu that takes the interrupts.
    ("9950x3d", "vcache - 0", "1-7,16-23"),
    ("9950x3d", "vcache", "0-7,16-23"),
    ("9950x3d", "frequency", "8-15,24-31"),
    ("9950x3d", "!llc:0", "8-15,24-31"),
    // Complexes of three cores: the first, and the two of the first die.
    ("3960x", "llc:0", "0-2,24-26"),
    ("3960x", "die:0", "0-5,24-29"),
    // Cores that share an L2, and cores that do not.
    ("q6600", "pack(2, llc)", "0,1"),
    ("q6600", "spread(2, llc)", "0,2"),
];

#[test]
fn words_are_the_cpus_of_the_articles() {
    for (name, expression, expected) in PLACEMENTS {
        assert_eq!(resolved(name, expression).cpus.to_string(), expected, "{expression} on {name}");
    }
}

#[test]
fn words_are_the_masks_that_were_typed() {
    let mask = |name, expression| resolved(name, expression).cpus.to_hexadecimal().to_uppercase();
    assert_eq!(mask("fx-8150", "spread(4, cluster)"), "55");
    assert_eq!(mask("fx-8150", "pack(4, cluster)"), "F");
    assert_eq!(mask("2990wx", "all - core:0"), "FFFFFFFFFFFFFFFC");
    assert_eq!(resolved("2990wx", "all - core:0").cpus, CpuSet::parse_mask("FFFF FFFF FFFF FFFC").unwrap());
}

#[test]
fn the_numbering_that_makes_the_mask_right_is_stated() {
    let numbering = machine("2990wx").description.numbering.unwrap();
    assert!(numbering.starts_with("Windows: the two threads of a core are adjacent, core 0 is cpus 0 and 1"));
    assert!(
        machine("9950x3d").description.numbering.unwrap().starts_with("Linux: the threads of a core are n and n+16")
    );
    assert!(machine("3960x").description.numbering.unwrap().starts_with("Linux: the threads of a core are n and n+24"));
}

/// What is built as published: sizes and distances that no set of cpus shows.
#[test]
fn sizes_and_distances_are_the_published_ones() {
    let mebibytes = |name| -> Vec<u64> {
        machine(name).machine.llcs.iter().filter_map(|llc| llc.size_bytes).map(|bytes| bytes >> 20).collect()
    };
    assert_eq!(mebibytes("fx-8150"), [8]);
    assert_eq!(mebibytes("2990wx"), [8; 8]);
    assert_eq!(mebibytes("9950x3d"), [96, 32]);
    assert_eq!(mebibytes("3960x"), [16; 8]);
    assert_eq!(mebibytes("q6600"), [4, 4]);
    let threadripper = machine("2990wx").machine;
    for (at, node) in threadripper.nodes.iter().enumerate() {
        let distances: Vec<u32> = (0..4).map(|other| if other == at { 10 } else { 16 }).collect();
        assert_eq!(node.distances, distances, "node {at}");
        assert_eq!(node.memory_bytes == Some(0), at % 2 == 1, "node {at}");
    }
    assert_eq!(threadripper.objects_of(Level::Die), threadripper.objects_of(Level::Node), "each die is a node");
}
