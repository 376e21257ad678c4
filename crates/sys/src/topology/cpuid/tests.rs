//! Tests of the rules for cpuid, on registers as the manuals describe them.

use super::*;
use crate::Root;
use crate::topology::read_machine;
use corewise_machine::Machine;
use proptest::prelude::*;

const INTEL: &str = "1 0 0 0 0 => 23 756e6547 6c65746e 49656e69\n";
const AMD: &str = "1 0 0 0 0 => 10 68747541 444d4163 69746e65\n";

/// A machine of one dump a cpu.
fn machine(dumps: impl IntoIterator<Item = String>) -> Machine {
    let files = dumps.into_iter().enumerate().map(|(number, text)| (format!("cpuid/pu{number}"), text));
    read_machine(&Root::from_files(files)).unwrap()
}

fn sets<'a>(sets: impl IntoIterator<Item = &'a CpuSet>) -> Vec<String> {
    sets.into_iter().map(CpuSet::to_string).collect()
}

fn cores(machine: &Machine) -> Vec<String> {
    sets(machine.cores.iter().map(|core| &core.cpus))
}

#[test]
fn an_intel_package_before_leaf_0xb_is_counted() {
    // Two packages of four APIC ids: two cores of two threads.
    let dump = |apic: u32| {
        format!("{INTEL}1 1 0 0 0 => 106a5 {apic:02x}040800 0 10000000\n5 4 0 0 0 => 4004121 1c0003f 3f 0\n")
    };
    let machine = machine((0..8).map(dump));
    assert_eq!(sets(machine.packages.iter().map(|package| &package.cpus)), ["0-3", "4-7"]);
    assert_eq!(cores(&machine), ["0,1", "2,3", "4,5", "6,7"]);
    assert_eq!((machine.processor.family, machine.processor.model), (Some(6), Some(0x1a)));
    assert_eq!(machine.data_caches(1).map(|cache| cache.size_bytes).collect::<Vec<_>>(), [Some(32 << 10); 4]);
}

#[test]
fn modules_and_dies_come_from_leaf_0x1f() {
    // Threads, cores, modules of two cores, two dies of two modules.
    let dump = |apic: u32| {
        let levels = [(1, 1), (2, 2), (3, 3), (5, 4)];
        let lines = levels
            .iter()
            .enumerate()
            .map(|(at, (level, shift))| format!("5 1f 0 {at:x} 0 => {shift:x} 1 {:x} {apic:x}\n", level << 8 | at));
        format!("{INTEL}1 1 0 0 0 => b0650 0 0 10000000\n{}5 1f 0 4 0 => 0 0 4 {apic:x}\n", lines.collect::<String>())
    };
    let machine = machine((0..16).map(dump));
    assert_eq!(machine.packages.len(), 1);
    assert_eq!(sets(machine.dies.iter().map(|die| &die.cpus)), ["0-7", "8-15"]);
    assert_eq!(sets(machine.clusters.iter().map(|cluster| &cluster.cpus)), ["0-3", "4-7", "8-11", "12-15"]);
    assert_eq!(machine.cores.len(), 8);
}

#[test]
fn atom_cores_outside_of_the_l3_are_low_power() {
    let l3 = "5 4 0 0 0 => fc0fc163 2c0003f 3fff 4\n";
    let dump = |core_type: u32, caches: &str, apic: u32| {
        format!(
            "{INTEL}1 1 0 0 0 => b0650 {apic:02x}100800 0 10000000\n{caches}5 1a 0 0 0 => {core_type:x}000002 0 0 0\n"
        )
    };
    let kinds = |machine: &Machine| {
        machine.kinds.iter().map(|kind| format!("{} {}", kind.core_type.word(), kind.cpus)).collect::<Vec<_>>()
    };
    let arrow_lake = machine([dump(0x40, l3, 0), dump(0x20, l3, 2), dump(0x20, "", 4)]);
    assert_eq!(kinds(&arrow_lake), ["performance 0", "efficiency 1", "low-power 2"]);
    let lunar_lake = machine([dump(0x40, l3, 0), dump(0x20, "", 2), dump(0x20, "", 4)]);
    assert_eq!(kinds(&lunar_lake), ["performance 0", "efficiency 1,2"]);
}

#[test]
fn dumps_that_are_cut_are_named() {
    let dump = |core_type: u32, apic: u32| {
        let class = format!("5 1a 0 0 0 => {core_type:x}000002 0 0 0\n");
        format!("{INTEL}1 1 0 0 0 => b0650 {apic:02x}100800 0 10000000\n{class}")
    };
    let whole = [dump(0x40, 0), dump(0x20, 2), dump(0x20, 4)];
    assert_eq!(machine(whole.clone()).gaps.iter().filter(|gap| gap.why.contains("cpuid/pu")).count(), 0);
    let [first, second, third] = whole;
    let cut = machine([first.clone(), second.clone(), third[..third.find("5 1a").unwrap()].to_owned(), dump(0x20, 6)]);
    let why: Vec<&str> = cut.gaps.iter().map(|gap| gap.why.as_str()).collect();
    assert!(why.contains(&"dumps are cut: cpuid/pu2 has no leaf 0x1a"), "{why:?}");
    assert!(why.contains(&"no class is reported in cpuid/pu2"), "{why:?}");
    let lost = machine([first, second, INTEL.to_owned(), dump(0x20, 6)]);
    let why = "dumps are cut: cpuid/pu2 has no leaf 0x1; its cpu is left out";
    assert!(lost.gaps.iter().any(|gap| gap.why == why), "{:?}", lost.gaps);
}

#[test]
fn opterons_have_modules_nodes_and_legacy_caches() {
    // Family 0x15: six cores in three modules to a node, two nodes to a package without holes in the APIC ids.
    let module = |apic: u32| {
        format!(
            "{AMD}1 1 0 0 0 => 600f20 {apic:02x}0c0800 0 10000000\n1 80000008 0 0 0 => 3030 0 500b 0\n\
             5 8000001d 0 0 0 => 4143 3c0003f 7ff 1\n5 8000001d 0 1 0 => 14163 bc0003f 7ff 1\n\
             1 8000001e 0 0 0 => {apic:x} {:x} {:x} 0\n",
            0x100 + (apic % 6) / 2,
            0x100 + apic / 6
        )
    };
    let piledriver = machine((0..12).map(module));
    assert_eq!(piledriver.cores.len(), 12);
    let clusters = ["0,1", "2,3", "4,5", "6,7", "8,9", "10,11"];
    assert_eq!(sets(piledriver.clusters.iter().map(|cluster| &cluster.cpus)), clusters);
    assert_eq!(sets(piledriver.llcs.iter().map(|llc| &llc.cpus)), ["0-5", "6-11"]);
    // Family 0x10 model 9 with functions 0x80000005 and 0x80000006 only.
    let legacy = |apic: u32| {
        format!(
            "{AMD}1 1 0 0 0 => 100f91 {apic:02x}080800 0 10000000\n1 80000008 0 0 0 => 3030 0 3007 0\n\
             1 80000005 0 0 0 => 0 0 40020140 40020140\n1 80000006 0 0 0 => 0 0 2008140 60e140\n"
        )
    };
    let magny_cours = machine((0..8).map(legacy));
    assert_eq!(sets(magny_cours.llcs.iter().map(|llc| &llc.cpus)), ["0-3", "4-7"]);
    assert_eq!(magny_cours.llcs[0].size_bytes, Some(6 << 20));
    assert_eq!(magny_cours.data_caches(2).map(|cache| cache.size_bytes).collect::<Vec<_>>(), [Some(512 << 10); 8]);
}

proptest! {
    #[test]
    fn no_registers_panic(lines in proptest::collection::vec(
        (prop::sample::select(vec![0_u32, 1, 4, 0xb, 0x1a, 0x1f, 0x8000_0005, 0x8000_0008, 0x8000_001d, 0x8000_001e, 0x8000_0026]), 0_u32..4, any::<[u32; 4]>()),
        0..40,
    ), amd in any::<bool>()) {
        let mut text = String::from(if amd { AMD } else { INTEL });
        for (leaf, subleaf, [a, b, c, d]) in lines {
            text.push_str(&format!("5 {leaf:x} 0 {subleaf:x} 0 => {a:x} {b:x} {c:x} {d:x}\n"));
        }
        let _ = read_machine(&Root::from_files([("cpuid/pu0", text.clone()), ("cpuid/pu1", text)]));
    }
}
