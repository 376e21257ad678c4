//! Machines whose numbers and shapes differ in what notations must heed.

use crate::assemble::assemble_machine;
use crate::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts, NodeFacts};
use crate::machine_file::BUILT_IN;
use crate::{CpuSet, Machine, generate};

use super::set;

/// 16 cores in two last-level caches; cpu n and n + 16 are siblings.
pub fn ryzen() -> Machine {
    generate::one_package_machine(32, true, &[(set("0-7,16-23"), 96), (set("8-15,24-31"), 32)])
}

/// Four nodes of eight cores, of which 1 and 3 have no memory; cpu n and n + 32 are siblings.
pub fn threadripper() -> Machine {
    let distances = [[10, 16, 16, 16], [16, 10, 16, 16], [16, 16, 10, 16], [16, 16, 16, 10]];
    let node = |number: u32| NodeFacts {
        number,
        cpus: (number * 8..number * 8 + 8).chain(number * 8 + 32..number * 8 + 40).collect(),
        memory_bytes: Some(if number.is_multiple_of(2) { 32 << 30 } else { 0 }),
        distances: distances[number as usize].to_vec(),
        ..NodeFacts::default()
    };
    let cpu = |number: u32| CpuFacts {
        number,
        package: Some(0),
        die: Some(i64::from(number % 32 / 8)),
        core: Some(i64::from(number % 8)),
        caches: vec![cache(
            3,
            (number % 32 / 4 * 4..number % 32 / 4 * 4 + 4).flat_map(|cpu| [cpu, cpu + 32]).collect(),
        )],
        ..CpuFacts::default()
    };
    machine((0..64).map(cpu).collect(), (0..4).map(node).collect())
}

/// Two packages that take turns in the numbering: 0, 2, 4, 6 and 1, 3, 5, 7, without SMT, an L2 for each two cores.
pub fn interleaved() -> Machine {
    let cpu = |number: u32| CpuFacts {
        number,
        package: Some(i64::from(number % 2)),
        core: Some(i64::from(number / 2)),
        caches: vec![cache(
            2,
            [number % 4 % 2 + number / 4 * 4, number % 2 + number / 4 * 4 + 2].into_iter().collect(),
        )],
        ..CpuFacts::default()
    };
    let node = |number: u32| NodeFacts {
        number,
        cpus: (0..8).filter(|cpu| cpu % 2 == number).collect(),
        memory_bytes: Some(16 << 30),
        distances: if number == 0 { vec![10, 21] } else { vec![21, 10] },
        ..NodeFacts::default()
    };
    machine((0..8).map(cpu).collect(), (0..2).map(node).collect())
}

/// 1,536 cpus in 32 packages of 24 cores; cpu n and n + 768 are siblings.
pub fn large() -> Machine {
    let cpus_of = |number: u32| (number * 24..number * 24 + 24).chain(number * 24 + 768..number * 24 + 792).collect();
    let node = |number: u32| NodeFacts { number, cpus: cpus_of(number), ..NodeFacts::default() };
    let cpu = |number: u32| CpuFacts {
        number,
        package: Some(i64::from(number % 768 / 24)),
        core: Some(i64::from(number % 24)),
        ..CpuFacts::default()
    };
    machine((0..1536).map(cpu).collect(), (0..32).map(node).collect())
}

/// Two packages of 128 cpus, one node each: more than a Windows group holds.
pub fn wide() -> Machine {
    let node =
        |number: u32| NodeFacts { number, cpus: (number * 128..number * 128 + 128).collect(), ..NodeFacts::default() };
    let cpu = |number: u32| CpuFacts {
        number,
        package: Some(i64::from(number / 128)),
        core: Some(i64::from(number % 128 / 2)),
        ..CpuFacts::default()
    };
    machine((0..256).map(cpu).collect(), (0..2).map(node).collect())
}

/// The Ryzen with cpus 3 and 9 offline, of which this process may use the first eight cores.
pub fn confined() -> Machine {
    let mut facts = MachineFacts { allowed: Some(set("0-2,4-7,16-23")), ..MachineFacts::default() };
    facts.possible = Some(CpuSet::first_cpus(32));
    facts.present = Some(CpuSet::first_cpus(32));
    let cpu = |number: u32| CpuFacts {
        number,
        package: Some(0),
        core: Some(i64::from(number % 16)),
        caches: vec![cache(3, if number % 16 < 8 { set("0-2,4-7,16-23") } else { set("8,10-15,24-31") })],
        ..CpuFacts::default()
    };
    facts.cpus = (0..32).filter(|number| ![3, 9].contains(number)).map(cpu).collect();
    facts.nodes = vec![NodeFacts { cpus: facts.cpus.iter().map(|cpu| cpu.number).collect(), ..NodeFacts::default() }];
    assemble_machine(facts)
}

/// All of them and the program's own, with a name for messages.
pub fn all() -> Vec<(&'static str, Machine)> {
    let built_in = BUILT_IN.iter().map(|machine| (machine.name, machine.read_machine().unwrap().machine));
    let mut all = vec![
        ("one cpu", generate::one_package_machine(1, false, &[])),
        ("ryzen", ryzen()),
        ("threadripper", threadripper()),
        ("interleaved", interleaved()),
        ("wide", wide()),
        ("confined", confined()),
        ("large", large()),
    ];
    all.extend(built_in);
    all
}

fn machine(cpus: Vec<CpuFacts>, nodes: Vec<NodeFacts>) -> Machine {
    assemble_machine(MachineFacts { cpus, nodes, ..MachineFacts::default() })
}

fn cache(level: u8, shared_with: CpuSet) -> CacheFacts {
    CacheFacts { level, kind: CacheKind::Unified, size_bytes: Some(16 << 20), shared_with }
}
