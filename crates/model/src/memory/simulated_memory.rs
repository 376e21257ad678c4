//! Simulated visits of a described machine. The figures are made up from the topology: they serve to try out planning,
//! findings and drawing, and say nothing of a real machine.

use std::time::Duration;

use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Machine};

use super::plan::{MemoryReading, MemoryVisit, node_distance};
use super::{PageKind, StreamOperation};

/// Clock rate of all cores; the next is the factor for cores with a larger last-level cache than others.
const GIGAHERTZ: f64 = 4.0;
const CLOCK_OF_LARGER: f64 = 0.92;
/// Time of a load by the level of cache: the first, the second, the third and beyond.
const CACHES_NS: [f64; 3] = [1.0, 3.5, 12.0];
/// Time of a load from the own node.
const LOCAL_NS: f64 = 90.0;
/// Factor for small pages.
const SMALL_PAGES: f64 = 1.25;
/// Streaming bandwidth from the own node of a core, of all cores of a last-level cache, and of a node, in gigabytes per
/// second.
const CORE_GB_S: f64 = 14.0;
const LLC_GB_S: f64 = 36.0;
const NODE_GB_S: f64 = 48.0;
/// Relative standard deviation between visits.
const NOISE: f64 = 0.015;
/// Relative standard deviation between pairs of a cpu and a node at the same distance, constant for each pair.
const PAIRS: f64 = 0.02;
/// The block after which a loader waits.
const BLOCK_BYTES: f64 = 65_536.0;

/// A described machine.
#[derive(Clone, Debug)]
pub struct SimulatedMemory {
    machine: Machine,
    random: RandomGenerator,
    /// Duration of a visit.
    visit: Duration,
    elapsed: Duration,
}

impl SimulatedMemory {
    /// Creates a machine with visits of this length.
    pub fn new(machine: Machine, visit: Duration, seed: u64) -> Self {
        Self { machine, random: RandomGenerator::new(seed), visit, elapsed: Duration::ZERO }
    }

    /// Returns the simulated duration of all visits.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Simulates a visit.
    pub fn make_visit(&mut self, visit: &MemoryVisit) -> MemoryReading {
        self.elapsed += self.visit;
        let noise = 1.0 + NOISE * self.random.next_normal();
        let (value, load_gb_s) = match visit {
            MemoryVisit::Step { cpu, bytes } => (self.latency_within(*cpu, *bytes), 0.0),
            MemoryVisit::Latency { cpu, node, pages } => {
                (self.latency_ns(*cpu, *node) * if *pages == PageKind::Small { SMALL_PAGES } else { 1.0 }, 0.0)
            }
            MemoryVisit::Bandwidth { cpus, node, operation } => (self.bandwidth_of(cpus, *node, *operation), 0.0),
            MemoryVisit::Loaded { cpu, node, loaders, pause_ns } => {
                self.loaded_latency(*cpu, *node, loaders, *pause_ns)
            }
        };
        let gigahertz =
            if let MemoryVisit::Step { cpu, .. } = visit { Some(GIGAHERTZ * self.clock_share(*cpu)) } else { None };
        MemoryReading { value: value * noise, load_gb_s: load_gb_s * noise, gigahertz }
    }

    fn own_node(&self, cpu: u32) -> Option<u32> {
        self.machine.nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.number)
    }

    /// Returns the factor for the distance of a node: 10 is the own node.
    fn distance_factor(&self, cpu: u32, node: u32) -> f64 {
        f64::from(node_distance(&self.machine, self.own_node(cpu), node).min(40)) / 10.0
    }

    fn latency_ns(&self, cpu: u32, node: u32) -> f64 {
        let of_pair = RandomGenerator::new(u64::from(cpu) << 32 | u64::from(node)).next_normal();
        LOCAL_NS * self.distance_factor(cpu, node) * (1.0 + PAIRS * of_pair)
    }

    /// Returns a cpu's factor of the clock rate.
    fn clock_share(&self, cpu: u32) -> f64 {
        let own = self.machine.llcs.iter().find(|llc| llc.cpus.contains(cpu)).and_then(|llc| llc.size_bytes);
        let least = self.machine.llcs.iter().filter_map(|llc| llc.size_bytes).min();
        if own > least { CLOCK_OF_LARGER } else { 1.0 }
    }

    fn latency_within(&self, cpu: u32, bytes: u64) -> f64 {
        let holds = |level: u8| {
            let of_cpu = self.machine.data_caches(level).find(|cache| cache.cpus.contains(cpu));
            of_cpu.and_then(|cache| cache.size_bytes).is_some_and(|size| bytes <= size)
        };
        let level = (1..=3).find(|level| holds(*level));
        let nodes = self.machine.nodes.iter().filter(|node| self.machine.has_memory(node));
        let nearest = nodes.map(|node| self.distance_factor(cpu, node.number)).fold(f64::INFINITY, f64::min);
        level.map_or(LOCAL_NS * if nearest.is_finite() { nearest } else { 1.0 }, |level| {
            CACHES_NS[usize::from(level) - 1] / self.clock_share(cpu)
        })
    }

    fn bandwidth_of(&self, cpus: &CpuSet, node: u32, operation: StreamOperation) -> f64 {
        let cores: CpuSet =
            self.machine.cores.iter().filter_map(|core| core.cpus.intersection(cpus).lowest()).collect();
        let of_llc =
            |llc: &corewise_machine::machine::Llc| LLC_GB_S.min(CORE_GB_S * llc.cpus.intersection(&cores).len() as f64);
        let all: f64 = self.machine.llcs.iter().map(of_llc).sum();
        let farther = cpus.lowest().map_or(1.0, |cpu| self.distance_factor(cpu, node));
        let share = match operation {
            StreamOperation::Read => 1.0,
            StreamOperation::Write => 0.6,
            StreamOperation::WritePast => 0.9,
            StreamOperation::Copy => 0.8,
        };
        all.min(NODE_GB_S) * share / farther
    }

    /// Simulates a queue: latency rises as the load approaches the node's bandwidth.
    fn loaded_latency(&self, cpu: u32, node: u32, loaders: &CpuSet, pause_ns: Option<u64>) -> (f64, f64) {
        let Some(pause_ns) = pause_ns else { return (self.latency_ns(cpu, node), 0.0) };
        let most = self.bandwidth_of(loaders, node, StreamOperation::Read);
        let alone = most / loaders.len().max(1) as f64;
        let duty = 1.0 / (1.0 + pause_ns as f64 * alone / BLOCK_BYTES);
        let (load, busy) = (most * duty, most * duty / NODE_GB_S);
        (self.latency_ns(cpu, node) * (1.0 + 0.5 * busy / (1.05 - busy.min(1.0))), load)
    }
}
