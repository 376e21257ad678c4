//! The tables that lscpu and numactl would print of a recorded machine read back as the same packages, cores, caches and nodes.

use std::fmt::Write as _;
use std::path::Path;

use corewise_machine::facts::CacheKind;
use corewise_machine::{CpuSet, Level, Machine};
use corewise_sys::{Root, topology};
use libtest_mimic::Failed;

use super::data;

/// The columns of caches.
const CACHES: [(u8, CacheKind); 4] =
    [(1, CacheKind::Data), (1, CacheKind::Instruction), (2, CacheKind::Unified), (3, CacheKind::Unified)];

/// Compares a recording with its own paste. Cores that share an L3 share one in the tables, too.
pub fn check(folder: &Path, name: &str) -> Result<(), Failed> {
    let machine = data::machine(folder, name)?;
    let is_usual = machine.packages.iter().all(|package| {
        machine.cores.iter().all(|core| core.cpus.is_subset(&package.cpus) || core.cpus.is_disjoint(&package.cpus))
    });
    if !is_usual || machine.nodes.iter().any(|node| node.cpus.is_empty()) || machine.nodes.len() > 64 {
        return Ok(());
    }
    for text in [extended_table(&machine), parsable_table(&machine)] {
        let text = format!("$ lscpu\n{text}\n$ numactl -H\n{}", nodes(&machine));
        let read = topology::read_machine(&Root::from_archive_bytes(text.as_bytes())?)?;
        compare(&machine, &read)?;
    }
    Ok(())
}

fn compare(machine: &Machine, read: &Machine) -> Result<(), Failed> {
    for level in [Level::Package, Level::Core, Level::Node] {
        let (wanted, found) = (sorted(machine.objects_of(level)), sorted(read.objects_of(level)));
        if wanted != found {
            return Err(format!("{level}: {wanted:?} became {found:?}").into());
        }
    }
    let third = |machine: &Machine| sorted(cache_sets(machine, (3, CacheKind::Unified)));
    if third(machine) != third(read) {
        return Err(format!("L3: {:?} became {:?}", third(machine), third(read)).into());
    }
    let distances = |machine: &Machine| machine.nodes.iter().map(|node| node.distances.clone()).collect::<Vec<_>>();
    if distances(machine) != distances(read) && machine.nodes.iter().all(|node| !node.distances.is_empty()) {
        return Err(format!("distances: {:?} became {:?}", distances(machine), distances(read)).into());
    }
    Ok(())
}

fn sorted(mut sets: Vec<CpuSet>) -> Vec<String> {
    sets.retain(|set| !set.is_empty());
    let mut lists: Vec<String> = sets.iter().map(ToString::to_string).collect();
    lists.sort();
    lists
}

/// Returns the index of the set that holds a cpu, or "-".
fn index_in(sets: &[CpuSet], cpu: u32) -> String {
    sets.iter().position(|set| set.contains(cpu)).map_or("-".to_owned(), |index| index.to_string())
}

fn cache_sets(machine: &Machine, (level, kind): (u8, CacheKind)) -> Vec<CpuSet> {
    let caches = machine.caches.iter().filter(|cache| cache.level == level && cache.kind == kind);
    caches.map(|cache| cache.cpus.clone()).collect()
}

/// `lscpu -e`.
fn extended_table(machine: &Machine) -> String {
    let mut text = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n".to_owned();
    let caches = CACHES.map(|place| cache_sets(machine, place));
    let [nodes, packages, cores] = [Level::Node, Level::Package, Level::Core].map(|level| machine.objects_of(level));
    for cpu in machine.online.iter() {
        let ids = caches.each_ref().map(|sets| index_in(sets, cpu)).join(":");
        let (node, package, core) = (index_in(&nodes, cpu), index_in(&packages, cpu), index_in(&cores, cpu));
        let _ = writeln!(text, "{cpu:3} {node:>4} {package:>6} {core:>4} {ids:<13} {:>6}", "yes");
    }
    text
}

/// `lscpu -p`.
fn parsable_table(machine: &Machine) -> String {
    let mut text = "# starting usually from zero.\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n".to_owned();
    let caches = CACHES.map(|place| cache_sets(machine, place));
    let [cores, packages] = [Level::Core, Level::Package].map(|level| machine.objects_of(level));
    for cpu in machine.online.iter() {
        let ids = caches.each_ref().map(|sets| index_in(sets, cpu)).join(",").replace('-', "");
        let _ = writeln!(text, "{cpu},{},{},,,{ids}", index_in(&cores, cpu), index_in(&packages, cpu));
    }
    text
}

/// `numactl -H`.
fn nodes(machine: &Machine) -> String {
    let numbers: Vec<String> = machine.nodes.iter().map(|node| node.number.to_string()).collect();
    let mut text = format!("available: {} nodes ({})\n", numbers.len(), numbers.join(","));
    for node in &machine.nodes {
        let cpus: Vec<String> = node.cpus.iter().map(|cpu| cpu.to_string()).collect();
        let _ = writeln!(text, "node {} cpus: {}", node.number, cpus.join(" "));
        let _ = writeln!(text, "node {} size: {} MB", node.number, node.memory_bytes.unwrap_or(0) >> 20);
    }
    text += &format!("node distances:\nnode   {}\n", numbers.join("   "));
    for node in machine.nodes.iter().filter(|node| !node.distances.is_empty()) {
        let row: Vec<String> = node.distances.iter().map(|distance| format!("{distance:3}")).collect();
        let _ = writeln!(text, "{:3}: {}", node.number, row.join(" "));
    }
    text
}
