//! Kinds of core: performance, efficiency, low-power. The kernel's names take precedence over its measures.

use crate::CpuSet;
use crate::facts::{CacheKind, CoreType, CpuFacts, MachineFacts};
use crate::machine::{CoreKind, MachineObject};

/// Least relative gap between two kinds: 20 %.
///
/// Cores of one kind differ by favoured-core steps: at most 5 % on known machines (9950X3D 196 to 186, i7-1370P 67 to 64, GB10 1024 to
/// 997). Different kinds differ by 31 % and more (Core Ultra 5 225H 72 to 55, GB10 997 to 731, Lakefield 43 to 28).
const LEAST_GAP: f64 = 0.20;

/// Least relative gap of frequencies that makes kinds if nothing is known of the cores' build: a table of lscpu has no sizes of caches.
/// Servers let some cores run up to 20 % faster by configuration; the M1's kinds differ by 55 %.
const LEAST_GAP_ALONE: f64 = 0.30;

/// Largest ratio of the highest frequencies of two kinds.
const MOST_APART: u64 = 3;

/// The classes, best first; there are no other kinds.
const BEST_FIRST: [CoreType; 3] = [CoreType::Performance, CoreType::Efficiency, CoreType::LowPower];

/// Returns the kinds, best first; empty if all cores are alike. The first source that distinguishes cores is used: the kernel's names,
/// `cpu_capacity`, ACPI CPPC, or the highest frequency. The frequency counts only if the cores also differ in build, or by far if that is
/// unknown.
///
/// Efficiency cores outside the last-level cache are low-power cores if other efficiency cores are inside one (Meteor Lake, Arrow Lake,
/// Panther Lake): the kernel calls both `cpu_atom`. On Lunar Lake none is inside.
pub fn find_kinds(facts: &MachineFacts, cores: &[MachineObject]) -> Vec<CoreKind> {
    let capacity = |cpu: &CpuFacts| cpu.capacity.map(u64::from);
    let performance = |cpu: &CpuFacts| cpu.highest_performance.map(u64::from);
    named_kinds(facts)
        .or_else(|| measured_kinds(facts, capacity, |range| format!("cpu_capacity {}", format_range(range))))
        .or_else(|| measured_kinds(facts, performance, |range| format!("acpi_cppc {}", format_range(range))))
        .or_else(|| {
            measured_kinds(facts, |cpu| cpu.maximum_frequency_khz, format_frequency_range)
                .filter(|kinds| differ_in_build(facts, cores) || differ_by_far(facts, cores, kinds))
        })
        .map(|kinds| divide_efficiency(kinds, facts))
        .unwrap_or_default()
}

/// Moves efficiency cores without an L3 to a kind of their own, if others have one and no kind is low-power.
fn divide_efficiency(mut kinds: Vec<CoreKind>, facts: &MachineFacts) -> Vec<CoreKind> {
    if kinds.iter().any(|kind| kind.core_type == CoreType::LowPower) {
        return kinds;
    }
    let has_third_level = |cpu: &&CpuFacts| cpu.caches.iter().any(|cache| cache.level >= 3);
    let inside: CpuSet = facts.cpus.iter().filter(has_third_level).map(|cpu| cpu.number).collect();
    let outside = |kind: &CoreKind| kind.cpus.difference(&inside);
    let is_divided = |kind: &&mut CoreKind| {
        kind.core_type == CoreType::Efficiency && !outside(kind).is_empty() && outside(kind) != kind.cpus
    };
    if let Some(efficiency) = kinds.iter_mut().find(is_divided) {
        let cpus = outside(efficiency);
        efficiency.cpus = efficiency.cpus.intersection(&inside);
        let reason = format!("{}, without an L3", efficiency.reason);
        kinds.push(CoreKind { core_type: CoreType::LowPower, cpus, reason });
    }
    kinds
}

fn named_kinds(facts: &MachineFacts) -> Option<Vec<CoreKind>> {
    let online: CpuSet = facts.cpus.iter().map(|cpu| cpu.number).collect();
    let mut kinds = Vec::new();
    let mut taken = CpuSet::new();
    for core_type in BEST_FIRST {
        for named in facts.named_kinds.iter().filter(|named| named.core_type == core_type) {
            let cpus = named.cpus.intersection(&online).difference(&taken);
            taken = taken.union(&cpus);
            match kinds.iter_mut().find(|kind: &&mut CoreKind| kind.core_type == core_type) {
                _ if cpus.is_empty() => (),
                // Favoured cores are named apart, though they are of the same class.
                Some(kind) => kind.cpus = kind.cpus.union(&cpus),
                None => kinds.push(CoreKind { core_type, cpus, reason: named.source.clone() }),
            }
        }
    }
    (kinds.len() > 1).then_some(kinds)
}

/// Splits the cpus at leaps of a measure; `None` if a cpu has no measure or there is no leap.
fn measured_kinds(
    facts: &MachineFacts,
    measure: impl Fn(&CpuFacts) -> Option<u64>,
    reason: impl Fn((u64, u64)) -> String,
) -> Option<Vec<CoreKind>> {
    let values: Vec<(u32, u64)> = facts
        .cpus
        .iter()
        .map(|cpu| Some((cpu.number, measure(cpu).filter(|value| *value > 0)?)))
        .collect::<Option<_>>()?;
    let ranges = split_ranges(values.iter().map(|(_, value)| *value).collect());
    let kind = |(core_type, (low, high)): (CoreType, (u64, u64))| CoreKind {
        core_type,
        cpus: values.iter().filter(|(_, value)| (low..=high).contains(value)).map(|(cpu, _)| *cpu).collect(),
        reason: reason((low, high)),
    };
    (ranges.len() > 1).then(|| BEST_FIRST.into_iter().zip(ranges).map(kind).collect())
}

/// Returns the ranges of values between the leaps, highest first; at most three, by the largest leaps.
fn split_ranges(mut values: Vec<u64>) -> Vec<(u64, u64)> {
    values.sort_unstable();
    values.dedup();
    let leap = |at: usize| values[at] as f64 / values[at - 1] as f64 - 1.0;
    let mut leaps: Vec<usize> = (1..values.len()).filter(|&at| leap(at) >= LEAST_GAP).collect();
    leaps.sort_by(|&a, &b| leap(b).total_cmp(&leap(a)));
    leaps.truncate(BEST_FIRST.len() - 1);
    leaps.sort_unstable();
    let begins = std::iter::once(0).chain(leaps.iter().copied());
    let ends = leaps.iter().copied().chain([values.len()]);
    let mut ranges: Vec<(u64, u64)> =
        begins.zip(ends).filter(|(a, b)| a < b).map(|(a, b)| (values[a], values[b - 1])).collect();
    ranges.reverse();
    ranges
}

/// Returns true if cores differ in threads, in the size of a private cache, or in the number that share an L2. Frequency alone makes no
/// kind: servers let some cores run faster by configuration.
fn differ_in_build(facts: &MachineFacts, cores: &[MachineObject]) -> bool {
    let threads = |cpu: u32| cores.iter().find(|core| core.cpus.contains(cpu)).map(|core| core.cpus.len());
    let build = |cpu: &CpuFacts| {
        let caches = cpu.caches.iter().filter(|cache| cache.level <= 2 && cache.kind != CacheKind::Instruction);
        let sizes: Vec<_> = caches.map(|cache| (cache.level, cache.size_bytes, cache.shared_with.len())).collect();
        (threads(cpu.number), sizes)
    };
    facts.cpus.windows(2).any(|pair| build(&pair[0]) != build(&pair[1]))
}

/// Returns true if no cache has a size and the frequencies differ by more than configuration can make them, but by no more than kinds do.
/// Each kind has whole cores, and more than one: a single frequency may be a mistake.
fn differ_by_far(facts: &MachineFacts, cores: &[MachineObject], kinds: &[CoreKind]) -> bool {
    let is_unsized = facts.cpus.iter().all(|cpu| cpu.caches.iter().all(|cache| cache.size_bytes.is_none()));
    let mut frequencies: Vec<u64> = facts.cpus.iter().filter_map(|cpu| cpu.maximum_frequency_khz).collect();
    frequencies.sort_unstable();
    let is_far = |pair: &[u64]| pair[1] as f64 >= (1.0 + LEAST_GAP_ALONE) * pair[0] as f64;
    let is_possible = frequencies.first().zip(frequencies.last()).is_some_and(|(low, high)| *high <= MOST_APART * low);
    let has_cores = |kind: &CoreKind| {
        let touched: Vec<&MachineObject> = cores.iter().filter(|core| !core.cpus.is_disjoint(&kind.cpus)).collect();
        touched.len() > 1 && touched.iter().all(|core| core.cpus.is_subset(&kind.cpus))
    };
    is_unsized && is_possible && frequencies.windows(2).any(is_far) && kinds.iter().all(has_cores)
}

fn format_range((low, high): (u64, u64)) -> String {
    if low == high { low.to_string() } else { format!("{low}-{high}") }
}

fn format_frequency_range((low, high): (u64, u64)) -> String {
    let gigahertz = |khz: u64| format!("{:.2}", khz as f64 / 1e6);
    let (low, high) = (gigahertz(low), gigahertz(high));
    if low == high { format!("cpufreq {low} GHz") } else { format!("cpufreq {low}-{high} GHz") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::cores;
    use crate::assemble::sample::{cpu_facts, parse_set, unified_cache};
    use crate::facts::NamedKind;

    fn found(facts: &MachineFacts) -> Vec<String> {
        let kind = |kind: &CoreKind| format!("{} {} ({})", kind.core_type.word(), kind.cpus, kind.reason);
        find_kinds(facts, &cores::build_cores(facts)).iter().map(kind).collect()
    }

    fn capacities(values: &[u32]) -> Vec<String> {
        found(&cpu_facts(values.len() as u32, |cpu| cpu.capacity = Some(values[cpu.number as usize])))
    }

    fn name(core_type: CoreType, list: &str, source: &str) -> NamedKind {
        NamedKind { core_type, cpus: parse_set(list), source: source.into() }
    }

    #[test]
    fn a_measure_makes_kinds_only_where_it_leaps() {
        assert_eq!(
            capacities(&[718, 1024, 731, 997]),
            ["performance 1,3 (cpu_capacity 997-1024)", "efficiency 0,2 (cpu_capacity 718-731)"]
        );
        assert_eq!(capacities(&[1024, 950, 880, 810]), [""; 0], "favoured cores are no kind");
        assert_eq!(capacities(&[1024, 1024]), [""; 0]);
        assert_eq!(capacities(&[0, 1024]), [""; 0], "a zero says that the kernel does not know");
        assert_eq!(capacities(&[]), [""; 0]);
    }

    #[test]
    fn there_are_at_most_three_kinds_by_the_largest_leaps() {
        assert_eq!(
            capacities(&[100, 300, 900, 1100]),
            [
                "performance 2,3 (cpu_capacity 900-1100)",
                "efficiency 1 (cpu_capacity 300)",
                "low-power 0 (cpu_capacity 100)"
            ]
        );
    }

    #[test]
    fn names_come_before_measures() {
        let mut machine = cpu_facts(4, |cpu| cpu.capacity = Some(if cpu.number == 0 { 1024 } else { 100 }));
        machine.named_kinds =
            vec![name(CoreType::Efficiency, "2-9", "cpu_atom"), name(CoreType::Performance, "0-1", "cpu_core")];
        assert_eq!(found(&machine), ["performance 0,1 (cpu_core)", "efficiency 2,3 (cpu_atom)"]);
        machine.named_kinds.push(name(CoreType::Performance, "2", "hwloc CoreType"));
        assert_eq!(found(&machine), ["performance 0-2 (cpu_core)", "efficiency 3 (cpu_atom)"], "a favoured core");
        machine.named_kinds = vec![name(CoreType::Performance, "0-3", "cpu_core")];
        assert_eq!(found(&machine).len(), 2, "one name for all tells nothing apart");
    }

    #[test]
    fn efficiency_cores_outside_the_last_level_cache_are_low_power_whatever_names_them() {
        let machine = |l3: &str, with: fn(&mut CpuFacts)| {
            cpu_facts(6, |cpu| {
                cpu.caches = vec![unified_cache(2, &cpu.number.to_string())];
                cpu.caches.extend(parse_set(l3).contains(cpu.number).then(|| unified_cache(3, l3)));
                with(cpu);
            })
        };
        let named = |l3: &str| {
            let mut machine = machine(l3, |_| ());
            machine.named_kinds =
                vec![name(CoreType::Performance, "0-1", "cpu_core"), name(CoreType::Efficiency, "2-5", "cpu_atom")];
            found(&machine)
        };
        let low_power = "low-power 4,5 (cpu_atom, without an L3)";
        assert_eq!(named("0-3"), ["performance 0,1 (cpu_core)", "efficiency 2,3 (cpu_atom)", low_power]);
        assert_eq!(named("0-1").len(), 2, "on Lunar Lake no efficiency core has an L3");
        assert_eq!(named("0-5").len(), 2);
        let measured = machine("0-3", |cpu| cpu.capacity = Some(if cpu.number < 2 { 1024 } else { 600 }));
        assert_eq!(found(&measured)[2], "low-power 4,5 (cpu_capacity 600, without an L3)");
    }

    #[test]
    fn cppc_is_asked_where_capacity_does_not_tell() {
        let machine = cpu_facts(3, |cpu| {
            cpu.capacity = Some(1024);
            cpu.highest_performance = Some([67, 64, 39][cpu.number as usize]);
        });
        assert_eq!(found(&machine), ["performance 0,1 (acpi_cppc 64-67)", "efficiency 2 (acpi_cppc 39)"]);
        let incomplete = cpu_facts(3, |cpu| cpu.highest_performance = (cpu.number > 0).then_some(cpu.number * 10));
        assert_eq!(found(&incomplete), [""; 0]);
    }

    #[test]
    fn frequency_makes_kinds_only_of_cores_that_differ_in_build() {
        let mut machine =
            cpu_facts(4, |cpu| cpu.maximum_frequency_khz = Some([5_000_000, 3_900_000][cpu.number as usize / 2]));
        let unsized_kinds = ["performance 0,1 (cpufreq 5.00 GHz)", "efficiency 2,3 (cpufreq 3.20 GHz)"];
        assert_eq!(found(&machine), [""; 0], "a server may let some cores turn faster");
        machine.cpus[2..].iter_mut().for_each(|cpu| cpu.maximum_frequency_khz = Some(3_200_000));
        assert_eq!(found(&machine), unsized_kinds, "by far, and nothing is known of the caches");
        machine.cpus.iter_mut().for_each(|cpu| cpu.caches = vec![unified_cache(2, "0-3")]);
        assert_eq!(found(&machine), [""; 0], "the same caches");
        machine.cpus[2..].iter_mut().for_each(|cpu| cpu.maximum_frequency_khz = Some(3_900_000));
        for cpu in &mut machine.cpus {
            cpu.caches = vec![unified_cache(2, ["0", "1", "2-3", "2-3"][cpu.number as usize])];
        }
        assert_eq!(found(&machine), ["performance 0,1 (cpufreq 5.00 GHz)", "efficiency 2,3 (cpufreq 3.90 GHz)"]);
    }
}
