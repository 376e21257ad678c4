//! Groups that divide an object of the topology: a cache of several complexes, or all cpus if none are reported.

use corewise_machine::CpuSet;

use super::GroupHierarchy;
use crate::links::CostMatrix;
use crate::links::structure::CpuStructure;
use corewise_statistics::order::median;

/// Returns costs between cores: one cpu of each represents its core.
pub(in crate::links) fn between_cores(structure: &CpuStructure, costs_of: &CostMatrix) -> CostMatrix {
    if structure.cores.len() == structure.cpus.len() {
        return costs_of.clone();
    }
    let mut cores = CostMatrix::all_unknown(structure.cores.iter().map(|places| structure.cpus[places[0]]));
    for (a, places) in structure.cores.iter().enumerate() {
        for (b, others) in structure.cores.iter().enumerate().skip(a + 1) {
            let pairs = places.iter().flat_map(|&i| others.iter().map(move |&j| costs_of.pair_cost(i, j)));
            let cost = median(&pairs.collect::<Vec<_>>());
            cores.set_both(a, b, cost);
        }
    }
    cores
}

/// Returns the caches, with each divided one replaced by its groups, so that pairs inside and between these are
/// predicted separately. `None` if none is divided. A group of a single core may only lack measurements, and divides
/// nothing.
pub(in crate::links) fn hidden_groups(structure: &CpuStructure, known: &CostMatrix) -> Option<Vec<CpuSet>> {
    let cores = between_cores(structure, known);
    let mut hierarchy = GroupHierarchy::from_matrix(&cores, &cores);
    if !structure.is_named() {
        hierarchy.take_siblings(&cores);
    }
    let groups = hierarchy.levels.into_iter().next()?.groups;
    let parts = |cache: &CpuSet| -> Option<Vec<CpuSet>> {
        let parts: Vec<CpuSet> = groups.iter().filter(|group| !group.is_disjoint(cache)).cloned().collect();
        let are_parts = parts.len() > 1 && parts.iter().all(|part| part.len() > 1 && part.is_subset(cache));
        let places: Vec<usize> = cache.iter().filter_map(|cpu| cores.place_of(cpu)).collect();
        let pairs = places.iter().enumerate().flat_map(|(at, &i)| places[at + 1..].iter().map(move |&j| (i, j)));
        let is_mostly_known =
            2 * pairs.clone().filter(|&(i, j)| cores.pair_cost(i, j).is_finite()).count() >= pairs.count();
        (are_parts && is_mostly_known).then_some(parts)
    };
    let caches = structure.caches_as_sets();
    let divided: Vec<CpuSet> =
        caches.iter().flat_map(|cache| parts(cache).unwrap_or_else(|| vec![cache.clone()])).collect();
    (divided.len() > caches.len()).then_some(divided)
}
