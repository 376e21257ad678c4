//! Random expressions of the placement language, for property tests.

use crate::random::Random;
use crate::{CpuSet, Level, Machine};

const NAMES: [&str; 6] = ["all", "online", "one-per-core", "with-memory", "core:even", "core:all.cpu:0"];

/// Generates an expression of at most `depth` nested operators over a machine's objects. It may still be empty, as `0 & (1)` is.
pub fn expression(random: &mut Random, machine: &Machine, depth: u32) -> String {
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0 => cpu(random, machine).to_string(),
        1 => range(random, machine),
        2 => format!("0x{}", (0..4).map(|_| cpu(random, machine)).collect::<CpuSet>().to_hexadecimal()),
        3 => objects(random, machine),
        4 => NAMES[random.below(NAMES.len())].to_owned(),
        5 => {
            let level = Level::EVERYWHERE[random.below(Level::EVERYWHERE.len())];
            format!("{}({}, {level})", ["spread", "pack"][random.below(2)], 1 + random.below(usable(machine).len()))
        }
        6 => format!("!({})", expression(random, machine, depth - 1)),
        _ => {
            let (a, b) = (expression(random, machine, depth - 1), expression(random, machine, depth - 1));
            format!("({a}) {} ({b})", ["+", "-", "&"][random.below(3)])
        }
    }
}

fn usable(machine: &Machine) -> CpuSet {
    machine.allowed.difference(&machine.isolated)
}

fn cpu(random: &mut Random, machine: &Machine) -> u32 {
    let cpus: Vec<u32> = machine.present.iter().collect();
    cpus[random.below(cpus.len())]
}

/// Generates a range, or two cpus if there is a hole between them.
fn range(random: &mut Random, machine: &Machine) -> String {
    let (a, b) = (cpu(random, machine), cpu(random, machine));
    let (low, high) = (a.min(b), a.max(b));
    let whole = (low..=high).all(|cpu| machine.present.contains(cpu));
    if whole { format!("{low}-{high}") } else { format!("{low},{high}") }
}

fn objects(random: &mut Random, machine: &Machine) -> String {
    let level = [Level::Core, Level::Llc, Level::Cluster, Level::Package][random.below(4)];
    let count = machine.objects(level).len();
    let (a, b) = (random.below(count), random.below(count));
    format!("{level}:{}-{}", a.min(b), a.max(b))
}
