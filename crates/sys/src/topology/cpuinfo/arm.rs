//! Names of Arm cores by implementer and part number, from the MIDR register.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;
use corewise_machine::facts::{CoreType, CpuFacts, NamedKind};

/// Implementer and part number of a core, if known.
type Part = Option<(u32, u32)>;

/// Implementers by the number in MIDR_EL1 (Arm architecture reference manual, MIDR_EL1.Implementer).
const IMPLEMENTERS: [(u32, &str); 15] = [
    (0x41, "ARM"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "Applied Micro"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x61, "Apple"),
    (0x66, "Faraday"),
    (0x69, "Intel"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// Parts by implementer and number (Linux: arch/arm64/include/asm/cputype.h; Arm: the MIDR of each core's manual).
const PARTS: [(u32, u32, &str); 90] = [
    (0x41, 0xc05, "Cortex-A5"),
    (0x41, 0xc07, "Cortex-A7"),
    (0x41, 0xc08, "Cortex-A8"),
    (0x41, 0xc09, "Cortex-A9"),
    (0x41, 0xc0d, "Cortex-A12"),
    (0x41, 0xc0e, "Cortex-A17"),
    (0x41, 0xc0f, "Cortex-A15"),
    (0x41, 0xd01, "Cortex-A32"),
    (0x41, 0xd02, "Cortex-A34"),
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd06, "Cortex-A65"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd0e, "Cortex-A76AE"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd43, "Cortex-A65AE"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"),
    (0x41, 0xd4b, "Cortex-A78C"),
    (0x41, 0xd4c, "Cortex-X1C"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd83, "Neoverse-V3AE"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd87, "Cortex-A725"),
    (0x41, 0xd88, "Cortex-A520AE"),
    (0x41, 0xd89, "Cortex-A720AE"),
    (0x41, 0xd8a, "C1-Nano"),
    (0x41, 0xd8b, "C1-Pro"),
    (0x41, 0xd8c, "C1-Ultra"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x41, 0xd90, "C1-Premium"),
    (0x43, 0x0a1, "ThunderX"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan v110"),
    (0x48, 0xd02, "TaiShan v120"),
    (0x4e, 0x000, "Denver"),
    (0x4e, 0x003, "Denver 2"),
    (0x4e, 0x004, "Carmel"),
    (0x51, 0x001, "Oryon"),
    (0x51, 0x800, "Kryo 2xx Gold"),
    (0x51, 0x801, "Kryo 2xx Silver"),
    (0x51, 0x802, "Kryo 3xx Gold"),
    (0x51, 0x803, "Kryo 3xx Silver"),
    (0x51, 0x804, "Kryo 4xx Gold"),
    (0x51, 0x805, "Kryo 4xx Silver"),
    (0x53, 0x001, "Exynos M1"),
    (0x53, 0x002, "Exynos M3"),
    (0x53, 0x003, "Exynos M4"),
    (0x53, 0x004, "Exynos M5"),
    (0x61, 0x022, "M1 Icestorm"),
    (0x61, 0x023, "M1 Firestorm"),
    (0x61, 0x024, "M1 Pro Icestorm"),
    (0x61, 0x025, "M1 Pro Firestorm"),
    (0x61, 0x028, "M1 Max Icestorm"),
    (0x61, 0x029, "M1 Max Firestorm"),
    (0x61, 0x032, "M2 Blizzard"),
    (0x61, 0x033, "M2 Avalanche"),
    (0x61, 0x034, "M2 Pro Blizzard"),
    (0x61, 0x035, "M2 Pro Avalanche"),
    (0x61, 0x038, "M2 Max Blizzard"),
    (0x61, 0x039, "M2 Max Avalanche"),
    (0x6d, 0xd49, "Cobalt 100"),
    (0x70, 0x303, "FTC310"),
    (0x70, 0x660, "FTC660"),
    (0x70, 0x661, "FTC661"),
    (0x70, 0x662, "FTC662"),
    (0x70, 0x663, "FTC663"),
    (0x70, 0x664, "FTC664"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

/// Words in the names of small cores, which are built beside larger ones.
const SMALL: [&str; 16] = [
    "A7", "A32", "A34", "A35", "A53", "A55", "A65", "A65AE", "A510", "A520", "A520AE", "Nano", "Silver", "Icestorm",
    "Blizzard", "FTC310",
];
/// Words in the names of cores that are built for speed alone.
const LARGEST: [&str; 9] = ["X1", "X1C", "X2", "X3", "X4", "X925", "Ultra", "Premium", "Denver"];

/// Returns the kinds of core by their parts, best first; empty if there is one, or an unknown one.
pub fn kinds_of_parts(part_of: impl Fn(u32) -> Part, cpus: &CpuSet) -> Vec<NamedKind> {
    kinds_of_designs(cpus.iter().map(|cpu| (cpu, part_of(cpu).and_then(known_part))))
}

/// Returns the kinds of cpus with a design's name each, as lscpu writes it; the same.
#[cfg(feature = "recordings")]
pub fn kinds_of_names<'a>(named: impl Iterator<Item = (u32, &'a str)>) -> Vec<NamedKind> {
    kinds_of_designs(named.map(|(cpu, name)| (cpu, design_named(name))))
}

/// Returns true if the designs are known, none is faster than the next one, and some are slower.
#[cfg(feature = "recordings")]
pub fn are_smallest_first<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let ranks: Option<Vec<u8>> = names.map(|name| design_named(name).map(design_rank)).collect();
    ranks.is_some_and(|ranks| ranks.is_sorted() && ranks.first() != ranks.last())
}

fn kinds_of_designs(designs: impl Iterator<Item = (u32, Option<&'static str>)>) -> Vec<NamedKind> {
    let mut ranks: BTreeMap<u8, (CpuSet, BTreeSet<&str>)> = BTreeMap::new();
    for (cpu, design) in designs {
        let Some(name) = design else { return Vec::new() };
        let (cpus, names) = ranks.entry(design_rank(name)).or_default();
        cpus.insert(cpu);
        names.insert(name);
    }
    if ranks.len() < 2 {
        return Vec::new();
    }
    let types = [CoreType::Performance, CoreType::Efficiency, CoreType::LowPower];
    let kind = |(core_type, (_, (cpus, names))): (CoreType, (u8, (CpuSet, BTreeSet<&str>)))| {
        let source = names.into_iter().collect::<Vec<_>>().join(", ");
        NamedKind { core_type, cpus, source }
    };
    types.into_iter().zip(ranks.into_iter().rev()).map(kind).collect()
}

/// Ranks designs of cores that are built into one processor, the fastest highest.
fn design_rank(name: &str) -> u8 {
    match () {
        () if words_of(name).any(|word| LARGEST.contains(&word)) => 2,
        () if words_of(name).any(|word| SMALL.contains(&word)) => 0,
        () => 1,
    }
}

fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split([' ', '-'])
}

/// Returns the design with a name as lscpu writes it, "Icestorm-M1-Pro": the same words in any order.
#[cfg(feature = "recordings")]
fn design_named(name: &str) -> Option<&'static str> {
    let sorted = |name: &str| {
        let mut words: Vec<String> = words_of(name).map(str::to_ascii_lowercase).collect();
        words.sort();
        words
    };
    PARTS.iter().map(|(_, _, known)| *known).find(|known| sorted(known) == sorted(name))
}

/// Returns the implementer of the first cpu.
pub fn vendor_of_part(part_of: impl Fn(u32) -> Part, cpus: &[CpuFacts]) -> Option<String> {
    let (implementer, _) = cpus.iter().find_map(|cpu| part_of(cpu.number))?;
    Some(implementer_name(implementer))
}

/// Returns a name made of the parts in the machine, the fastest first: "10x Cortex-X925 + 10x Cortex-A725".
pub fn model_name(part_of: impl Fn(u32) -> Part, cpus: &[CpuFacts]) -> Option<String> {
    let mut parts: BTreeMap<(u32, u32), (u32, usize)> = BTreeMap::new();
    let rank = |part| known_part(part).map(design_rank);
    for cpu in cpus {
        let (capacity, count) = parts.entry(part_of(cpu.number)?).or_default();
        *capacity = (*capacity).max(cpu.capacity.unwrap_or_default());
        *count += 1;
    }
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.sort_by_key(|(part, (capacity, _))| (Reverse((*capacity, rank(*part))), *part));
    let counted = parts.len() > 1;
    let name = |((implementer, part), (_, count)): ((u32, u32), (u32, usize))| {
        let name = part_name(implementer, part);
        if counted { format!("{count}x {name}") } else { name }
    };
    let names: Vec<String> = parts.into_iter().map(name).collect();
    (!names.is_empty()).then(|| names.join(" + "))
}

/// Returns the implementer's name, or its number.
pub fn implementer_name(implementer: u32) -> String {
    let known = IMPLEMENTERS.iter().find(|(number, _)| *number == implementer);
    known.map_or_else(|| format!("implementer {implementer:#x}"), |(_, name)| (*name).to_owned())
}

/// Returns the core's name, or its implementer and part number.
pub fn part_name(implementer: u32, part: u32) -> String {
    let unknown = || format!("{} part {part:#x}", implementer_name(implementer));
    known_part((implementer, part)).map_or_else(unknown, str::to_owned)
}

fn known_part(part: (u32, u32)) -> Option<&'static str> {
    PARTS.iter().find(|(implementer, number, _)| (*implementer, *number) == part).map(|(_, _, name)| *name)
}
