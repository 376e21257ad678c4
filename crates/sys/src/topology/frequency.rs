//! The frequencies and governors of cpufreq, by cpu.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;

use super::limits::CPUS;
use super::reader::Reader;

/// The cpufreq values of a policy (a set of cpus that change their frequency together).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    pub maximum_khz: Option<u64>,
    pub base_khz: Option<u64>,
    pub governor: Option<String>,
}

/// The policies of all cpus.
#[derive(Debug, Default)]
pub struct Frequencies {
    policies: Vec<Policy>,
    policy_of: BTreeMap<u32, usize>,
}

impl Frequencies {
    pub fn of(&self, cpu: u32) -> Option<&Policy> {
        self.policy_of.get(&cpu).map(|at| &self.policies[*at])
    }

    /// Returns the governors in use, that of the most cpus first.
    pub fn governors(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for governor in self.policy_of.values().filter_map(|at| self.policies[*at].governor.as_deref()) {
            *counts.entry(governor).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.into_iter().map(|(governor, _)| governor.to_owned()).collect()
    }
}

/// Reads the policies: `cpufreq/policyN` if there are such folders, otherwise the cpus' own `cpufreq` folders (kernels before 4.3; only one
/// cpu of a policy has the folder there, the others have a link to it).
pub fn frequencies(reader: &Reader, online: &CpuSet) -> Frequencies {
    let mut found = Frequencies::default();
    let policies = format!("{CPUS}/cpufreq");
    for number in reader.numbered(&policies, "policy") {
        add(reader, &mut found, &format!("{policies}/policy{number}"), number);
    }
    for cpu in online.iter() {
        if !found.policy_of.contains_key(&cpu) {
            add(reader, &mut found, &format!("{CPUS}/cpu{cpu}/cpufreq"), cpu);
        }
    }
    found
}

fn add(reader: &Reader, found: &mut Frequencies, folder: &str, cpu: u32) {
    let file = |name: &str| format!("{folder}/{name}");
    let policy = Policy {
        maximum_khz: reader.number(&file("cpuinfo_max_freq")),
        base_khz: reader.number(&file("base_frequency")),
        governor: reader.word(&file("scaling_governor")),
    };
    if policy == Policy::default() {
        return;
    }
    let cpus = ["affected_cpus", "related_cpus"].into_iter().find_map(|name| numbers(&reader.word(&file(name))?));
    found.policies.push(policy);
    for cpu in cpus.unwrap_or_else(|| CpuSet::of(cpu)).iter() {
        found.policy_of.entry(cpu).or_insert(found.policies.len() - 1);
    }
}

/// Parses cpus as cpufreq writes them: numbers separated by spaces; `None` if one is no number.
fn numbers(text: &str) -> Option<CpuSet> {
    CpuSet::parse_list(&text.split_whitespace().collect::<Vec<_>>().join(",")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn policies_and_cpus_own_folders_are_read() {
        let root = Root::from_files([
            (format!("{CPUS}/cpufreq/policy0/cpuinfo_max_freq"), "5000000\n"),
            (format!("{CPUS}/cpufreq/policy0/affected_cpus"), "0 1\n"),
            (format!("{CPUS}/cpufreq/policy0/scaling_governor"), "powersave\n"),
            (format!("{CPUS}/cpu2/cpufreq/cpuinfo_max_freq"), "3900000\n"),
            (format!("{CPUS}/cpu2/cpufreq/base_frequency"), "1400000\n"),
            (format!("{CPUS}/cpu2/cpufreq/scaling_governor"), "performance\n"),
        ]);
        let found = frequencies(&Reader::new(&root), &CpuSet::first(4));
        let maximum: Vec<_> = (0..4).map(|cpu| found.of(cpu).and_then(|policy| policy.maximum_khz)).collect();
        assert_eq!(maximum, [Some(5_000_000), Some(5_000_000), Some(3_900_000), None]);
        assert_eq!(found.of(2).unwrap().base_khz, Some(1_400_000));
        assert_eq!(found.governors(), ["powersave", "performance"]);
    }
}
