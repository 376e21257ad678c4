//! Disjoint sets of cpus, and differences between two of Windows' divisions of the cpus.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;

use crate::logical_processors::cpu_sets::CpuSetOf;
use crate::logical_processors::numbering::GroupNumbering;

/// Disjoint sets of cpus.
#[derive(Debug, Default)]
pub struct DisjointSets {
    sets: Vec<CpuSet>,
    taken: CpuSet,
    places: BTreeMap<u32, usize>,
}

impl DisjointSets {
    /// Adds a set without cpus of other sets; returns false if nothing is left of it. Such cpus are reported once a set.
    pub fn add_set(&mut self, cpus: CpuSet, what: &str, wrong: &mut Vec<String>) -> bool {
        let new = cpus.difference(&self.taken);
        if new != cpus {
            wrong.push(format!("{what} has cpus of another one"));
        }
        if new.is_empty() {
            return false;
        }
        self.taken = self.taken.union(&new);
        self.places.extend(new.iter().map(|cpu| (cpu, self.sets.len())));
        self.sets.push(new);
        true
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns the index of the set that contains a cpu.
    pub fn place_of(&self, cpu: u32) -> Option<usize> {
        self.places.get(&cpu).copied()
    }

    pub fn set_at(&self, place: usize) -> &CpuSet {
        &self.sets[place]
    }

    pub fn set_of(&self, cpu: u32) -> Option<CpuSet> {
        self.place_of(cpu).map(|place| self.sets[place].clone())
    }

    pub fn sets(&self) -> impl Iterator<Item = &CpuSet> {
        self.sets.iter()
    }
}

/// Returns the cpus that an index of cpu sets groups differently from the parts. An index is valid inside its group.
pub fn divided_otherwise(
    sets: &BTreeMap<u32, &CpuSetOf>,
    index: impl Fn(&CpuSetOf) -> u8,
    parts: &DisjointSets,
    numbering: &GroupNumbering,
) -> CpuSet {
    let mut by_index: BTreeMap<(u16, u8), CpuSet> = BTreeMap::new();
    for (cpu, set) in sets {
        by_index.entry((set.group, index(set))).or_default().insert(*cpu);
    }
    let told: CpuSet = sets.keys().copied().collect();
    let related = |cpu: u32, group: u16| {
        let group = &numbering.groups[usize::from(group)].cpus;
        parts.set_of(cpu).map(|set| set.intersection(group).intersection(&told))
    };
    let mut differing = CpuSet::new();
    for ((group, _), together) in by_index {
        let same = together.lowest().and_then(|cpu| related(cpu, group)).is_none_or(|set| set == together);
        if !same {
            differing = differing.union(&together);
        }
    }
    differing
}
