//! Machines of chiplets, as regular as vendors publish them.

use crate::assemble::assemble;
use crate::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts, NodeFacts};
use crate::machine::{Processor, System};
use crate::{CpuSet, Machine};

/// How many of each there are, and how the system numbers the cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Packages; each is a node.
    pub packages: u32,
    /// Last-level caches in each.
    pub caches: u32,
    /// Cores on each cache.
    pub cores: u32,
    /// Cpus of each core.
    pub threads: u32,
    /// Whether siblings have neighbouring numbers (0,1); otherwise all first threads come before all second ones (0,N/2).
    pub adjacent: bool,
}

impl Layout {
    /// How many cpus it has.
    pub const fn cpus(&self) -> u32 {
        self.packages * self.caches * self.cores * self.threads
    }

    /// The machine.
    pub fn machine(&self) -> Machine {
        let per_package = self.caches * self.cores * self.threads;
        let nodes = (0..self.packages).map(|package| NodeFacts {
            number: package,
            cpus: (0..self.cpus()).filter(|&cpu| self.core(cpu) * self.threads / per_package == package).collect(),
            ..NodeFacts::default()
        });
        assemble(MachineFacts {
            processor: Processor { model_name: Some("Simulated chiplets".into()), ..Processor::default() },
            system: System { kernel: Some("6.18.2".into()), ..System::default() },
            cpus: (0..self.cpus()).map(|cpu| self.facts(cpu)).collect(),
            nodes: nodes.collect(),
            ..MachineFacts::default()
        })
    }

    /// The core of a cpu, counted over the whole machine.
    const fn core(&self, cpu: u32) -> u32 {
        if self.adjacent { cpu / self.threads } else { cpu % (self.cpus() / self.threads) }
    }

    fn facts(&self, number: u32) -> CpuFacts {
        let core = self.core(number);
        let cache = core / self.cores;
        let shared_with: CpuSet = (0..self.cpus()).filter(|&other| self.core(other) / self.cores == cache).collect();
        CpuFacts {
            number,
            package: Some(i64::from(cache / self.caches)),
            core: Some(i64::from(core)),
            caches: vec![CacheFacts { level: 3, kind: CacheKind::Unified, size_bytes: Some(32 << 20), shared_with }],
            ..CpuFacts::default()
        }
    }
}
