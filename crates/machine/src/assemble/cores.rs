//! Cores: sets of SMT siblings. The two cores of a Bulldozer module are not siblings.

use std::collections::{BTreeMap, BTreeSet};

use super::partition;
use crate::CpuSet;
use crate::facts::{CpuFacts, MachineFacts};
use crate::machine::{MachineObject, ProcessorFacts};

/// Numbers of a core: package, die, core. Core numbers begin anew in each die or package.
type CoreNumbers = (Option<i64>, Option<i64>, i64);

/// Returns true if the processor has modules of two cores that the kernel calls thread siblings: AMD family 0x15 (Bulldozer, Piledriver,
/// Steamroller, Excavator).
pub fn has_modules(processor: &ProcessorFacts) -> bool {
    processor.vendor.as_deref() == Some("AuthenticAMD") && processor.family == Some(0x15)
}

/// Returns true if the listed thread siblings are the cores of modules: the processor has such, or it is unknown and all siblings have
/// core numbers of their own, which threads of a core never have.
pub fn lists_modules(facts: &MachineFacts) -> bool {
    has_modules(&facts.processor) || facts.processor == ProcessorFacts::default() && numbers_differ(&facts.cpus)
}

/// Returns true if there are siblings, in pairs, and the two of each pair have different core numbers.
fn numbers_differ(cpus: &[CpuFacts]) -> bool {
    let core: BTreeMap<u32, Option<i64>> = cpus.iter().map(|cpu| (cpu.number, cpu.core)).collect();
    let siblings = |cpu: &CpuFacts| cpu.thread_siblings.clone().filter(|set| set.len() > 1);
    let mut pairs = cpus.iter().filter_map(siblings).peekable();
    let differs = |pair: CpuSet| {
        let numbers: BTreeSet<i64> = pair.iter().filter_map(|cpu| core.get(&cpu).copied().flatten()).collect();
        (pair.len(), numbers.len()) == (2, 2)
    };
    pairs.peek().is_some() && pairs.all(differs)
}

/// Returns the cores, in order of their lowest cpu.
pub fn build_cores(facts: &MachineFacts) -> Vec<MachineObject> {
    let modules = lists_modules(facts).then_some(facts.system.hypervisor.is_some());
    let numbered = group_by_numbers(&facts.cpus);
    let siblings: BTreeMap<u32, CpuSet> =
        facts.cpus.iter().filter_map(|cpu| Some((cpu.number, find_siblings(cpu, &numbered, modules)?))).collect();
    let sets = partition::by_sharing(&facts.cpus, |cpu| siblings.get(&cpu.number));
    let core_number: BTreeMap<u32, i64> = facts.cpus.iter().filter_map(|cpu| Some((cpu.number, cpu.core?))).collect();
    sets.into_iter()
        .map(|cpus| MachineObject { os_number: cpus.lowest().and_then(|cpu| core_number.get(&cpu).copied()), cpus })
        .collect()
}

/// Returns the SMT siblings of a cpu: as listed, or the cpus with equal numbers if there is no list. The list of a module means the module,
/// and some kernels number modules instead of cores; only a hypervisor gives such a processor threads, by the same core number. `modules` is
/// `None` without modules, and true for a guest.
fn find_siblings(cpu: &CpuFacts, numbered: &BTreeMap<CoreNumbers, CpuSet>, modules: Option<bool>) -> Option<CpuSet> {
    let same_numbers = core_numbers(cpu).and_then(|numbers| numbered.get(&numbers));
    match (&cpu.thread_siblings, modules) {
        (_, Some(false)) => None,
        (Some(listed), Some(true)) => same_numbers.map(|same| same.intersection(listed)),
        (Some(listed), None) => Some(listed.clone()),
        (None, _) => same_numbers.cloned(),
    }
}

fn core_numbers(cpu: &CpuFacts) -> Option<CoreNumbers> {
    Some((cpu.package, cpu.die, cpu.core?))
}

fn group_by_numbers(cpus: &[CpuFacts]) -> BTreeMap<CoreNumbers, CpuSet> {
    let mut sets: BTreeMap<CoreNumbers, CpuSet> = BTreeMap::new();
    for cpu in cpus {
        if let Some(numbers) = core_numbers(cpu) {
            sets.entry(numbers).or_default().insert(cpu.number);
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::sample::{bulldozer_facts, cpu_facts, format_lists, parse_set};

    fn found(facts: &MachineFacts) -> Vec<String> {
        format_lists(build_cores(facts).iter().map(|core| &core.cpus))
    }

    #[test]
    fn listed_siblings_are_a_core() {
        let facts = cpu_facts(4, |cpu| {
            cpu.thread_siblings = Some(parse_set(["0,2", "1,3"][cpu.number as usize % 2]));
            cpu.core = Some(i64::from(cpu.number % 2) * 8);
        });
        assert_eq!(found(&facts), ["0,2", "1,3"]);
        assert_eq!(build_cores(&facts)[1].os_number, Some(8));
    }

    #[test]
    fn numbers_stand_in_where_no_siblings_are_listed() {
        let numbers = |package: [i64; 4], die: [i64; 4], core: [i64; 4]| {
            cpu_facts(4, |cpu| {
                let at = cpu.number as usize;
                (cpu.package, cpu.die, cpu.core) = (Some(package[at]), Some(die[at]), Some(core[at]));
            })
        };
        assert_eq!(found(&numbers([0; 4], [0; 4], [0, 1, 0, 1])), ["0,2", "1,3"]);
        assert_eq!(found(&numbers([0, 0, 1, 1], [0; 4], [0, 1, 0, 1])), ["0", "1", "2", "3"]);
        assert_eq!(found(&numbers([0; 4], [0, 0, 1, 1], [0, 0, 0, 0])), ["0,1", "2,3"]);
        assert_eq!(found(&cpu_facts(2, |_| ())), ["0", "1"], "nothing known: each cpu is a core");
    }

    #[test]
    fn thread_siblings_of_a_bulldozer_module_are_two_cores() {
        let mut facts = cpu_facts(4, |cpu| {
            cpu.thread_siblings = Some(parse_set(["0-1", "2-3"][cpu.number as usize / 2]));
            cpu.core = Some(i64::from(cpu.number));
        });
        assert_eq!(
            found(&facts),
            ["0", "1", "2", "3"],
            "threads of a core have one number, on an unknown processor too"
        );
        facts.cpus[3].core = Some(2);
        assert_eq!(found(&facts), ["0,1", "2,3"], "one pair has");
        facts.cpus[3].core = Some(3);
        facts.processor = ProcessorFacts { vendor: Some("GenuineIntel".into()), ..bulldozer_facts() };
        assert_eq!(found(&facts), ["0,1", "2,3"], "on any other processor they are threads");
        facts.processor = bulldozer_facts();
        assert_eq!(found(&facts), ["0", "1", "2", "3"]);
        facts.cpus.iter_mut().for_each(|cpu| cpu.core = None);
        assert_eq!(found(&facts), ["0", "1", "2", "3"]);
        facts.cpus.iter_mut().for_each(|cpu| cpu.core = Some(i64::from(cpu.number / 2)));
        assert_eq!(found(&facts), ["0", "1", "2", "3"], "kernels 4.6 to 4.9 number the modules");
        facts.system.hypervisor = Some("KVM".into());
        assert_eq!(found(&facts), ["0,1", "2,3"], "a virtual machine may give such a processor threads");
    }
}
