//! Facts from a dump of cpuid by hwloc-gather-cpuid: one file a cpu, `cpuid/puN`.
//!
//! The rules come from the manuals: Intel's Software Developer's Manual volume 2A, CPUID leaves 4, 0xb, 0x1a, 0x1f; AMD's Architecture
//! Programmer's Manual volume 3, functions 0x80000005 to 0x80000008, 0x8000001d, 0x8000001e, 0x80000026.

mod caches;
mod dump;
mod place;

use std::collections::BTreeMap;

use corewise_machine::facts::{CacheFacts, CoreType, CpuFacts, MachineFacts, NamedKind};
use corewise_machine::machine::{ProcessorFacts, SystemFacts};
use corewise_machine::{CpuSet, Gap, GapSubject};

use super::reader::ValueReader;
use crate::root::CPUID;
use caches::CacheKey;
use dump::CpuidDump;
use place::ApicPlace;

/// One cpu with its decoded registers.
struct DecodedCpu {
    number: u32,
    dump: CpuidDump,
    place: ApicPlace,
    caches: Vec<CacheKey>,
}

/// Reads all facts of a dump; no cpus if there is none.
pub fn read_facts(reader: &ValueReader) -> MachineFacts {
    let cpus = decode_dumps(reader);
    let Some(first) = cpus.first() else { return MachineFacts::default() };
    doubt_cut_dumps(reader, &cpus);
    let named_kinds = kinds_of(&cpus);
    doubt_unnamed(reader, &named_kinds, &cpus.iter().map(|cpu| cpu.number).collect());
    MachineFacts {
        processor: read_processor(&first.dump),
        system: SystemFacts { architecture: Some(first.dump.architecture().to_owned()), ..SystemFacts::default() },
        cpus: cpu_facts(&cpus),
        named_kinds,
        ..MachineFacts::default()
    }
}

/// Returns the classes of core in a dump; none if there is no dump. Cpus that it leaves out are a gap.
pub fn named_kinds(reader: &ValueReader, cpus: &CpuSet) -> Vec<NamedKind> {
    let kinds = kinds_of(&decode_dumps(reader));
    doubt_unnamed(reader, &kinds, cpus);
    kinds
}

/// Maximum dumps named in a gap.
const MOST_NAMED: usize = 4;

/// Adds a gap of the cpus that are in no class, if there are classes.
fn doubt_unnamed(reader: &ValueReader, kinds: &[NamedKind], cpus: &CpuSet) {
    let named = kinds.iter().fold(CpuSet::default(), |all, kind| all.union(&kind.cpus));
    let left: Vec<String> =
        cpus.difference(&named).iter().map(|cpu| format!("{CPUID}/pu{cpu}")).take(MOST_NAMED).collect();
    if !kinds.is_empty() && !left.is_empty() {
        let why = format!("no class is reported in {}", left.join("; "));
        reader.add_doubt(Gap::new("classes of cores", why).about(&[GapSubject::Kinds]));
    }
}

/// Adds gaps of dumps without leaves of most others, and of undecodable dumps.
fn doubt_cut_dumps(reader: &ValueReader, cpus: &[DecodedCpu]) {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    cpus.iter().flat_map(|cpu| cpu.dump.leaves()).for_each(|leaf| *counts.entry(leaf).or_default() += 1);
    let usual: Vec<u32> =
        counts.into_iter().filter(|(_, count)| 2 * count > cpus.len()).map(|(leaf, _)| leaf).collect();
    let lacking = |cpu: &DecodedCpu| {
        let own = cpu.dump.leaves();
        let missing: Vec<String> =
            usual.iter().filter(|leaf| !own.contains(leaf)).map(|leaf| format!("{leaf:#x}")).collect();
        (!missing.is_empty()).then(|| format!("{CPUID}/pu{} has no leaf {}", cpu.number, missing.join(", ")))
    };
    let known: CpuSet = cpus.iter().map(|cpu| cpu.number).collect();
    let undecoded = reader.numbered_cpus(CPUID, "pu").difference(&known);
    let undecoded: Vec<String> =
        undecoded.iter().map(|cpu| format!("{CPUID}/pu{cpu} has no leaf 0x1; its cpu is left out")).collect();
    let doubts: Vec<String> = undecoded.into_iter().chain(cpus.iter().filter_map(lacking)).take(MOST_NAMED).collect();
    if !doubts.is_empty() {
        let why = format!("dumps are cut: {}", doubts.join("; "));
        reader.add_doubt(Gap::new("cpus by their dumps of cpuid", why));
    }
}

fn decode_dumps(reader: &ValueReader) -> Vec<DecodedCpu> {
    let decode = |number| {
        let dump = CpuidDump::parse(&reader.read_text(&format!("{CPUID}/pu{number}"))?);
        let place = place::decode_place(&dump)?;
        let caches = caches::decode_caches(&dump, &place);
        Some(DecodedCpu { number, dump, place, caches })
    };
    reader.numbered_cpus(CPUID, "pu").iter().filter_map(decode).collect()
}

fn read_processor(dump: &CpuidDump) -> ProcessorFacts {
    let (family, model, stepping) = dump.family_model_stepping().unwrap_or_default();
    ProcessorFacts {
        model_name: dump.brand_name(),
        vendor: dump.vendor_name(),
        family: Some(family),
        model: Some(model),
        stepping: Some(stepping),
        microcode: None,
    }
}

fn cpu_facts(cpus: &[DecodedCpu]) -> Vec<CpuFacts> {
    let siblings = group_by_keys(cpus, |cpu| vec![(cpu.place.package, cpu.place.siblings)]);
    let modules =
        group_by_keys(cpus, |cpu| cpu.place.module.map(|module| (cpu.place.package, module)).into_iter().collect());
    let sharing = group_by_keys(cpus, |cpu| cpu.caches.iter().map(|cache| cache.sharing).collect());
    let fact = |cpu: &DecodedCpu| CpuFacts {
        number: cpu.number,
        package: Some(cpu.place.package),
        die: cpu.place.die,
        core: Some(cpu.place.core),
        thread_siblings: siblings.get(&(cpu.place.package, cpu.place.siblings)).cloned(),
        cluster_cpus: cpu.place.module.and_then(|module| modules.get(&(cpu.place.package, module)).cloned()),
        caches: cpu.caches.iter().map(|cache| cache_facts(cache, &sharing)).collect(),
        ..CpuFacts::default()
    };
    cpus.iter().map(fact).collect()
}

fn cache_facts(cache: &CacheKey, sharing: &BTreeMap<caches::CacheIdentity, CpuSet>) -> CacheFacts {
    let shared_with = sharing.get(&cache.sharing).cloned().unwrap_or_default();
    CacheFacts { level: cache.sharing.level, kind: cache.sharing.kind, size_bytes: Some(cache.size_bytes), shared_with }
}

/// Groups cpus by their keys.
fn group_by_keys<K: Ord>(cpus: &[DecodedCpu], keys: impl Fn(&DecodedCpu) -> Vec<K>) -> BTreeMap<K, CpuSet> {
    let mut sets: BTreeMap<K, CpuSet> = BTreeMap::new();
    for cpu in cpus {
        for key in keys(cpu) {
            sets.entry(key).or_default().insert(cpu.number);
        }
    }
    sets
}

/// Returns the classes of core: Intel's leaf 0x1a, AMD's leaf 0x80000026.
fn kinds_of(cpus: &[DecodedCpu]) -> Vec<NamedKind> {
    let mut sets: BTreeMap<CoreType, CpuSet> = BTreeMap::new();
    for cpu in cpus {
        let core_type = cpu.dump.core_type().into_iter();
        core_type.for_each(|core_type| _ = sets.entry(core_type).or_default().insert(cpu.number));
    }
    let source = cpus.first().map_or("", |cpu| if cpu.dump.is_amd() { "0x80000026" } else { "0x1a" });
    let named = |(core_type, cpus)| NamedKind { core_type, cpus, source: format!("cpuid leaf {source}") };
    sets.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests;
