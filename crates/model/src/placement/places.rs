//! Where each cpu lies, as a table: the machine's own questions search its lists.

use crate::facts::CoreType;
use crate::{CpuSet, Level, Machine};

/// For each online cpu the index of its object at every level, its kind, and whether its node has memory.
pub struct Places {
    of: Vec<Place>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    objects: [u32; Level::ALL.len()],
    kind: u8,
    memory: bool,
}

impl Places {
    pub fn new(machine: &Machine) -> Self {
        let highest = machine.online.union(&machine.present).highest().unwrap_or(0);
        let mut of = vec![Place { memory: true, ..Place::default() }; highest as usize + 1];
        for (index, cpu) in machine.online.iter().enumerate() {
            of[cpu as usize].objects[Level::Cpu as usize] = index as u32;
        }
        for level in Level::ALL.into_iter().filter(|level| *level != Level::Cpu) {
            for (index, cpus) in machine.objects(level).iter().enumerate() {
                cpus.iter().for_each(|cpu| of[cpu as usize].objects[level as usize] = index as u32);
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
        for node in machine.nodes.iter().filter(|node| node.memory_bytes == Some(0)) {
            node.cpus.iter().for_each(|cpu| of[cpu as usize].memory = false);
        }
        Self { of }
    }

    fn place(&self, cpu: u32) -> Place {
        self.of.get(cpu as usize).copied().unwrap_or_default()
    }

    /// The index of the cpu's object of a level.
    pub fn object(&self, cpu: u32, level: Level) -> u32 {
        self.place(cpu).objects[level as usize]
    }

    /// The index of the cpu's core. Offline cpus have no core of which anything is known; they never meet others here.
    pub fn core(&self, cpu: u32) -> u32 {
        self.object(cpu, Level::Core)
    }

    /// 0 for the best kind of core, and on machines without kinds.
    pub fn kind_rank(&self, cpu: u32) -> u8 {
        self.place(cpu).kind
    }

    /// How gladly a cpu is chosen, small first: with memory on its node, and of a better kind.
    pub fn preference(&self, cpu: u32) -> (bool, u8) {
        let place = self.place(cpu);
        (!place.memory, place.kind)
    }

    /// A pool in tiers: the first usable cpu of every core, then the second, and so on; the lower number first in each.
    pub fn sibling_tiers(&self, pool: &[u32]) -> Vec<Vec<u32>> {
        let mut sorted = pool.to_vec();
        sorted.sort_unstable();
        let mut tiers: Vec<Vec<u32>> = Vec::new();
        for core in self.grouped(&sorted, Level::Core) {
            for (rank, cpu) in core.into_iter().enumerate() {
                if tiers.len() == rank {
                    tiers.push(Vec::new());
                }
                tiers[rank].push(cpu);
            }
        }
        tiers
    }

    /// The cpus by their object of a level, in the order in which the cpus come.
    pub fn grouped(&self, cpus: &[u32], level: Level) -> Vec<Vec<u32>> {
        let mut group_of: Vec<Option<usize>> = Vec::new();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for &cpu in cpus {
            let object = self.object(cpu, level) as usize;
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

    /// The cpus that lie on nodes with memory.
    pub fn with_memory(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter(|cpu| self.place(*cpu).memory).collect()
    }
}
