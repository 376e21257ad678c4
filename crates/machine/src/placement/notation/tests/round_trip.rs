//! What is printed in a notation reads back as the same set, in every notation that has a reading.

use corewise_testing::count_cases;

use super::super::{Notation, NotationLine, print_notation};
use super::{machines, read};
use crate::random::RandomGenerator;
use crate::{CpuSet, Machine};

/// The texts of a set's lines that say the whole set.
pub fn whole_texts(notation: Notation, lines: &[NotationLine], machine: &Machine) -> Vec<String> {
    let text = |line: &NotationLine| line.text.clone();
    let joined = |texts: Vec<String>| if texts.is_empty() { vec![] } else { vec![texts.join("\n")] };
    match notation {
        // Its reserved cpus are the others.
        Notation::Kubernetes => vec![],
        // One element, file or processor group is a part of the whole.
        Notation::Rankfile
        | Notation::Libvirt
        | Notation::Systemd
        | Notation::Cgroup
        | Notation::Windows
        | Notation::PowerShell => joined(lines.iter().filter_map(text).collect()),
        // A negative number says its width only where the machine does.
        Notation::Decimal if machine.possible.highest() >= Some(32) => {
            let negative = |text: &String| text.starts_with('-');
            let (wide, narrow) = (lines[0].text.clone(), lines.get(1).and_then(text));
            wide.into_iter().chain(narrow.filter(|text| !negative(text))).collect()
        }
        _ => lines.iter().filter_map(text).collect(),
    }
}

/// Whether a notation's text keeps the order of cpus.
fn keeps_order(notation: Notation, text: &str) -> bool {
    match notation {
        Notation::OpenMp | Notation::Likwid => true,
        // Whole cores get adjacent virtual cpus.
        Notation::Libvirt => !text.contains("<topology"),
        Notation::Slurm => text.contains("map_cpu"),
        _ => false,
    }
}

fn check(name: &str, machine: &Machine, order: &[u32]) {
    let cpus: CpuSet = order.iter().copied().collect();
    for notation in Notation::ALL {
        let lines = print_notation(notation, &cpus, order, machine);
        assert!(!lines.is_empty(), "{name}: {notation} printed nothing for {cpus}");
        for text in whole_texts(notation, &lines, machine) {
            let back = read(notation, &text, machine);
            assert_eq!(back.cpus, cpus, "{name}: {notation}: {text}");
            if keeps_order(notation, &text) {
                assert_eq!(back.order, order, "{name}: {notation}: {text}");
            }
        }
    }
}

/// Some of the cpus in random order: few, about half, or nearly all of them.
fn some(cpus: &[u32], random: &mut RandomGenerator) -> Vec<u32> {
    let share = [0.05, 0.5, 0.95][random.next_below(3)];
    let mut chosen: Vec<u32> = cpus.iter().copied().filter(|_| random.next_unit() < share).collect();
    if chosen.is_empty() {
        chosen.push(cpus[random.next_below(cpus.len())]);
    }
    random.shuffle(&mut chosen);
    chosen
}

#[test]
fn random_sets_come_back_from_every_notation() {
    let mut random = RandomGenerator::new(0x5eed);
    for (name, machine) in machines::all() {
        let cpus: Vec<u32> = machine.online.iter().collect();
        let rounds = if cpus.len() > 200 { 12 } else { 400 };
        for _ in 0..count_cases(rounds) {
            check(name, &machine, &some(&cpus, &mut random));
        }
    }
}

#[test]
fn whole_objects_come_back_from_every_notation() {
    for (name, machine) in machines::all() {
        for level in [crate::Level::Package, crate::Level::Node, crate::Level::Llc] {
            let objects = machine.objects_of(level);
            for cpus in objects.iter().filter(|cpus| !cpus.is_empty()).take(4) {
                check(name, &machine, &cpus.iter().collect::<Vec<_>>());
            }
        }
        check(name, &machine, &machine.online.iter().collect::<Vec<_>>());
    }
}

#[test]
fn every_notation_has_lines_for_small_sets() {
    let machine = machines::ryzen();
    for notation in Notation::ALL {
        // A core with both threads.
        let lines = print_notation(notation, &[5, 21].into_iter().collect(), &[5, 21], &machine);
        assert!(lines[0].text.is_some(), "{notation}: {lines:?}");
        let texts = whole_texts(notation, &lines, &machine);
        assert_eq!(texts.is_empty(), notation == Notation::Kubernetes, "{notation}");
    }
}
