//! Order of cpus in the machine's tree: package by package, cache by cache, core by core, siblings adjacent.

use std::collections::BTreeMap;

use crate::{CpuSet, Level, Machine};

/// Returns the online cpus in the order of the tree. Children of one parent are in order of their lowest cpu.
///
/// This is the order of hwloc's logical indices, of likwid's domains, and of Windows' cpu numbers.
pub(super) fn tree_order(machine: &Machine) -> Vec<u32> {
    let keys = tree_keys(machine);
    let mut cpus: Vec<u32> = machine.online.iter().collect();
    cpus.sort_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
    cpus
}

/// Sorts sets of cpus in the order of the tree; empty ones last.
pub(super) fn sort_by_tree(mut sets: Vec<CpuSet>, machine: &Machine) -> Vec<CpuSet> {
    sort_by_cpus(&mut sets, |set| set, machine);
    sets
}

/// Sorts items in the order of the tree; items without cpus last.
pub(super) fn sort_by_cpus<T>(items: &mut [T], cpus: impl Fn(&T) -> &CpuSet, machine: &Machine) {
    let keys = tree_keys(machine);
    // An item without cpus has no key, and would come first without the flag.
    items.sort_by_cached_key(|item| {
        let first = cpus(item).iter().filter_map(|cpu| keys.get(cpu as usize)).filter(|key| !key.is_empty()).min();
        (first.is_none(), first)
    });
}

/// Returns for each cpu, by its number, the lowest cpus of the objects that hold it, largest object first.
fn tree_keys(machine: &Machine) -> Vec<Vec<u32>> {
    // Real caches, not last-level caches, which exist here even if a machine reports none.
    let levels = [Level::Package, Level::Node, Level::Die, Level::Cluster, Level::Core];
    let mut sets: Vec<CpuSet> = levels.iter().flat_map(|level| machine.objects_of(*level)).collect();
    sets.extend(machine.caches.iter().map(|cache| cache.cpus.clone()));
    sets.sort_by_cached_key(|set| std::cmp::Reverse(set.len()));
    let highest = sets.iter().chain([&machine.online]).filter_map(CpuSet::highest).max();
    let mut keys = vec![Vec::new(); highest.map_or(0, |highest| highest as usize + 1)];
    for set in &sets {
        let Some(lowest) = set.lowest() else { continue };
        set.iter().for_each(|cpu| keys[cpu as usize].push(lowest));
    }
    keys
}

/// Returns the thread index of each cpu in its core, counted from 0 in order of the cpu numbers.
pub(super) fn thread_indexes(machine: &Machine) -> BTreeMap<u32, usize> {
    machine.cores.iter().flat_map(|core| core.cpus.iter().enumerate().map(|(index, cpu)| (cpu, index))).collect()
}
