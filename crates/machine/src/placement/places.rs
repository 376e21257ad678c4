//! Table of each cpu's place in the machine; `Machine`'s own methods search lists.

use crate::facts::CoreType;
use crate::{CpuSet, Level, Machine};

/// Index of each online cpu's object at every level, its kind, and whether its node has memory.
pub struct CpuPlaces {
    of: Vec<CpuPlace>,
    /// Number of objects of each level. A cpu in none of them has this as its index.
    counts: [u32; Level::ALL.len()],
}

#[derive(Clone, Copy, Default)]
struct CpuPlace {
    objects: [u32; Level::ALL.len()],
    kind: u8,
    memory: bool,
}

impl CpuPlaces {
    pub fn new(machine: &Machine) -> Self {
        let highest = machine.online.union(&machine.present).highest().unwrap_or(0);
        let objects = Level::ALL.map(|level| if level == Level::Cpu { Vec::new() } else { machine.objects_of(level) });
        let mut counts = objects.each_ref().map(|objects| objects.len() as u32);
        counts[Level::Cpu as usize] = machine.online.len() as u32;
        let mut of = vec![CpuPlace { objects: counts, kind: 0, memory: false }; highest as usize + 1];
        for (index, cpu) in machine.online.iter().enumerate() {
            of[cpu as usize].objects[Level::Cpu as usize] = index as u32;
        }
        for (level, objects) in objects.iter().enumerate() {
            for (index, cpus) in objects.iter().enumerate() {
                cpus.iter().for_each(|cpu| of[cpu as usize].objects[level] = index as u32);
            }
        }
        for kind in &machine.kinds {
            let rank = match kind.core_type {
                CoreType::Performance => 0,
                CoreType::Efficiency => 1,
                CoreType::LowPower => 2,
            };
            kind.cpus.iter().filter(|cpu| *cpu <= highest).for_each(|cpu| of[cpu as usize].kind = rank);
        }
        for node in machine.nodes.iter().filter(|node| machine.has_memory(node)) {
            node.cpus.iter().for_each(|cpu| of[cpu as usize].memory = true);
        }
        Self { of, counts }
    }

    fn place_of(&self, cpu: u32) -> CpuPlace {
        let nowhere = CpuPlace { objects: self.counts, kind: 0, memory: false };
        self.of.get(cpu as usize).copied().unwrap_or(nowhere)
    }

    /// Returns the index of the cpu's object of a level, or the number of objects if it is in none.
    pub fn object_of(&self, cpu: u32, level: Level) -> u32 {
        self.place_of(cpu).objects[level as usize]
    }

    /// Returns true if the cpu is in an object of a level. Only nodes may leave cpus out.
    pub fn is_in_one(&self, cpu: u32, level: Level) -> bool {
        self.object_of(cpu, level) < self.counts[level as usize]
    }

    /// Returns the index of the cpu's core. The cores of offline cpus are unknown; offline cpus never meet others here.
    pub fn core_of(&self, cpu: u32) -> u32 {
        self.object_of(cpu, Level::Core)
    }

    /// Returns the rank of the cpu's kind: 0 for the best kind, and on machines without kinds.
    pub fn kind_rank(&self, cpu: u32) -> u8 {
        self.place_of(cpu).kind
    }

    /// Returns the sort key for choosing cpus, smallest first: with memory on its node, then of a better kind.
    pub fn preference_of(&self, cpu: u32) -> (bool, u8) {
        let place = self.place_of(cpu);
        (!place.memory, place.kind)
    }

    /// Divides a pool into tiers: the first usable cpu of every core, then the second, and so on; in each by number.
    pub fn sibling_tiers(&self, pool: &[u32]) -> Vec<Vec<u32>> {
        let mut sorted = pool.to_vec();
        sorted.sort_unstable();
        let mut tiers: Vec<Vec<u32>> = Vec::new();
        for core in self.group_by_level(&sorted, Level::Core) {
            for (rank, cpu) in core.into_iter().enumerate() {
                if tiers.len() == rank {
                    tiers.push(Vec::new());
                }
                tiers[rank].push(cpu);
            }
        }
        tiers
    }

    /// Groups the cpus by their object of a level, in the given order.
    pub fn group_by_level(&self, cpus: &[u32], level: Level) -> Vec<Vec<u32>> {
        let mut group_of: Vec<Option<usize>> = Vec::new();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for &cpu in cpus {
            let object = self.object_of(cpu, level) as usize;
            if group_of.len() <= object {
                group_of.resize(object + 1, None);
            }
            let group = *group_of[object].get_or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push(cpu);
        }
        groups
    }

    /// Returns the cpus on nodes with memory that this process may use.
    pub fn with_memory(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter(|cpu| self.place_of(*cpu).memory).collect()
    }
}
