//! Random expressions of the placement language, for property tests.

use crate::random::RandomGenerator;
use crate::{CpuSet, Level, Machine};

const NAMES: [&str; 6] = ["all", "online", "one-per-core", "with-memory", "core:even", "core:all.cpu:0"];

/// Generates an expression of at most `depth` nested operators over a machine's objects. It may still be empty, as `0 & (1)` is.
pub fn random_expression(random: &mut RandomGenerator, machine: &Machine, depth: u32) -> String {
    match random.next_below(if depth == 0 { 6 } else { 10 }) {
        0 => random_cpu(random, machine).to_string(),
        1 => random_range(random, machine),
        2 => format!("0x{}", (0..4).map(|_| random_cpu(random, machine)).collect::<CpuSet>().to_hexadecimal()),
        3 => random_objects(random, machine),
        4 => NAMES[random.next_below(NAMES.len())].to_owned(),
        5 => {
            let level = Level::EVERYWHERE[random.next_below(Level::EVERYWHERE.len())];
            format!(
                "{}({}, {level})",
                ["spread", "pack"][random.next_below(2)],
                1 + random.next_below(usable_cpus(machine).len())
            )
        }
        6 => format!("!({})", random_expression(random, machine, depth - 1)),
        _ => {
            let (a, b) = (random_expression(random, machine, depth - 1), random_expression(random, machine, depth - 1));
            format!("({a}) {} ({b})", ["+", "-", "&"][random.next_below(3)])
        }
    }
}

fn usable_cpus(machine: &Machine) -> CpuSet {
    machine.allowed.difference(&machine.isolated)
}

fn random_cpu(random: &mut RandomGenerator, machine: &Machine) -> u32 {
    let cpus: Vec<u32> = machine.present.iter().collect();
    cpus[random.next_below(cpus.len())]
}

/// Generates a range, or two cpus if there is a hole between them.
fn random_range(random: &mut RandomGenerator, machine: &Machine) -> String {
    let (a, b) = (random_cpu(random, machine), random_cpu(random, machine));
    let (low, high) = (a.min(b), a.max(b));
    let whole = (low..=high).all(|cpu| machine.present.contains(cpu));
    if whole { format!("{low}-{high}") } else { format!("{low},{high}") }
}

fn random_objects(random: &mut RandomGenerator, machine: &Machine) -> String {
    let level = [Level::Core, Level::Llc, Level::Cluster, Level::Package][random.next_below(4)];
    let count = machine.objects_of(level).len();
    let (a, b) = (random.next_below(count), random.next_below(count));
    format!("{level}:{}-{}", a.min(b), a.max(b))
}
