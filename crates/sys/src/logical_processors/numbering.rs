//! Numbering of cpus in Windows' groups: consecutive through all groups, each beginning where the one before ends.

use corewise_machine::CpuSet;
use corewise_machine::facts::ProcessorGroup;

use super::relations::{GroupMask, ProcessorRelation};

/// The groups with their first cpus.
#[derive(Debug, Default)]
pub struct GroupNumbering {
    pub groups: Vec<ProcessorGroup>,
    /// True if cpus with larger numbers were left out.
    pub has_larger_cpus: bool,
}

impl GroupNumbering {
    /// Numbers the groups that Windows reports, or the groups of the cores if it reports none; no cpu has a larger number than
    /// `largest_cpu`.
    pub fn from_relations(relations: &[ProcessorRelation], largest_cpu: u32) -> Self {
        let reported = relations.iter().find_map(|relation| match relation {
            ProcessorRelation::Groups(masks) => Some(masks.clone()),
            _ => None,
        });
        let mut numbering = Self::default();
        let mut first_cpu = 0;
        for bits in reported.unwrap_or_else(|| of_cores(relations, largest_cpu)) {
            let span = u64::BITS - bits.leading_zeros();
            if first_cpu + span > largest_cpu + 1 {
                numbering.has_larger_cpus = true;
                break;
            }
            numbering.groups.push(ProcessorGroup { first_cpu, cpus: cpus_from_bits(first_cpu, bits) });
            first_cpu += span;
        }
        numbering
    }

    /// All active cpus.
    pub fn online_cpus(&self) -> CpuSet {
        self.groups.iter().flat_map(|group| group.cpus.iter()).collect()
    }

    /// Returns the numbers of the active cpus in masks, and true if all bits are of active cpus.
    pub fn cpus_of_masks(&self, masks: &[GroupMask]) -> (CpuSet, bool) {
        let (mut cpus, mut are_known) = (CpuSet::new(), true);
        for mask in masks {
            let Some(group) = self.groups.get(usize::from(mask.group)) else {
                are_known = false;
                continue;
            };
            let named = cpus_from_bits(group.first_cpu, mask.bits);
            let active = named.intersection(&group.cpus);
            are_known &= active == named;
            cpus = cpus.union(&active);
        }
        (cpus, are_known)
    }

    /// Returns the number of a cpu, or `None` if it is not active.
    pub fn cpu_number(&self, group: u16, index: u8) -> Option<u32> {
        let group = self.groups.get(usize::from(group))?;
        Some(group.first_cpu + u32::from(index)).filter(|cpu| index < 64 && group.cpus.contains(*cpu))
    }
}

fn cpus_from_bits(first: u32, bits: u64) -> CpuSet {
    (0..u64::BITS).filter(|bit| bits >> bit & 1 != 0).map(|bit| first + bit).collect()
}

/// Returns the active cpus of each group, from the cores.
fn of_cores(relations: &[ProcessorRelation], largest_cpu: u32) -> Vec<u64> {
    let mut groups: Vec<u64> = Vec::new();
    for relation in relations {
        let ProcessorRelation::Core { cpus, .. } = relation else { continue };
        for mask in cpus.iter().filter(|mask| u32::from(mask.group) <= largest_cpu / u64::BITS) {
            let group = usize::from(mask.group);
            groups.resize(groups.len().max(group + 1), 0);
            groups[group] |= mask.bits;
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(relations: &[ProcessorRelation]) -> Vec<(u32, String)> {
        let GroupNumbering { groups, .. } = GroupNumbering::from_relations(relations, 8191);
        groups.iter().map(|group| (group.first_cpu, group.cpus.to_string())).collect()
    }

    #[test]
    fn a_group_begins_where_the_one_before_ends() {
        let groups = [ProcessorRelation::Groups(vec![0xff, 0b1011, 0, 1])];
        let expected = [(0, "0-7".into()), (8, "8,9,11".into()), (12, String::new()), (12, "12".into())];
        assert_eq!(numbers(&groups), expected);
        let numbering = GroupNumbering::from_relations(&groups, 8191);
        assert_eq!(
            (numbering.cpu_number(1, 3), numbering.cpu_number(1, 2), numbering.cpu_number(9, 0)),
            (Some(11), None, None)
        );
        assert_eq!((numbering.cpu_number(0, 200), numbering.online_cpus().to_string()), (None, "0-9,11,12".into()));
    }

    #[test]
    fn masks_of_cpus_that_are_not_active_are_noticed() {
        let numbering = GroupNumbering::from_relations(&[ProcessorRelation::Groups(vec![0xff, 0xf])], 8191);
        let cpus = |group, bits| {
            let (cpus, are_known) = numbering.cpus_of_masks(&[GroupMask { group, bits }]);
            (cpus.to_string(), are_known)
        };
        assert_eq!(cpus(1, 0b110), ("9,10".into(), true));
        assert_eq!(cpus(1, 0xff), ("8-11".into(), false));
        assert_eq!(cpus(7, 1), (String::new(), false));
    }

    #[test]
    fn without_groups_the_cores_tell_them() {
        let core = |group, bits| ProcessorRelation::Core { efficiency_class: 0, cpus: vec![GroupMask { group, bits }] };
        assert_eq!(
            numbers(&[core(1, 3), core(0, 1), core(0, 2), core(60_000, 1)]),
            [(0, "0,1".into()), (2, "2,3".into())]
        );
    }

    #[test]
    fn there_are_not_more_cpus_than_are_read() {
        let numbering = GroupNumbering::from_relations(&[ProcessorRelation::Groups(vec![u64::MAX; 200])], 8191);
        assert_eq!((numbering.groups.len(), numbering.has_larger_cpus), (128, true));
    }
}
