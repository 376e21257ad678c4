//! Facts about a machine without readable files: its number of cpus.

use corewise_machine::Gap;
use corewise_machine::facts::{CpuFacts, MachineFacts};

use super::limits::LARGEST_CPU;

/// Returns as many cpus as the standard library says that this process may use, numbered from 0.
pub fn bare_facts() -> MachineFacts {
    facts_of_count(std::thread::available_parallelism().map_or(1, usize::from))
}

fn facts_of_count(count: usize) -> MachineFacts {
    let count = u32::try_from(count).unwrap_or(u32::MAX).min(LARGEST_CPU + 1);
    let why = "neither /sys nor /proc can be read; cpus are counted from 0, and each is treated as a core";
    MachineFacts {
        cpus: (0..count).map(|number| CpuFacts { number, ..CpuFacts::default() }).collect(),
        gaps: vec![Gap::new("the topology", why).cured_by("mount /proc and /sys")],
        ..MachineFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::assemble::assemble_machine;

    #[test]
    fn counted_cpus_are_a_flat_machine_with_a_gap() {
        let machine = assemble_machine(facts_of_count(3));
        assert_eq!((machine.cores.len(), machine.packages.len(), machine.allowed.to_string()), (3, 1, "0-2".into()));
        assert_eq!(machine.gaps[0].cure.as_deref(), Some("mount /proc and /sys"));
        assert!(!bare_facts().cpus.is_empty());
    }
}
