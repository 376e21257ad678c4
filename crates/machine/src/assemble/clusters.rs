//! Clusters: cores that share an L2, or that the kernel calls a cluster.

use std::sync::LazyLock;

use super::{cores, partition};
use crate::CpuSet;
use crate::facts::{CacheKind, CpuFacts, MachineFacts};
use crate::machine::{Llc, MachineObject};

/// Returns the clusters, in order of their lowest cpu; each consists of whole cores.
pub fn build_clusters(facts: &MachineFacts, found_cores: &[MachineObject], llcs: &[Llc]) -> Vec<MachineObject> {
    let modules = cores::lists_modules(facts);
    let core_of = SetLookup::from_sets(&facts.cpus, found_cores.iter().map(|core| &core.cpus));
    let llc_of = SetLookup::from_sets(&facts.cpus, llcs.iter().map(|llc| &llc.cpus));
    let shared: Vec<CpuSet> = facts
        .cpus
        .iter()
        .enumerate()
        .map(|(at, cpu)| {
            let core = core_of.sets[at];
            let inside = |set: &&CpuSet| set.is_subset(llc_of.sets[at]) && !set.is_subset(core);
            cluster_members(cpu, modules, inside).map_or_else(|| core.clone(), |set| set.union(core))
        })
        .collect();
    let at = |cpu: &CpuFacts| facts.cpus.binary_search_by_key(&cpu.number, |other| other.number).ok();
    let sets = partition::by_sharing(&facts.cpus, |cpu| at(cpu).map(|at| &shared[at]));
    sets.into_iter().map(|cpus| MachineObject { os_number: None, cpus }).collect()
}

/// Returns a cpu's cluster: the Bulldozer module, the kernel's cluster (Intel modules, Arm clusters, Kunpeng), or the cpus that share its
/// L2. The first of these counts that has more than its core and is within its last-level cache.
fn cluster_members(cpu: &CpuFacts, modules: bool, inside: impl Fn(&&CpuSet) -> bool) -> Option<&CpuSet> {
    let module = cpu.thread_siblings.as_ref().filter(|_| modules);
    let holds_data = |kind: CacheKind| kind != CacheKind::Instruction;
    let second = cpu.caches.iter().find(|cache| cache.level == 2 && holds_data(cache.kind));
    [module, cpu.cluster_cpus.as_ref(), second.map(|cache| &cache.shared_with)].into_iter().flatten().find(inside)
}

/// The set that holds each cpu, by the cpu's index in the list.
struct SetLookup<'a> {
    sets: Vec<&'a CpuSet>,
}

impl<'a> SetLookup<'a> {
    fn from_sets(cpus: &[CpuFacts], sets: impl Iterator<Item = &'a CpuSet>) -> Self {
        static NONE: LazyLock<CpuSet> = LazyLock::new(CpuSet::new);
        let mut found = vec![&*NONE; cpus.len()];
        for set in sets {
            for cpu in set.iter() {
                if let Ok(at) = cpus.binary_search_by_key(&cpu, |facts| facts.number) {
                    found[at] = set;
                }
            }
        }
        Self { sets: found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::{bulldozer_facts, cpu_facts, format_lists, parse_set, unified_cache};
    use crate::assemble::{caches, outer_levels};

    fn found(facts: &MachineFacts) -> Vec<String> {
        let cores = cores::build_cores(facts);
        let llcs = caches::list_llcs(facts, &outer_levels::build_packages(facts, &cores), &cores);
        format_lists(build_clusters(facts, &cores, &llcs).iter().map(|cluster| &cluster.cpus))
    }

    /// Eight cpus that share an L3; the first four are a kernel cluster, all share an L2 in pairs.
    fn eight(kernel_cluster: Option<&str>) -> MachineFacts {
        cpu_facts(8, |cpu| {
            let first = cpu.number / 2 * 2;
            cpu.caches = vec![unified_cache(2, &format!("{first}-{}", first + 1)), unified_cache(3, "0-7")];
            cpu.cluster_cpus = kernel_cluster.map(parse_set).filter(|cluster| cluster.contains(cpu.number));
        })
    }

    #[test]
    fn the_kernels_cluster_comes_before_the_shared_l2() {
        assert_eq!(found(&eight(None)), ["0,1", "2,3", "4,5", "6,7"]);
        assert_eq!(found(&eight(Some("0-3"))), ["0-3", "4,5", "6,7"]);
        assert_eq!(found(&eight(Some("0"))), ["0,1", "2,3", "4,5", "6,7"], "a cluster of one core says nothing");
    }

    #[test]
    fn a_cluster_beyond_the_last_level_cache_is_not_one() {
        let mut machine = eight(None);
        for cpu in &mut machine.cpus {
            cpu.caches[1].shared_with = parse_set(["0-3", "4-7"][cpu.number as usize / 4]);
            cpu.cluster_cpus = Some(parse_set("0-7"));
        }
        assert_eq!(found(&machine), ["0,1", "2,3", "4,5", "6,7"]);
    }

    #[test]
    fn cores_alone_are_clusters_of_one_with_all_their_threads() {
        let machine =
            cpu_facts(4, |cpu| cpu.thread_siblings = Some(parse_set(["0,2", "1,3"][cpu.number as usize % 2])));
        assert_eq!(found(&machine), ["0,2", "1,3"]);
    }

    #[test]
    fn a_bulldozer_module_is_a_cluster_of_two_cores_whatever_the_l2_list_says() {
        let mut machine = cpu_facts(4, |cpu| {
            cpu.thread_siblings = Some(parse_set(["0-1", "2-3"][cpu.number as usize / 2]));
            cpu.core = Some(i64::from(cpu.number));
            cpu.caches = vec![unified_cache(2, &cpu.number.to_string()), unified_cache(3, "0-3")];
        });
        machine.processor = bulldozer_facts();
        assert_eq!(found(&machine), ["0,1", "2,3"]);
    }
}
