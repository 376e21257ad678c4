//! Cleans facts before the machine is assembled: one entry per cpu, sets cut to the online cpus, one kernel error corrected (Bulldozer).

use super::cores;
use crate::facts::{CacheKind, CpuFacts, MachineFacts};
use crate::{CpuSet, Gap, GapSubject};

/// Returns the facts with `cpus` ascending, unique and online. Every set of a cpu is cut to online cpus and includes the cpu itself; an
/// implausible set becomes the cpu alone.
pub fn tidy_facts(mut facts: MachineFacts) -> MachineFacts {
    facts.cpus.sort_by_key(|cpu| cpu.number);
    facts.cpus.dedup_by_key(|cpu| cpu.number);
    let known: CpuSet = facts.cpus.iter().map(|cpu| cpu.number).collect();
    let online = match &facts.online {
        Some(online) if !online.is_disjoint(&known) => online.intersection(&known),
        _ => known,
    };
    facts.cpus.retain(|cpu| online.contains(cpu.number));
    let mut done = Vec::new();
    for cpu in &mut facts.cpus {
        cut_sets(cpu, &online, &mut done);
    }
    if cores::lists_modules(&facts) {
        facts.cpus.iter_mut().for_each(share_module_caches);
    }
    facts
}

/// Returns the allowed cpus that are online. Returns all online cpus if the allowed set is unknown, or (with a gap) if none of it is online.
pub fn allowed_cpus(allowed: Option<CpuSet>, online: &CpuSet, gaps: &mut Vec<Gap>) -> CpuSet {
    let Some(allowed) = allowed else { return online.clone() };
    if allowed.is_disjoint(online) && !online.is_empty() {
        let why = format!("none of the allowed cpus {allowed} is online");
        gaps.push(Gap::new("allowed cpus", why).about(&[GapSubject::Cpus]));
        return online.clone();
    }
    allowed.intersection(online)
}

/// A set that does not contain its own cpu and has more than this many ranges is replaced by the cpu alone: it is wrong, and copying it for
/// each cpu is costly.
const MOST_RUNS: usize = 64;
/// Number of recent cuts that are kept, because neighbouring cpus have the same sets.
const REMEMBERED: usize = 64;

fn cut_sets(cpu: &mut CpuFacts, online: &CpuSet, done: &mut Vec<(CpuSet, CpuSet)>) {
    let number = cpu.number;
    let mut to_online = |set: &mut CpuSet| {
        let known = done.iter().find(|(whole, _)| whole == set).map(|(_, online)| online.clone());
        let cut = known.unwrap_or_else(|| {
            let cut = set.intersection(online);
            done.truncate(REMEMBERED - 1);
            done.insert(0, (set.clone(), cut.clone()));
            cut
        });
        *set = cut;
        if !set.contains(number) && set.run_count() > MOST_RUNS {
            *set = CpuSet::new();
        }
        set.insert(number);
    };
    for set in [
        &mut cpu.drawer_cpus,
        &mut cpu.book_cpus,
        &mut cpu.package_cpus,
        &mut cpu.die_cpus,
        &mut cpu.cluster_cpus,
        &mut cpu.thread_siblings,
    ]
    .into_iter()
    .flatten()
    {
        to_online(set);
    }
    for cache in &mut cpu.caches {
        to_online(&mut cache.shared_with);
    }
}

/// Corrects Bulldozer modules: their cores share the L2 and the L1 instruction cache, but Linux before 3.2 reports them as private.
/// (Linux counted sharers by a cpuid leaf that counts hardware threads; the cores of a module are not that.)
fn share_module_caches(cpu: &mut CpuFacts) {
    let Some(module) = &cpu.thread_siblings else { return };
    for cache in &mut cpu.caches {
        let in_module = cache.level == 2 || (cache.level == 1 && cache.kind == CacheKind::Instruction);
        if in_module && cache.shared_with.is_subset(module) {
            cache.shared_with = module.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::{parse_set, unified_cache, unknown_cpu};

    #[test]
    fn offline_and_doubled_cpus_are_left_out() {
        let mut first = unknown_cpu(0);
        first.thread_siblings = Some(parse_set("0,4"));
        first.caches = vec![unified_cache(3, "0-7")];
        let facts = MachineFacts {
            cpus: vec![unknown_cpu(1), first, unknown_cpu(1), unknown_cpu(5)],
            online: Some(parse_set("0-1")),
            ..Default::default()
        };
        let tidied = tidy_facts(facts);
        assert_eq!(tidied.cpus.iter().map(|cpu| cpu.number).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(tidied.cpus[0].thread_siblings, Some(parse_set("0")));
        assert_eq!(tidied.cpus[0].caches[0].shared_with, parse_set("0-1"));
    }

    #[test]
    fn an_online_list_that_names_no_known_cpu_is_not_believed() {
        let facts = MachineFacts { cpus: vec![unknown_cpu(0)], online: Some(parse_set("7")), ..Default::default() };
        assert_eq!(tidy_facts(facts).cpus.len(), 1);
    }

    #[test]
    fn allowed_cpus_are_online_and_never_none() {
        let mut gaps = Vec::new();
        assert_eq!(allowed_cpus(None, &parse_set("0-3"), &mut gaps), parse_set("0-3"));
        assert_eq!(allowed_cpus(Some(parse_set("2-9")), &parse_set("0-3"), &mut gaps), parse_set("2-3"));
        assert!(gaps.is_empty());
        assert_eq!(allowed_cpus(Some(parse_set("8-9")), &parse_set("0-3"), &mut gaps), parse_set("0-3"));
        assert_eq!(gaps[0].why, "none of the allowed cpus 8,9 is online");
    }
}
