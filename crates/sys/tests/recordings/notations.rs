//! Sets of cpus come back from every notation that has a reading: random sets, objects, and what random expressions are,
//! on each recorded and built-in machine.

use std::path::Path;

use corewise_machine::generate::random_expression;
use corewise_machine::placement::notation::{Notation, print_notation, read_notation};
use corewise_machine::placement::{ResolveContext, parse};
use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Level, Machine};
use corewise_testing::count_cases;
use libtest_mimic::Failed;

use super::data;

/// How many random sets are tried on each machine, beside its packages, nodes and last-level caches.
const SETS: usize = 24;
/// How many random expressions: thousands on all machines together. Large machines take longer for each.
const EXPRESSIONS: usize = 100;

/// Prints and reads sets of one recording's cpus.
pub fn come_back(folder: &Path, name: &str) -> Result<(), Failed> {
    come_back_on(&data::machine(folder, name)?)
}

/// The same on the machines that are built in.
pub fn come_back_on_built_in() -> Result<(), Failed> {
    corewise_machine::machine_file::BUILT_IN
        .iter()
        .try_for_each(|built_in| come_back_on(&built_in.read_machine()?.machine))
}

/// The same on any machine.
pub fn come_back_on(machine: &Machine) -> Result<(), Failed> {
    let online: Vec<u32> = machine.online.iter().collect();
    let mut random = RandomGenerator::new(0xc0de);
    let mut sets: Vec<Vec<u32>> = (0..count_cases(SETS)).map(|_| some(&online, &mut random)).collect();
    for level in [Level::Package, Level::Node, Level::Llc] {
        sets.extend(machine.objects_of(level).iter().take(4).map(|cpus| cpus.iter().collect()));
    }
    let expressions = EXPRESSIONS.min(40_000 / online.len());
    for _ in 0..count_cases(expressions) {
        sets.push(resolved(&random_expression(&mut random, machine, 2), machine)?);
    }
    for order in sets.iter().filter(|order| !order.is_empty()) {
        for notation in Notation::ALL.into_iter().filter(|notation| *notation != Notation::Kubernetes) {
            check(notation, order, machine)?;
        }
    }
    Ok(())
}

/// The cpus of an expression in their order; none where nothing is left of it.
fn resolved(text: &str, machine: &Machine) -> Result<Vec<u32>, Failed> {
    let context = ResolveContext { machine, reachable: &machine.online, quiet: None, worth: None };
    match parse(text)?.resolve_on(&context) {
        Ok(resolution) => Ok(resolution.order),
        Err(error) if error.what.contains("no cpu") => Ok(Vec::new()),
        Err(error) => Err(format!("{text}: {error}").into()),
    }
}

/// Few, about half, or nearly all of the cpus, in random order.
fn some(cpus: &[u32], random: &mut RandomGenerator) -> Vec<u32> {
    let share = [0.05, 0.5, 0.95][random.next_below(3)];
    let mut chosen: Vec<u32> = cpus.iter().copied().filter(|_| random.next_unit() < share).collect();
    if chosen.is_empty() {
        chosen.push(cpus[random.next_below(cpus.len())]);
    }
    random.shuffle(&mut chosen);
    chosen
}

/// All lines that a script would get are the set together, and the first alone is part of it.
fn check(notation: Notation, order: &[u32], machine: &Machine) -> Result<(), Failed> {
    let cpus: CpuSet = order.iter().copied().collect();
    let lines = print_notation(notation, &cpus, order, machine);
    let texts: Vec<String> = lines.iter().filter(|line| !line.secondary).filter_map(|line| line.text.clone()).collect();
    if texts.is_empty() {
        return match lines.iter().all(|line| line.remarks.is_empty()) {
            true => Err(format!("{notation} has no text for {cpus}, and does not say why").into()),
            false => Ok(()),
        };
    }
    let whole = texts.join("\n");
    let back = cpus_of(notation, &whole, machine)?;
    if back != cpus {
        return Err(format!("{notation}: {whole} was {cpus}, reads as {back}").into());
    }
    // Lines behind the first may be about something else, such as memory nodes.
    let first = cpus_of(notation, &texts[0], machine)?;
    if !first.is_subset(&cpus) {
        return Err(format!("{notation}: {} is a line of {cpus}, reads as {first}", texts[0]).into());
    }
    Ok(())
}

fn cpus_of(notation: Notation, text: &str, machine: &Machine) -> Result<CpuSet, Failed> {
    let read = read_notation(notation, text, machine).map_err(|error| format!("{notation}: {text}: {error}"))?;
    Ok(read.cpus)
}
