//! What holds on every machine, whatever its source said.

use corewise_machine::machine::MachineObject;
use corewise_machine::{CpuSet, Level, Machine};
use libtest_mimic::Failed;

/// Checks all that must hold.
pub fn check(machine: &Machine) -> Result<(), Failed> {
    for level in Level::EVERYWHERE.into_iter().filter(|level| *level != Level::Node) {
        partition(machine, level)?;
    }
    nodes(machine)?;
    nesting(machine)?;
    sets(machine)?;
    kinds(machine)?;
    caches(machine)
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(what().into()) }
}

/// Every online cpu is in exactly one object of the level, none is empty, and they are in order of their lowest cpu.
fn partition(machine: &Machine, level: Level) -> Result<(), Failed> {
    let objects = machine.objects_of(level);
    ensure(objects.iter().all(|cpus| !cpus.is_empty()), || format!("an empty {level}"))?;
    ensure(objects.is_sorted_by_key(CpuSet::lowest), || format!("{level} out of order"))?;
    let count: usize = objects.iter().map(CpuSet::len).sum();
    let all = objects.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
    ensure(all == machine.online, || format!("{level} covers {all}, online is {}", machine.online))?;
    ensure(count == all.len(), || format!("{level}: a cpu is in several"))
}

/// Nodes have rising numbers, no cpu is in two of them, and distances are square with 10 on the diagonal.
fn nodes(machine: &Machine) -> Result<(), Failed> {
    ensure(!machine.nodes.is_empty(), || "no node".into())?;
    ensure(machine.nodes.is_sorted_by(|a, b| a.number < b.number), || "node numbers do not rise".into())?;
    let count: usize = machine.nodes.iter().map(|node| node.cpus.len()).sum();
    let all = machine.nodes.iter().fold(CpuSet::new(), |all, node| all.union(&node.cpus));
    ensure(count == all.len() && all.is_subset(&machine.online), || format!("nodes cover {all}"))?;
    for (at, node) in machine.nodes.iter().enumerate().filter(|(_, node)| !node.distances.is_empty()) {
        ensure(node.distances.len() == machine.nodes.len(), || format!("node {} has too few distances", node.number))?;
        ensure(node.distances[at] >= 1, || format!("node {} is nowhere", node.number))?;
    }
    Ok(())
}

/// Cores are inside clusters, clusters inside last-level caches, dies inside packages.
fn nesting(machine: &Machine) -> Result<(), Failed> {
    let inside = |inner: Level, outer: Level| {
        let outer_objects = machine.objects_of(outer);
        let lonely =
            machine.objects_of(inner).into_iter().find(|cpus| !outer_objects.iter().any(|o| cpus.is_subset(o)));
        ensure(lonely.is_none(), || format!("{inner} {} is in no {outer}", lonely.unwrap_or_default()))
    };
    inside(Level::Core, Level::Cluster)?;
    inside(Level::Cluster, Level::Llc)?;
    inside(Level::Core, Level::Die)?;
    inside(Level::Die, Level::Package)
}

fn sets(machine: &Machine) -> Result<(), Failed> {
    ensure(!machine.online.is_empty(), || "no cpu is online".into())?;
    ensure(machine.online.is_subset(&machine.present), || "online but not present".into())?;
    ensure(machine.present.is_subset(&machine.possible), || "present but not possible".into())?;
    ensure(!machine.allowed.is_empty() && machine.allowed.is_subset(&machine.online), || "allowed is not online".into())
}

/// No kind, or at least two that share no cpu and cover all, best first.
fn kinds(machine: &Machine) -> Result<(), Failed> {
    let kinds = &machine.kinds;
    let all = kinds.iter().fold(CpuSet::new(), |all, kind| all.union(&kind.cpus));
    let count: usize = kinds.iter().map(|kind| kind.cpus.len()).sum();
    ensure(kinds.is_empty() || (kinds.len() >= 2 && all == machine.online), || format!("kinds cover {all}"))?;
    ensure(count == all.len(), || "a cpu is of two kinds".into())?;
    ensure(kinds.is_sorted_by(|a, b| a.core_type < b.core_type), || "kinds are not best first".into())?;
    let whole = |core: &MachineObject| kinds.iter().filter(|kind| !kind.cpus.is_disjoint(&core.cpus)).count() <= 1;
    ensure(machine.cores.iter().all(whole), || "a core of two kinds".into())
}

/// Caches have sensible sizes and no cpu has two of a level and kind.
fn caches(machine: &Machine) -> Result<(), Failed> {
    for (at, cache) in machine.caches.iter().enumerate() {
        let name = format!("L{} {:?} of {}", cache.level, cache.kind, cache.cpus);
        let sensible = |size: u64| (1 << 10..=2 << 30).contains(&size);
        ensure(cache.size_bytes.is_none_or(sensible), || format!("{name} has {:?} bytes", cache.size_bytes))?;
        ensure(!cache.cpus.is_empty() && cache.cpus.is_subset(&machine.online), || format!("{name} is of no cpu"))?;
        let others =
            machine.caches[at + 1..].iter().filter(|other| (other.level, other.kind) == (cache.level, cache.kind));
        for other in others {
            ensure(other.cpus.is_disjoint(&cache.cpus), || format!("{name} overlaps {}", other.cpus))?;
        }
    }
    Ok(())
}
