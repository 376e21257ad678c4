//! The frequencies and governors of cpufreq, by cpu.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;

use super::limits::CPUS;
use super::reader::ValueReader;

/// The cpufreq values of a policy (a set of cpus that change their frequency together).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrequencyPolicy {
    pub maximum_khz: Option<u64>,
    pub base_khz: Option<u64>,
    pub preferred_rank: Option<u32>,
    pub governor: Option<String>,
}

/// The policies of all cpus.
#[derive(Debug, Default)]
pub struct FrequencyPolicies {
    policies: Vec<FrequencyPolicy>,
    policy_of: BTreeMap<u32, usize>,
}

impl FrequencyPolicies {
    pub fn policy_of_cpu(&self, cpu: u32) -> Option<&FrequencyPolicy> {
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
pub fn read_frequencies(reader: &ValueReader, online: &CpuSet) -> FrequencyPolicies {
    let mut found = FrequencyPolicies::default();
    let policies = format!("{CPUS}/cpufreq");
    for number in reader.numbered_names(&policies, "policy") {
        add_policy(reader, &mut found, &format!("{policies}/policy{number}"), number);
    }
    for cpu in online.iter() {
        if !found.policy_of.contains_key(&cpu) {
            add_policy(reader, &mut found, &format!("{CPUS}/cpu{cpu}/cpufreq"), cpu);
        }
    }
    found
}

fn add_policy(reader: &ValueReader, found: &mut FrequencyPolicies, folder: &str, cpu: u32) {
    let file = |name: &str| format!("{folder}/{name}");
    let policy = FrequencyPolicy {
        maximum_khz: reader.read_number(&file("cpuinfo_max_freq")),
        base_khz: reader.read_number(&file("base_frequency")),
        preferred_rank: reader.read_number(&file("amd_pstate_prefcore_ranking")),
        governor: reader.read_word(&file("scaling_governor")),
    };
    if policy == FrequencyPolicy::default() {
        return;
    }
    let cpus =
        ["affected_cpus", "related_cpus"].into_iter().find_map(|name| parse_numbers(&reader.read_word(&file(name))?));
    found.policies.push(policy);
    for cpu in cpus.unwrap_or_else(|| CpuSet::from_cpu(cpu)).iter() {
        found.policy_of.entry(cpu).or_insert(found.policies.len() - 1);
    }
}

/// Parses cpus as cpufreq writes them: numbers separated by spaces; `None` if one is no number.
fn parse_numbers(text: &str) -> Option<CpuSet> {
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
            (format!("{CPUS}/cpu2/cpufreq/amd_pstate_prefcore_ranking"), "186\n"),
            (format!("{CPUS}/cpu2/cpufreq/scaling_governor"), "performance\n"),
        ]);
        let found = read_frequencies(&ValueReader::new(&root), &CpuSet::first_cpus(4));
        let maximum: Vec<_> =
            (0..4).map(|cpu| found.policy_of_cpu(cpu).and_then(|policy| policy.maximum_khz)).collect();
        assert_eq!(maximum, [Some(5_000_000), Some(5_000_000), Some(3_900_000), None]);
        let policy = found.policy_of_cpu(2).unwrap();
        assert_eq!((policy.base_khz, policy.preferred_rank), (Some(1_400_000), Some(186)));
        assert_eq!(found.governors(), ["powersave", "performance"]);
    }
}
