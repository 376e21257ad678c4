//! Limits inside which a program places its threads: the cpuset, the inherited mask, and a quota of processor time.

use corewise_machine::placement::{ExcludedCpus, ExclusionReason};
use corewise_machine::{CpuSet, Machine};
use corewise_sys::cpuset;

/// Limits of this process.
#[derive(Clone, Debug)]
pub struct ProcessLimits {
    /// Cpus of the cpuset.
    pub cpuset: CpuSet,
    /// Cpus that expressions may select.
    pub reachable: CpuSet,
    /// The quota of processor time: its control group, and the time in cpus.
    pub quota: Option<(String, f64)>,
}

impl ProcessLimits {
    /// Reads the limits of this process.
    pub fn read_here(machine: &Machine) -> Self {
        let cpuset = cpuset::cpuset_of(std::process::id());
        let quota = cpuset::own_quota().map(|quota| (quota.group, quota.cpus));
        Self { reachable: reachable_cpus(machine, &cpuset), cpuset, quota }
    }

    /// Returns the limits of a machine that was read elsewhere: its allowed cpus.
    pub fn of_machine(machine: &Machine) -> Self {
        Self { cpuset: machine.allowed.clone(), reachable: machine.allowed.clone(), quota: None }
    }

    /// Tells the inherited mask from the cpuset among the reasons for excluded cpus.
    pub fn explain_excluded(&self, excluded: Vec<ExcludedCpus>) -> Vec<ExcludedCpus> {
        let divide = |out: ExcludedCpus| {
            let by_mask = out.cpus.intersection(&self.cpuset);
            if out.reason != ExclusionReason::NotInCpuset || by_mask.is_empty() {
                return vec![out];
            }
            let part = |reason, cpus: CpuSet| ExcludedCpus { reason, named: out.named.intersection(&cpus), cpus };
            let by_cpuset = out.cpus.difference(&by_mask);
            let parts = [part(out.reason, by_cpuset), part(ExclusionReason::NotInMask, by_mask)];
            parts.into_iter().filter(|part| !part.cpus.is_empty()).collect()
        };
        excluded.into_iter().flat_map(divide).collect()
    }
}

/// Returns the cpus of the cpuset that are also in the inherited mask. Isolated cpus are in no mask unless somebody set it, so they count
/// if the mask is what the kernel gives: all others.
fn reachable_cpus(machine: &Machine, cpuset: &CpuSet) -> CpuSet {
    let usual = cpuset.intersection(&machine.online).difference(&machine.isolated);
    let inside = cpuset.intersection(&machine.allowed);
    if usual.is_subset(&machine.allowed) { inside.union(&cpuset.intersection(&machine.isolated)) } else { inside }
}

#[cfg(test)]
mod tests {
    use corewise_machine::generate::one_package_machine;

    use super::*;

    fn machine(allowed: &str, isolated: &str) -> Machine {
        let [allowed, isolated] = [allowed, isolated].map(|list| CpuSet::parse_list(list).unwrap());
        Machine { allowed, isolated, ..one_package_machine(8, false, &[(CpuSet::first_cpus(8), 16)]) }
    }

    #[test]
    fn isolated_cpus_can_be_reached_unless_the_mask_was_narrowed() {
        let reach = |allowed, isolated, cpuset| {
            reachable_cpus(&machine(allowed, isolated), &CpuSet::parse_list(cpuset).unwrap()).to_string()
        };
        assert_eq!(reach("0-7", "", "0-7"), "0-7");
        assert_eq!(reach("0-3", "", "0-7"), "0-3", "taskset");
        assert_eq!(reach("0-3", "4-7", "0-7"), "0-7", "isolcpus= leaves them out of every mask");
        assert_eq!(reach("0-2", "4-7", "0-7"), "0-2", "taskset, and isolcpus=");
        assert_eq!(reach("0-3", "4-7", "2-5"), "2-5");
    }

    #[test]
    fn cpus_outside_the_mask_are_told_from_those_outside_the_cpuset() {
        let limits = ProcessLimits { cpuset: CpuSet::first_cpus(6), reachable: CpuSet::first_cpus(4), quota: None };
        let out = ExcludedCpus {
            reason: ExclusionReason::NotInCpuset,
            cpus: CpuSet::parse_list("4-7").unwrap(),
            named: CpuSet::parse_list("5,6").unwrap(),
        };
        let words: Vec<String> = limits
            .explain_excluded(vec![out])
            .iter()
            .map(|out| format!("{}/{}", out.describe_excluded(), out.named))
            .collect();
        assert_eq!(words, ["cpus 6,7 are outside the cpuset/6", "cpus 4,5 are not in the inherited affinity mask/5"]);
    }
}
