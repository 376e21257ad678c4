//! Texts that name objects of the machine: numactl, hwloc and likwid-pin.

use super::super::Notation;
use super::{explained, in_order, machines};
use crate::Machine;

fn check(notation: Notation, machine: &Machine, table: &[(&str, &str)]) {
    for (text, cpus) in table {
        assert_eq!(in_order(notation, text, machine), *cpus, "{notation}: {text}");
    }
}

#[test]
fn numactl_lines() {
    check(
        Notation::Numactl,
        &machines::threadripper(),
        &[
            ("0-3", "0-3"),
            ("-C 0-3,8", "0-3,8"),
            ("-C0-3", "0-3"),
            ("numactl --physcpubind=1,5 ./app -C 9", "1,5"),
            ("numactl -N 0 -m 0 ./app", "0-7,32-39"),
            ("numactl --cpunodebind=0,2 --membind=0 -- ./app", "0-7,16-23,32-39,48-55"),
            ("numactl --cpunodebind=!0-2 ./app", "24-31,56-63"),
            ("-C !2-63", "0,1"),
            ("-C all", "0-63"),
            ("numactl -c 1 ./app", "8-15,40-47"),
            ("numactl --interleave=all -C 5 ./app", "5"),
            ("-C 0 -C 1", "1"),
        ],
    );
    check(
        Notation::Numactl,
        &machines::confined(),
        &[("-C +0,3", "0,4"), ("-C +2-4", "2,4,5"), ("-C all", "0-2,4-7,16-23"), ("--all -C all", "0-2,4-8,10-31")],
    );
}

#[test]
fn numactl_is_explained() {
    assert_eq!(
        explained(Notation::Numactl, "numactl -N 1 -i 0,2 ./app", &machines::threadripper()),
        "8-15,40-47\n    On this machine node 1 = cpus 8-15,40-47.\n    \
         No memory on node 1, so numactl may refuse: -C 8-15,40-47 works.\n    \
         Memory comes round-robin over node 0,2."
    );
    assert_eq!(
        explained(Notation::Numactl, "+0-1", &machines::confined()),
        "0,1\n    + counts only the cpus that this process may use: 0-2,4-7,16-23."
    );
    assert_eq!(
        explained(Notation::Numactl, "numactl -C 0,8 ./app", &machines::confined()),
        "0,8\n    numactl refuses cpu 8: outside the cpus of this process; --all takes it."
    );
    assert_eq!(explained(Notation::Numactl, "numactl --all -C 8 ./app", &machines::confined()), "8");
    let shown = "policy: bind\npreferred node: 0\nphyscpubind: 0 1 2 \ncpubind: 0 \nnodebind: 0 \nmembind: 0 \n";
    assert_eq!(
        explained(Notation::Numactl, shown, &machines::ryzen()),
        "0-2\n    The policy of memory is bind.\n    Memory comes only from node 0."
    );
}

#[test]
fn hwloc_locations() {
    check(
        Notation::Hwloc,
        &machines::ryzen(),
        &[
            ("core:2-3", "2,3,18,19"),
            ("core:0", "0,16"),
            ("core:0.pu:1", "16"),
            ("pu:0-2", "0,1,16"),
            ("-p pu:0-2", "0-2"),
            ("L3:1.core:0", "8,24"),
            ("l3cache:all.core:0", "0,8,16,24"),
            ("core:all ~core:0", "1-15,17-31"),
            ("all x0xff", "0-7"),
            ("0xf ^0x3c", "0,1,4,5"),
            ("core:14:3", "0,14-16,30,31"),
            ("core:30:4", "0-3,16-19"),
            ("core:14:65535", "0-31"),
            ("core:0:65535.pu:0:65535", "0-31"),
            ("core:14-", "14,15,30,31"),
            ("core:odd xL3:0", "1,3,5,7,17,19,21,23"),
            ("hwloc-bind --single core:3 -- ./app --get", "3"),
            ("hwloc-calc --no-smt package:0", "0-15"),
            ("hwloc-calc --no-smt=1 L3:0", "16-23"),
            ("0x1,,0x1", "0,64"),
            ("0xf...f,0x1", "0"),
            ("machine:0", "0-31"),
        ],
    );
}

#[test]
fn hwloc_objects_with_the_same_cpus_do_not_double_from_tuple_to_tuple() {
    let mut machine = machines::interleaved();
    machine.nodes.extend(machine.nodes.clone());
    check(Notation::Hwloc, &machine, &[("node:all.".repeat(40).trim_end_matches('.'), "0-7")]);
}

#[test]
fn hwloc_counts_along_the_tree() {
    let machine = machines::interleaved();
    check(
        Notation::Hwloc,
        &machine,
        &[
            ("core:0-1", "0,2"),
            ("pu:4", "1"),
            ("package:1.core:0", "1"),
            ("package:1.core:0 package:0.core:1", "1,2"),
            ("node:1", "1,3,5,7"),
            ("L2:1", "4,6"),
            ("-p package:1", "1,3,5,7"),
            ("nodeset=0x2", "1,3,5,7"),
            ("--nodeset-input 0x2", "1,3,5,7"),
            ("hwloc-calc -n --no 0x1", "0,2,4,6"),
        ],
    );
    // Nodes without memory are no objects of hwloc.
    check(Notation::Hwloc, &machines::threadripper(), &[("numa:1", "16-23,48-55"), ("-p numa:2.core:0", "16,48")]);
    // Inside a cpuset hwloc counts what is in it.
    check(
        Notation::Hwloc,
        &machines::confined(),
        &[
            ("core:3", "4,20"),
            ("core:7", "19"),
            ("--disallowed core:8", "8,24"),
            ("core:4", "5,21"),
            ("all", "0-2,4-7,16-23"),
        ],
    );
}

#[test]
fn likwid_expressions() {
    check(
        Notation::Likwid,
        &machines::ryzen(),
        &[
            ("0-3,8", "0-3,8"),
            ("3-0", "3,2,1,0"),
            ("N:0-3", "0-3"),
            ("N:16,0", "16,0"),
            ("S0:0-1", "0,1"),
            ("C1:0-1,8", "8,9,24"),
            ("L:C0:7-9", "7,16,17"),
            ("E:S0:4", "0,16,1,17"),
            ("E:S0:4:1:2", "0-3"),
            ("E:C1:4:2:4", "8,24,10,26"),
            ("E:C1:2:1:2:1", "24,25"),
            ("C0:0@C1:0", "0,8"),
            ("C:scatter", "0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15,16,24,17,25,18,26,19,27,20,28,21,29,22,30,23,31"),
            ("C:scatter:4", "0,8,1,9"),
            ("C:balanced:4", "0,16,8,24"),
            ("C:cbalanced:5", "0-2,8,9"),
            ("C:cbalanced:18", "0,16,1-8,24,9-15"),
            ("C1", "8,24,9,25,10,26,11,27,12,28,13,29,14,30,15,31"),
            ("likwid-pin -q -c S0:0-1 ./app", "0,1"),
        ],
    );
    check(
        Notation::Likwid,
        &machines::threadripper(),
        &[("M1:0-1", "8,9"), ("D3:0", "24"), ("M:scatter:4", "0,8,16,24")],
    );
}

#[test]
fn likwid_is_explained() {
    let pinned = "Threads are pinned one by one in this order, and stay.";
    assert_eq!(
        explained(Notation::Likwid, "0-1,3", &machines::confined()),
        format!(
            "0,1,4\n    {pinned}\n    This process may not use every cpu, so likwid-pin reads plain numbers as \
                logical ones."
        )
    );
    assert_eq!(
        explained(Notation::Likwid, "C0:0@C0:0", &machines::ryzen()),
        format!("0\n    {pinned}\n    More than one thread runs on cpu 0.")
    );
}
