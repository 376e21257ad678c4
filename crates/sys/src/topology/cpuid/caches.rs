//! The caches of a cpu and the cpus that share them, from leaf 4 or AMD's leaves.

use corewise_machine::facts::CacheKind;

use super::dump::{CpuidDump, CpuidRegisters, register_bits};
use super::place::ApicPlace;

/// A cache that a cpu uses: cpus with an equal `sharing` share it.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheKey {
    pub sharing: CacheIdentity,
    pub size_bytes: u64,
}

/// Identity of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheIdentity {
    pub level: u8,
    pub kind: CacheKind,
    pub package: i64,
    /// The lowest APIC id inside the package that may share it. Unlike a running number it is distinct from the ids of other cores with
    /// more or fewer sharers of a cache.
    pub lowest: u32,
}

/// Returns the caches of the cpu at this place.
pub fn decode_caches(dump: &CpuidDump, place: &ApicPlace) -> Vec<CacheKey> {
    let leaf = if dump.is_amd() { 0x8000_001d } else { 4 };
    let listed: Vec<CacheKey> = dump
        .subleaves(leaf)
        .take_while(|answer| register_bits(answer.eax, 0, 5) != 0)
        .filter_map(|answer| decode_listed(dump, place, answer))
        .collect();
    if listed.is_empty() && dump.is_amd() { amd_legacy(dump, place) } else { listed }
}

/// Decodes one subleaf: type, level, maximum number of sharing cpus, and geometry.
fn decode_listed(dump: &CpuidDump, place: &ApicPlace, answer: CpuidRegisters) -> Option<CacheKey> {
    let kind = match register_bits(answer.eax, 0, 5) {
        1 => CacheKind::Data,
        2 => CacheKind::Instruction,
        3 => CacheKind::Unified,
        _ => return None,
    };
    let level = register_bits(answer.eax, 5, 3) as u8;
    let ways = u64::from(register_bits(answer.ebx, 22, 10)) + 1;
    let partitions = u64::from(register_bits(answer.ebx, 12, 10)) + 1;
    let line_bytes = u64::from(register_bits(answer.ebx, 0, 12)) + 1;
    let size_bytes = (ways * partitions * line_bytes).saturating_mul(u64::from(answer.ecx) + 1);
    let lowest = lowest_sharer(dump, place, register_bits(answer.eax, 14, 12) + 1);
    let sharing = CacheIdentity { level, kind, package: place.package, lowest };
    (1..=4).contains(&level).then_some(CacheKey { sharing, size_bytes })
}

/// Returns the lowest APIC id of a cache that `shared` cpus share. APIC ids leave room for powers of two, except on AMD before Zen: there,
/// six cores that share an L3 follow the six before them without a hole.
fn lowest_sharer(dump: &CpuidDump, place: &ApicPlace, shared: u32) -> u32 {
    let inside = place.apic & !(u32::MAX << place.package_shift);
    let dense = dump.is_amd() && dump.family_model_stepping().is_some_and(|(family, ..)| family < 0x17);
    let range = if dense { shared } else { shared.next_power_of_two() };
    inside / range * range
}

/// Decodes functions 0x80000005 and 0x80000006 of K8 and K10: L1 and L2 are the core's own, the L3 is the package's, or the node's on
/// Magny-Cours (family 0x10, model 9), which has two nodes in a package; the size is that of the package.
fn amd_legacy(dump: &CpuidDump, place: &ApicPlace) -> Vec<CacheKey> {
    let inside = place.apic & !(u32::MAX << place.package_shift);
    let cache = |level, kind, lowest, size_bytes: u64| {
        let sharing = CacheIdentity { level, kind, package: place.package, lowest };
        (size_bytes > 0).then_some(CacheKey { sharing, size_bytes })
    };
    let first = dump.answer_of(0x8000_0005, 0).unwrap_or_default();
    let second = dump.answer_of(0x8000_0006, 0).unwrap_or_default();
    let two_nodes = dump.family_model_stepping().is_some_and(|(family, model, _)| (family, model) == (0x10, 9));
    let cores = register_bits(dump.answer_of(0x8000_0008, 0).map_or(0, |leaf| leaf.ecx), 0, 8) + 1;
    let (node, nodes) = if two_nodes { (inside / cores.div_ceil(2), 2) } else { (0, 1) };
    [
        cache(1, CacheKind::Data, inside, u64::from(register_bits(first.ecx, 24, 8)) << 10),
        cache(1, CacheKind::Instruction, inside, u64::from(register_bits(first.edx, 24, 8)) << 10),
        cache(2, CacheKind::Unified, inside, u64::from(register_bits(second.ecx, 16, 16)) << 10),
        cache(3, CacheKind::Unified, node, (u64::from(register_bits(second.edx, 18, 14)) << 19) / nodes),
    ]
    .into_iter()
    .flatten()
    .collect()
}
