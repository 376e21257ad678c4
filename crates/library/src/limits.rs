//! Limits inside which a program places its threads: the cpuset, the inherited mask, and a quota of processor time.

use corewise_machine::{CpuSet, Machine};
use corewise_sys::cpuset;

/// Limits of this process.
#[derive(Clone, Debug)]
pub struct ProcessLimits {
    /// Cpus of the cpuset.
    pub cpuset: CpuSet,
    /// Cpus that expressions may select, by name or by number.
    pub boundary: CpuSet,
    /// The quota of processor time: its control group, and the time in cpus.
    pub quota: Option<(String, f64)>,
}

impl ProcessLimits {
    /// Reads the limits of this process.
    pub fn read_here(machine: &Machine) -> Self {
        let cpuset = cpuset::cpuset_of(std::process::id());
        let quota = cpuset::own_quota().map(|quota| (quota.group, quota.cpus));
        Self { boundary: find_boundary(machine, &cpuset), cpuset, quota }
    }

    /// Returns the limits of a machine that was read elsewhere: its allowed cpus.
    pub fn of_machine(machine: &Machine) -> Self {
        let boundary = machine.allowed.union(&machine.online).union(&machine.unlisted);
        Self { cpuset: machine.allowed.clone(), boundary, quota: None }
    }
}

/// Returns the cpus of the cpuset that are also in the inherited mask. Isolated cpus are in no mask unless somebody set it, so they count
/// if the mask is what the kernel gives: all others.
fn find_boundary(machine: &Machine, cpuset: &CpuSet) -> CpuSet {
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
            find_boundary(&machine(allowed, isolated), &CpuSet::parse_list(cpuset).unwrap()).to_string()
        };
        assert_eq!(reach("0-7", "", "0-7"), "0-7");
        assert_eq!(reach("0-3", "", "0-7"), "0-3", "taskset");
        assert_eq!(reach("0-3", "4-7", "0-7"), "0-7", "isolcpus= leaves them out of every mask");
        assert_eq!(reach("0-2", "4-7", "0-7"), "0-2", "taskset, and isolcpus=");
        assert_eq!(reach("0-3", "4-7", "2-5"), "2-5");
    }
}
