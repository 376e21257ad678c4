//! Caches, last-level cache domains, and which of them have stacked cache.

use std::collections::BTreeMap;

use super::partition;
use crate::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts};
use crate::machine::{Cache, Llc, MachineObject};
use crate::{CpuSet, Gap, GapSubject};

/// Least size of an L3 with stacked cache, in bytes: 64 MiB. A Zen die has 32 MiB of its own, 96 MiB with the stack.
const STACKED_LEAST_BYTES: u64 = 64 << 20;

/// Least difference to its smallest sibling, in bytes: 32 MiB. Unequal caches of 16 and 8 MiB (Strix Point, GB10) are not stacked cache.
const STACKED_EXCESS_BYTES: u64 = 32 << 20;

/// Makes the threads of a core share all its caches, even if a file does not say so.
pub fn share_in_cores(facts: &mut MachineFacts, cores: &[MachineObject]) {
    let of: BTreeMap<u32, &CpuSet> =
        cores.iter().flat_map(|core| core.cpus.iter().map(|cpu| (cpu, &core.cpus))).collect();
    for cpu in &mut facts.cpus {
        let Some(core) = of.get(&cpu.number) else { continue };
        for cache in cpu.caches.iter_mut().filter(|cache| !core.is_subset(&cache.shared_with)) {
            cache.shared_with = cache.shared_with.union(core);
        }
    }
}

/// Returns every cache once, by level, then kind, then lowest cpu.
pub fn list_caches(facts: &MachineFacts) -> Vec<Cache> {
    let mut sorts: Vec<(u8, CacheKind)> =
        facts.cpus.iter().flat_map(|cpu| &cpu.caches).map(|cache| (cache.level, cache.kind)).collect();
    sorts.sort_unstable();
    sorts.dedup();
    sorts.into_iter().flat_map(|(level, kind)| caches_of(facts, level, kind)).collect()
}

fn caches_of(facts: &MachineFacts, level: u8, kind: CacheKind) -> Vec<Cache> {
    let of = |cpu: &'_ CpuFacts| cpu.caches.iter().position(|cache| cache.level == level && cache.kind == kind);
    let sizes = collect_sizes(facts, |cpu| of(cpu).map(|at| &cpu.caches[at]));
    let sets = partition::by_sharing(&facts.cpus, |cpu| of(cpu).map(|at| &cpu.caches[at].shared_with));
    let first = |set: &CpuSet| set.iter().find_map(|cpu| sizes.get(&cpu).copied().flatten());
    let is_there = |set: &CpuSet| set.iter().any(|cpu| sizes.contains_key(&cpu));
    let cache = |cpus: CpuSet| Cache { level, kind, size_bytes: first(&cpus), cpus };
    sets.into_iter().filter(is_there).map(cache).collect()
}

/// Returns the reported size of the cache, by cpu.
fn collect_sizes<'a>(
    facts: &'a MachineFacts,
    cache: impl Fn(&'a CpuFacts) -> Option<&'a CacheFacts>,
) -> BTreeMap<u32, Option<u64>> {
    facts.cpus.iter().filter_map(|cpu| Some((cpu.number, cache(cpu)?.size_bytes))).collect()
}

/// Returns the last-level cache domains, in order of their lowest cpu. A cpu belongs to its cache of the highest level from 2 on. The cpus
/// of a package without such a cache form a domain of unknown size. So do the cpus of a package of several cores with private L2s only
/// (AmpereOne): what its cores share is not reported.
pub fn list_llcs(facts: &MachineFacts, packages: &[MachineObject], cores: &[MachineObject]) -> Vec<Llc> {
    let private = private_packages(facts, packages, cores);
    let bare = bare_sets(facts, packages, &private);
    let sizes = collect_sizes(facts, |cpu| shared_last_level(cpu, &private));
    let sets = partition::by_sharing(&facts.cpus, |cpu| match shared_last_level(cpu, &private) {
        Some(cache) => Some(&cache.shared_with),
        None => bare.iter().find(|set| set.contains(cpu.number)),
    });
    let levels: BTreeMap<u32, u8> =
        facts.cpus.iter().filter_map(|cpu| Some((cpu.number, shared_last_level(cpu, &private)?.level))).collect();
    let of = |cpus: CpuSet| {
        let level = cpus.iter().filter_map(|cpu| levels.get(&cpu).copied()).max();
        let size_bytes = cpus.iter().filter_map(|cpu| sizes.get(&cpu).copied().flatten()).next();
        Llc { level, size_bytes, vcache: false, cpus }
    };
    let mut llcs: Vec<Llc> = sets.into_iter().map(of).collect();
    for package in packages {
        mark_stacked(&mut llcs, &package.cpus);
    }
    llcs
}

/// Returns a gap if cpus have no known last-level cache.
pub fn missing_llc_gap(llcs: &[Llc]) -> Option<Gap> {
    let unknown = llcs.iter().filter(|llc| llc.level.is_none()).fold(CpuSet::new(), |all, llc| all.union(&llc.cpus));
    let why = format!("no L2 or L3 that cores share is reported for cpus {unknown}; their package is used as llc");
    (!unknown.is_empty()).then(|| Gap::new("shared caches", why).about(&[GapSubject::Caches]))
}

fn last_level_cache(cpu: &CpuFacts) -> Option<&CacheFacts> {
    let shared = cpu.caches.iter().filter(|cache| cache.level >= 2 && cache.kind != CacheKind::Instruction);
    shared.max_by_key(|cache| cache.level)
}

/// Returns the last-level cache of a cpu, if it is not in a package of private caches.
fn shared_last_level<'a>(cpu: &'a CpuFacts, private: &CpuSet) -> Option<&'a CacheFacts> {
    last_level_cache(cpu).filter(|_| !private.contains(cpu.number))
}

/// Returns the cpus of the packages of several cores if their last caches are all L2s private to a core.
fn private_packages(facts: &MachineFacts, packages: &[MachineObject], cores: &[MachineObject]) -> CpuSet {
    let core_of: BTreeMap<u32, &CpuSet> =
        cores.iter().flat_map(|core| core.cpus.iter().map(|cpu| (cpu, &core.cpus))).collect();
    let is_private = |cpu: &CpuFacts| {
        let core = core_of.get(&cpu.number);
        last_level_cache(cpu)
            .zip(core)
            .is_some_and(|(cache, core)| cache.level == 2 && cache.shared_with.is_subset(core))
    };
    let private: CpuSet = facts.cpus.iter().filter(|cpu| is_private(cpu)).map(|cpu| cpu.number).collect();
    let several = |package: &&MachineObject| core_of[&package.cpus.lowest().unwrap_or(0)] != &package.cpus;
    let whole = packages.iter().filter(|package| package.cpus.is_subset(&private)).filter(several);
    whole.fold(CpuSet::new(), |all, package| all.union(&package.cpus))
}

fn bare_sets(facts: &MachineFacts, packages: &[MachineObject], private: &CpuSet) -> Vec<CpuSet> {
    let is_bare = |cpu: &&CpuFacts| last_level_cache(cpu).is_none() || private.contains(cpu.number);
    let bare: CpuSet = facts.cpus.iter().filter(is_bare).map(|cpu| cpu.number).collect();
    packages.iter().map(|package| package.cpus.intersection(&bare)).filter(|set| !set.is_empty()).collect()
}

/// Marks V-Cache: an L3 of at least 64 MiB that exceeds the smallest L3 of the same package by at least 32 MiB. If every die has stacked
/// cache (5800X3D, Milan-X), none is special, so none is marked.
fn mark_stacked(llcs: &mut [Llc], package: &CpuSet) {
    let in_package = |llc: &Llc| llc.level == Some(3) && llc.cpus.is_subset(package);
    let sizes = llcs.iter().filter(|llc| in_package(llc)).filter_map(|llc| llc.size_bytes);
    let Some(smallest) = sizes.min() else { return };
    for llc in llcs.iter_mut().filter(|llc| in_package(llc)) {
        llc.vcache = llc
            .size_bytes
            .is_some_and(|size| size >= STACKED_LEAST_BYTES && size.saturating_sub(smallest) >= STACKED_EXCESS_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::{cpu_facts, format_lists, parse_set, unified_cache, unknown_cpu};
    use crate::assemble::{cores, outer_levels};

    fn found(facts: &MachineFacts) -> Vec<Llc> {
        list_llcs(facts, &outer_levels::build_packages(facts, &[]), &cores::build_cores(facts))
    }

    #[test]
    fn cpus_without_an_l3_have_their_l2_as_last_level() {
        let machine = cpu_facts(6, |cpu| {
            cpu.caches = match cpu.number {
                0..4 => vec![unified_cache(2, &cpu.number.to_string()), unified_cache(3, "0-3")],
                _ => vec![unified_cache(2, "4-5")],
            }
        });
        let llcs = found(&machine);
        assert_eq!(format_lists(llcs.iter().map(|llc| &llc.cpus)), ["0-3", "4,5"]);
        assert_eq!(llcs.iter().map(|llc| llc.level).collect::<Vec<_>>(), [Some(3), Some(2)]);
        assert_eq!(llcs[1].size_bytes, Some(2 << 20));
        assert_eq!(missing_llc_gap(&llcs), None);
    }

    #[test]
    fn without_caches_the_package_stands_in_and_a_gap_says_so() {
        let machine = cpu_facts(4, |cpu| {
            cpu.package = Some(i64::from(cpu.number / 2));
            cpu.caches = vec![unified_cache(1, &cpu.number.to_string())];
        });
        let llcs = found(&machine);
        assert_eq!(format_lists(llcs.iter().map(|llc| &llc.cpus)), ["0,1", "2,3"]);
        assert_eq!((llcs[0].level, llcs[0].size_bytes), (None, None));
        assert!(missing_llc_gap(&llcs).unwrap().why.contains("cpus 0-3"));
    }

    #[test]
    fn a_private_l2_is_no_last_level_cache() {
        let machine = |package: fn(u32) -> i64, siblings: fn(u32) -> &'static str| {
            cpu_facts(4, |cpu| {
                cpu.package = Some(package(cpu.number));
                cpu.thread_siblings = Some(parse_set(siblings(cpu.number)));
                cpu.caches = vec![unified_cache(2, siblings(cpu.number))];
            })
        };
        let alone = |cpu: u32| ["0", "1", "2", "3"][cpu as usize];
        let ampere = found(&machine(|cpu| i64::from(cpu / 2), alone));
        assert_eq!(format_lists(ampere.iter().map(|llc| &llc.cpus)), ["0,1", "2,3"], "what its cores share is unknown");
        assert!(missing_llc_gap(&ampere).unwrap().why.contains("that cores share is reported for cpus 0-3"));
        let one_core = found(&machine(|_| 0, |_| "0-3"));
        assert_eq!((one_core.len(), one_core[0].level), (1, Some(2)), "of one core it is all there is");
        let guest = found(&machine(i64::from, alone));
        assert_eq!((guest.len(), missing_llc_gap(&guest)), (4, None), "packages of one core");
    }

    #[test]
    fn stacked_cache_is_large_and_larger_than_its_sibling() {
        let vcache = |sizes_mib: &[u64]| {
            let machine = cpu_facts(sizes_mib.len() as u32, |cpu| {
                let size_bytes = Some(sizes_mib[cpu.number as usize] << 20);
                cpu.caches = vec![CacheFacts { size_bytes, ..unified_cache(3, &cpu.number.to_string()) }];
            });
            found(&machine).iter().map(|llc| llc.vcache).collect::<Vec<_>>()
        };
        assert_eq!(vcache(&[96, 32]), [true, false], "9950X3D");
        assert_eq!(vcache(&[16, 8]), [false, false], "Strix Point, GB10");
        assert_eq!(vcache(&[96, 96]), [false, false], "Milan-X: all dies alike");
        assert_eq!(vcache(&[96]), [false], "5800X3D: nothing to differ from");
        assert_eq!(vcache(&[64, 32]), [true, false]);
        assert_eq!(vcache(&[63, 16]), [false, false]);
        assert_eq!(vcache(&[95, 64]), [false, false]);
    }

    #[test]
    fn siblings_for_stacked_cache_are_those_of_the_package() {
        let machine = cpu_facts(2, |cpu| {
            cpu.package = Some(i64::from(cpu.number));
            let size_bytes = Some([96, 32][cpu.number as usize] << 20);
            cpu.caches = vec![CacheFacts { size_bytes, ..unified_cache(3, &cpu.number.to_string()) }];
        });
        assert!(found(&machine).iter().all(|llc| !llc.vcache));
    }

    #[test]
    fn threads_of_a_core_share_its_caches() {
        let mut machine = cpu_facts(4, |cpu| {
            cpu.thread_siblings = Some(parse_set(["0,2", "1,3"][cpu.number as usize % 2]));
            cpu.caches = vec![unified_cache(3, &cpu.number.to_string())];
        });
        let found_cores = cores::build_cores(&machine);
        share_in_cores(&mut machine, &found_cores);
        assert_eq!(format_lists(found(&machine).iter().map(|llc| &llc.cpus)), ["0,2", "1,3"]);
    }

    #[test]
    fn each_cache_is_listed_once_and_only_for_cpus_that_have_it() {
        let mut machine = cpu_facts(3, |_| ());
        machine.cpus[0].caches =
            vec![unified_cache(2, "0-1"), CacheFacts { kind: CacheKind::Data, ..unified_cache(1, "0") }];
        machine.cpus[1].caches = vec![unified_cache(2, "0-1")];
        machine.cpus.push(unknown_cpu(3));
        let caches = list_caches(&machine);
        let found: Vec<_> = caches.iter().map(|cache| (cache.level, cache.kind, cache.cpus.clone())).collect();
        assert_eq!(found, [(1, CacheKind::Data, parse_set("0")), (2, CacheKind::Unified, parse_set("0-1"))]);
    }
}
