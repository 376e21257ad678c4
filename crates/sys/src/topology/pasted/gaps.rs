//! Facts that pasted text lacks.

use corewise_machine::facts::{CpuFacts, NodeFacts};
use corewise_machine::{Gap, GapSubject, suggested_command};

use super::summary::SummaryFacts;

/// The gap without a frequency of each cpu, unless the kinds have names.
pub const KINDS: &str = "kinds of cores";
const PLACES: &str = "packages and cores";
const SIBLINGS: &str = "which cpus share a core";
const CACHES: &str = "shared caches";
const SHARING: &str = "which cores share a cache";
const NODES: &str = "NUMA nodes";

/// Parts of the machine that a missing fact makes uncertain; others make none.
const SUBJECTS: [(&str, &[GapSubject]); 6] = [
    (PLACES, &[GapSubject::Packages, GapSubject::Cores]),
    (SIBLINGS, &[GapSubject::Cores]),
    (CACHES, &[GapSubject::Caches]),
    (SHARING, &[GapSubject::Caches]),
    (NODES, &[GapSubject::Nodes]),
    (KINDS, &[GapSubject::Kinds]),
];

/// Returns the gap of kinds that are only counted.
pub fn assumed_kinds() -> Gap {
    let why = "the summary of lscpu only counts them; the smaller cores are assumed to have the lower numbers";
    let cure = "add the output of `lscpu -e`, or /proc/cpuinfo";
    Gap::new("which cpus are of which kind", why).cured_by(cure).about(&[GapSubject::Kinds])
}

/// Returns the gaps of pasted text, each with the output that would close it.
pub fn missing_facts(cpus: &[CpuFacts], nodes: &[NodeFacts], summary: &SummaryFacts) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut add = |is_missing: bool, what: &str, why: &str, cure: &str| {
        let subjects = SUBJECTS.iter().find(|(of, _)| *of == what).map_or(&[][..], |(_, subjects)| subjects);
        gaps.extend(is_missing.then(|| Gap::new(what, why).cured_by(cure).about(subjects)));
    };
    let none = |has: fn(&CpuFacts) -> bool| !cpus.iter().any(has);
    let is_counted = summary.threads.is_some() && !cpus.is_empty() && none(|cpu| cpu.maximum_frequency_khz.is_some());
    let has_siblings = cpus.iter().any(|cpu| cpu.thread_siblings.as_ref().is_some_and(|set| set.len() > 1));
    add(
        none(|cpu| cpu.core.is_some()),
        PLACES,
        "the text does not say which cpus share a core; each cpu is treated as a core",
        "add the output of `lscpu -e`",
    );
    add(
        is_counted && has_siblings && summary.is_only_source(cpus),
        SIBLINGS,
        match summary.has_adjacent_threads(nodes) {
            true => "the summary of lscpu only counts them; the threads of a core are assumed to have adjacent numbers",
            false => {
                "the summary of lscpu only counts them; the usual numbering is assumed, first threads before second ones"
            }
        },
        "add the output of `lscpu -e`",
    );
    let counted = summary.unplaced_caches();
    let why_shared = match counted.is_empty() {
        true => "the text does not say which cpus share them".to_owned(),
        false => format!("the summary of lscpu has {}, and does not say which cpus share them", counted.join(", ")),
    };
    add(
        none(|cpu| !cpu.caches.is_empty()) || !counted.is_empty() && summary.is_only_source(cpus),
        CACHES,
        &why_shared,
        "add the output of `lscpu -e`",
    );
    add(
        is_counted && summary.has_neighbours() && summary.is_only_source(cpus),
        SHARING,
        "the summary of lscpu only counts them; neighbouring cores are assumed to share one",
        "add the output of `lscpu -e`",
    );
    let sizeless = |cpu: &CpuFacts| !cpu.caches.is_empty() && cpu.caches.iter().all(|cache| cache.size_bytes.is_none());
    add(cpus.iter().any(sizeless), "sizes of caches", "a table of lscpu has none", "add the output of `lscpu`");
    let is_summed = cpus.iter().any(|cpu| {
        let mut caches = cpu.caches.iter().filter(|cache| cache.shared_with.len() < cpus.len());
        caches
            .any(|cache| cache.size_bytes.is_some() && cache.size_bytes == summary.cache_bytes(cache.level, cache.kind))
    });
    add(
        is_summed,
        "sizes of caches",
        "the summary of lscpu has their sums; equal sizes are assumed",
        "add lstopo's output",
    );
    add(nodes.is_empty(), NODES, "the text names none", "add the output of `numactl -H`");
    let no_memory = !nodes.is_empty() && nodes.iter().all(|node| node.memory_bytes.is_none());
    add(no_memory, "memory of NUMA nodes", "the text has none", "add the output of `numactl -H`");
    let no_distances = nodes.len() > 1 && nodes.iter().all(|node| node.distances.is_empty());
    add(no_distances, "distances of NUMA nodes", "the text has none", "add the output of `numactl -H`");
    add(
        none(|cpu| cpu.maximum_frequency_khz.is_some() || cpu.capacity.is_some()),
        KINDS,
        "the text has no frequency or capacity of each cpu",
        "add the output of `lscpu -e`",
    );
    add(
        true,
        "devices, isolated cpus, cpusets and the kernel's settings",
        "pasted text does not have them",
        &format!("{} writes a file with all of it", suggested_command::record().quoted_line()),
    );
    gaps
}
