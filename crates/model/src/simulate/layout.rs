//! Regular machines of chiplets, as published by vendors.

use std::collections::BTreeMap;

use corewise_machine::assemble::assemble_machine;
use corewise_machine::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts, NodeFacts};
use corewise_machine::machine::{ProcessorFacts, SystemFacts};
use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Machine};

use crate::links::structure::CpuStructure;
use crate::links::{CostMatrix, CpuRelation};

/// Numbers of objects, and the numbering of the cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineLayout {
    /// Packages; each is a node.
    pub packages: u32,
    /// Last-level caches in each.
    pub caches: u32,
    /// Cores on each cache.
    pub cores: u32,
    /// Cpus of each core.
    pub threads: u32,
    /// True if siblings have neighbouring numbers (0,1); otherwise all first threads come before all second ones
    /// (0,N/2).
    pub adjacent: bool,
}

impl MachineLayout {
    /// Returns the number of cpus.
    pub const fn cpu_count(&self) -> u32 {
        self.packages * self.caches * self.cores * self.threads
    }

    /// Builds the machine.
    pub fn build_machine(&self) -> Machine {
        let per_package = self.caches * self.cores * self.threads;
        let nodes = (0..self.packages).map(|package| NodeFacts {
            number: package,
            cpus: (0..self.cpu_count())
                .filter(|&cpu| self.core_of(cpu) * self.threads / per_package == package)
                .collect(),
            ..NodeFacts::default()
        });
        assemble_machine(MachineFacts {
            processor: ProcessorFacts { model_name: Some("Simulated chiplets".into()), ..ProcessorFacts::default() },
            system: SystemFacts { kernel: Some("6.18.2".into()), ..SystemFacts::default() },
            cpus: (0..self.cpu_count()).map(|cpu| self.cpu_facts(cpu)).collect(),
            nodes: nodes.collect(),
            ..MachineFacts::default()
        })
    }

    /// Returns the core of a cpu, counted over the whole machine.
    const fn core_of(&self, cpu: u32) -> u32 {
        if self.adjacent { cpu / self.threads } else { cpu % (self.cpu_count() / self.threads) }
    }

    fn cpu_facts(&self, number: u32) -> CpuFacts {
        let core = self.core_of(number);
        let cache = core / self.cores;
        let shared_with: CpuSet =
            (0..self.cpu_count()).filter(|&other| self.core_of(other) / self.cores == cache).collect();
        CpuFacts {
            number,
            package: Some(i64::from(cache / self.caches)),
            core: Some(i64::from(core)),
            caches: vec![CacheFacts { level: 3, kind: CacheKind::Unified, size_bytes: Some(32 << 20), shared_with }],
            ..CpuFacts::default()
        }
    }
}

/// Simulates the costs of a machine in nanoseconds: that of each pair's relation, with random deviations of 1 % each
/// for each core, each pair of caches, and each pair.
pub fn relation_costs(machine: &Machine, seed: u64, one_way_ns: impl Fn(CpuRelation) -> f64) -> CostMatrix {
    let mut random = RandomGenerator::new(seed);
    let structure = CpuStructure::new(Some(machine), &machine.online);
    let mut matrix = CostMatrix::all_unknown(machine.online.iter());
    let cores: Vec<f64> = structure.cores.iter().map(|_| 0.01 * random.next_normal()).collect();
    let mut caches = BTreeMap::new();
    for i in 0..matrix.len() {
        for j in i + 1..matrix.len() {
            let (a, b) = (structure.core_at(i), structure.core_at(j));
            let between = *caches.entry(structure.block_between(i, j)).or_insert_with(|| 0.01 * random.next_normal());
            let apart = cores[a] + cores[b] + between + 0.01 * random.next_normal();
            matrix.set_both(i, j, one_way_ns(structure.relation_between(i, j)) * apart.exp());
        }
    }
    matrix
}

/// Simulates the costs of cores on a mesh: `near_ns`, and `step_ns` for each step, with 2 % of noise.
pub fn mesh_costs(columns: u32, rows: u32, seed: u64, near_ns: f64, step_ns: f64) -> CostMatrix {
    let mut random = RandomGenerator::new(seed);
    let mut matrix = CostMatrix::all_unknown(0..columns * rows);
    let at = |place: usize| (place as u32 % columns, place as u32 / columns);
    for i in 0..matrix.len() {
        for j in i + 1..matrix.len() {
            let ((x, y), (other_x, other_y)) = (at(i), at(j));
            let steps = x.abs_diff(other_x) + y.abs_diff(other_y);
            matrix.set_both(i, j, (near_ns + step_ns * f64::from(steps)) * (0.02 * random.next_normal()).exp());
        }
    }
    matrix
}
