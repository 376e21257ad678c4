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
use corewise_machine::{CpuSet, Gap};

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
    MachineFacts {
        processor: read_processor(&first.dump),
        system: SystemFacts { architecture: Some(first.dump.architecture().to_owned()), ..SystemFacts::default() },
        cpus: cpu_facts(&cpus),
        named_kinds: kinds_of(&cpus),
        ..MachineFacts::default()
    }
}

/// Returns the classes of core in a dump; none if there is no dump. Cpus that it leaves out are a gap.
pub fn named_kinds(reader: &ValueReader, cpus: &CpuSet) -> Vec<NamedKind> {
    const MOST_NAMED: usize = 4;
    let kinds = kinds_of(&decode_dumps(reader));
    let named = kinds.iter().fold(CpuSet::default(), |all, kind| all.union(&kind.cpus));
    let left: Vec<String> =
        cpus.difference(&named).iter().map(|cpu| format!("{CPUID}/pu{cpu}")).take(MOST_NAMED).collect();
    if !kinds.is_empty() && !left.is_empty() {
        reader.add_doubt(Gap::new("classes of cores", format!("no class is reported in {}", left.join("; "))));
    }
    kinds
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

/// Returns the classes of core: Intel's leaf 0x1a, AMD's leaf 0x80000026. An Atom core without an L3 is of the low-power class if other
/// Atom cores have one (Meteor Lake, Arrow Lake); on Lunar Lake none has.
fn kinds_of(cpus: &[DecodedCpu]) -> Vec<NamedKind> {
    let has_last_level = |cpu: &DecodedCpu| cpu.caches.iter().any(|cache| cache.sharing.level >= 3);
    let is_atom = |cpu: &DecodedCpu| cpu.dump.core_type() == Some(CoreType::Efficiency);
    let atoms_have_one = cpus.iter().any(|cpu| is_atom(cpu) && has_last_level(cpu));
    let mut sets: BTreeMap<CoreType, CpuSet> = BTreeMap::new();
    for cpu in cpus {
        let Some(mut core_type) = cpu.dump.core_type() else { continue };
        if is_atom(cpu) && atoms_have_one && !has_last_level(cpu) {
            core_type = CoreType::LowPower;
        }
        sets.entry(core_type).or_default().insert(cpu.number);
    }
    let source = cpus.first().map_or("", |cpu| if cpu.dump.is_amd() { "0x80000026" } else { "0x1a" });
    let named = |(core_type, cpus)| NamedKind { core_type, cpus, source: format!("cpuid leaf {source}") };
    sets.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests;
