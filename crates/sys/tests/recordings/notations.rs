//! Random sets of each recorded machine's cpus come back from every notation that has a reading.

use std::path::Path;

use corewise_model::placement::notation::{Notation, print, read};
use corewise_model::stats::random::Random;
use corewise_model::{CpuSet, Level, Machine};
use libtest_mimic::Failed;

use super::data;

/// How many random sets are tried on each machine, beside its packages, nodes and last-level caches.
const SETS: usize = 24;

/// Prints and reads sets of one recording's cpus.
pub fn come_back(folder: &Path, name: &str) -> Result<(), Failed> {
    let machine = data::machine(folder, name)?;
    let online: Vec<u32> = machine.online.iter().collect();
    let mut random = Random::new(0xc0de);
    let mut sets: Vec<Vec<u32>> = (0..SETS).map(|_| some(&online, &mut random)).collect();
    for level in [Level::Package, Level::Node, Level::Llc] {
        sets.extend(machine.objects(level).iter().take(4).map(|cpus| cpus.iter().collect()));
    }
    for order in sets.iter().filter(|order| !order.is_empty()) {
        for notation in Notation::ALL.into_iter().filter(|notation| notation.is_readable()) {
            check(notation, order, &machine)?;
        }
    }
    Ok(())
}

/// Few, about half, or nearly all of the cpus, in random order.
fn some(cpus: &[u32], random: &mut Random) -> Vec<u32> {
    let share = [0.05, 0.5, 0.95][random.below(3)];
    let mut chosen: Vec<u32> = cpus.iter().copied().filter(|_| random.unit() < share).collect();
    if chosen.is_empty() {
        chosen.push(cpus[random.below(cpus.len())]);
    }
    random.shuffle(&mut chosen);
    chosen
}

fn check(notation: Notation, order: &[u32], machine: &Machine) -> Result<(), Failed> {
    let cpus: CpuSet = order.iter().copied().collect();
    let lines = print(notation, &cpus, order, machine);
    let text = |line: &corewise_model::placement::notation::NotationLine| {
        let text = line.text.clone()?;
        // A mask of a processor group says nothing without its group.
        Some(if line.label.starts_with("group ") { format!("{}: {text}", line.label) } else { text })
    };
    let texts: Vec<String> = lines.iter().filter(|line| !line.secondary).filter_map(text).collect();
    if texts.is_empty() {
        return match lines.iter().all(|line| line.remarks.is_empty()) {
            true => Err(format!("{notation} has no text for {cpus}, and does not say why").into()),
            false => Ok(()),
        };
    }
    let text = texts.join("\n");
    match read(notation, &text, machine) {
        Ok(back) if back.cpus == cpus => Ok(()),
        Ok(back) => Err(format!("{notation}: {text} was {cpus}, reads as {}", back.cpus).into()),
        Err(error) => Err(format!("{notation}: {text}: {error}").into()),
    }
}
