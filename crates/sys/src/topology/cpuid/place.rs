//! A cpu's package, die, module and core, from its APIC id.

use super::dump::{CpuidDump, CpuidRegisters, register_bits};

/// A cpu's place. Die, module, core and siblings are unique in the package only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApicPlace {
    /// The (x2)APIC id.
    pub apic: u32,
    pub package: i64,
    pub die: Option<i64>,
    /// Cores that Intel counts as one module.
    pub module: Option<i64>,
    pub core: i64,
    /// The kernel's thread siblings: the core; on AMD family 0x15 the module of two cores.
    pub siblings: i64,
    /// Number of low bits of the APIC id inside the package.
    pub package_shift: u32,
}

/// One level of a topology leaf: its type, and the shift to the next level's id.
struct ApicLevel {
    level: u32,
    shift: u32,
}

/// AMD's level types in leaf 0x80000026, in rising order: the shift of each gives its own id.
const AMD_COMPLEX_DIE: u32 = 3;

/// Intel's level types in leaf 0x1f: the shift of each gives the id of the level above.
const INTEL_CORE: u32 = 2;
const INTEL_MODULE: u32 = 3;
const INTEL_DIE: u32 = 5;

/// Returns the place of a cpu by its newest leaf; `None` without leaf 1.
pub fn decode_place(dump: &CpuidDump) -> Option<ApicPlace> {
    let first = dump.answer_of(1, 0)?;
    let apic = register_bits(first.ebx, 24, 8);
    Some(
        amd_extended(dump).or_else(|| intel_extended(dump, 0x1f)).or_else(|| intel_extended(dump, 0xb)).unwrap_or_else(
            || if dump.is_amd() { amd_place(dump, first, apic) } else { intel_place(dump, first, apic) },
        ),
    )
}

fn leaf_levels(dump: &CpuidDump, leaf: u32) -> Vec<ApicLevel> {
    let step = |answer: CpuidRegisters| ApicLevel {
        level: register_bits(answer.ecx, 8, 8),
        shift: register_bits(answer.eax, 0, 5),
    };
    dump.subleaves(leaf).map(step).take_while(|step| step.level != 0).collect()
}

/// Decodes AMD leaf 0x80000026: threads, complexes, dies, sockets; the shift of a level gives the id of that level.
fn amd_extended(dump: &CpuidDump) -> Option<ApicPlace> {
    if !dump.is_amd() {
        return None;
    }
    let steps = leaf_levels(dump, 0x8000_0026);
    let apic = dump.answer_of(0x8000_0026, 0)?.edx;
    let die_shift = steps.iter().find(|step| step.level == AMD_COMPLEX_DIE).map(|step| step.shift);
    Some(shift_place(apic, steps.first()?.shift, steps.last()?.shift, die_shift, None))
}

/// Decodes Intel leaves 0xb and 0x1f: the shift of a level gives the id of the level above, the last one the package's.
fn intel_extended(dump: &CpuidDump, leaf: u32) -> Option<ApicPlace> {
    let answer = dump.answer_of(leaf, 0).filter(|answer| register_bits(answer.ebx, 0, 16) != 0)?;
    let steps = leaf_levels(dump, leaf);
    let above = |level: u32| steps.iter().take_while(|step| step.level < level).last().map(|step| step.shift);
    let has = |level: u32| steps.iter().any(|step| step.level == level);
    let die_shift = has(INTEL_DIE).then(|| above(INTEL_DIE)).flatten();
    let module_shift = (has(INTEL_MODULE) && has(INTEL_CORE)).then(|| above(INTEL_MODULE)).flatten();
    Some(shift_place(answer.edx, steps.first()?.shift, steps.last()?.shift, die_shift, module_shift))
}

fn shift_place(apic: u32, core: u32, package: u32, die: Option<u32>, module: Option<u32>) -> ApicPlace {
    let inside = apic & !(u32::MAX << package);
    let number = |shift: u32| i64::from(inside >> shift);
    ApicPlace {
        apic,
        package: i64::from(apic >> package),
        die: die.map(number),
        module: module.map(number),
        core: number(core),
        siblings: number(core),
        package_shift: package,
    }
}

/// Decodes AMD before leaf 0x80000026 without leaf 0xb: the size of the APIC id's core field (function 0x80000008), and the compute unit or
/// core of function 0x8000001e.
fn amd_place(dump: &CpuidDump, first: CpuidRegisters, apic: u32) -> ApicPlace {
    let sizes = dump.answer_of(0x8000_0008, 0).map_or(0, |leaf| leaf.ecx);
    let count = register_bits(sizes, 0, 8) + 1;
    let shift = match register_bits(sizes, 12, 4) {
        0 => ceiling_log2(count.max(logical_count(first))),
        given => given,
    };
    let place = shift_place(apic, 0, shift, None, None);
    let Some(extended) = dump.answer_of(0x8000_001e, 0) else { return place };
    let unit = i64::from(register_bits(extended.ebx, 0, 8)) | i64::from(register_bits(extended.ecx, 0, 8)) << 8;
    let modules = dump.family_model_stepping().is_some_and(|(family, ..)| family == 0x15);
    let core = if modules { place.core } else { unit };
    ApicPlace { siblings: unit, core, ..place }
}

/// Decodes Intel before leaf 0xb: the counts of logical processors (leaf 1) and of cores (leaf 4) in a package.
fn intel_place(dump: &CpuidDump, first: CpuidRegisters, apic: u32) -> ApicPlace {
    let logical = ceiling_log2(logical_count(first));
    let cores = ceiling_log2(dump.answer_of(4, 0).map_or(1, |leaf| register_bits(leaf.eax, 26, 6) + 1));
    shift_place(apic, logical.saturating_sub(cores), logical, None, None)
}

/// Returns the maximum number of APIC ids of a package; one if the processor reports no such count.
fn logical_count(first: CpuidRegisters) -> u32 {
    let counted = register_bits(first.edx, 28, 1) == 1;
    if counted { register_bits(first.ebx, 16, 8).max(1) } else { 1 }
}

/// Returns the number of bits that number `count` things.
fn ceiling_log2(count: u32) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}
