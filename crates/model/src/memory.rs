//! Observed costs of memory for each cpu: latency by working set size, and latency and bandwidth of each memory node.
//!
//! docs/memory.md defines every number. This module does not measure: `lab` does, and a described machine can replace
//! it.

pub mod compare;
pub mod conclude;
pub mod estimate;
pub mod hwloc;
pub mod import;
pub mod levels;
pub mod plan;
pub mod simulated_memory;

use corewise_machine::{CpuSet, Gap, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Artifact;
use crate::artifact::{ArtifactCircumstances, ArtifactOrigin, ArtifactProvenance, check_numbers, format_count};
use crate::clock::ClockRecord;
use crate::trend::TrendValue;
use conclude::MemoryConclusions;
use estimate::VisitEstimate;

/// Measurements of `corewise memory` on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMap {
    /// Its origin.
    pub provenance: ArtifactProvenance,
    /// The machine.
    pub machine: Machine,
    /// The clock that timed it; absent if it was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// The cpus that the map is of.
    pub cpus: CpuSet,
    /// The buffer on each node that latencies of memory were measured on, in bytes.
    pub buffer_bytes: u64,
    /// Total size of all last-level caches as the system reports them, in bytes; 0 if it reports none. A buffer of less
    /// than [`plan::BUFFER_TO_CACHES`] times this partly measures caches.
    pub caches_bytes: u64,
    /// Latency by working set: one for each kind of core, and for each size of last-level cache.
    pub staircases: Vec<LatencyStaircase>,
    /// Costs of each node's memory for the cpus of each last-level cache.
    pub cells: Vec<NodeCost>,
    /// Latency under load: one for each node that has cpus and memory.
    pub curves: Vec<LoadedLatency>,
    /// Number of complete rounds.
    pub rounds: u32,
    /// Failed measurements.
    pub gaps: Vec<Gap>,
}

/// Latency by working set, on one cpu: dependent loads along a random chain of 64-byte lines, in huge pages of the nearest memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyStaircase {
    /// The cpu.
    pub cpu: u32,
    /// By rising size.
    pub steps: Vec<StaircaseStep>,
}

/// One working set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaircaseStep {
    /// Its size.
    pub bytes: u64,
    /// The time of a load, in nanoseconds: the median of each visit, in order of time.
    pub visits_ns: Vec<f64>,
    /// The cpu's clock rate right after each visit, in gigahertz, if it could be measured: many processors lower it
    /// when a program mostly waits for memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visits_gigahertz: Vec<f64>,
}

/// Costs of one node's memory for one group of cpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeCost {
    /// The cpus of a last-level cache on one node.
    pub initiator: CpuSet,
    /// The cpu that measured for them.
    pub cpu: u32,
    /// The memory node.
    pub node: u32,
    /// The time of a dependent load in huge pages, in nanoseconds: a visit's median, in order of time.
    pub huge_ns: Vec<f64>,
    /// The same in pages of the smallest size.
    pub small_ns: Vec<f64>,
    /// Streaming bandwidths.
    pub bandwidth: Vec<NodeBandwidth>,
}

/// Streaming bandwidth of some cpus on a node's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeBandwidth {
    /// The operation.
    pub operation: StreamOperation,
    /// The cpus, one thread on each.
    pub cpus: CpuSet,
    /// Total bandwidth of all cpus in gigabytes (1e9) per second: a visit's sum of each thread's median, in order of
    /// time. Copies count bytes read and bytes written, but not lines fetched for a write.
    pub visits_gb_s: Vec<f64>,
}

/// A streaming operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamOperation {
    /// Loads.
    Read,
    /// Plain stores: most processors read a line before they write it.
    Write,
    /// Stores past the caches (x86: movntdq, Arm: stnp).
    WritePast,
    /// Loads of one half and plain stores to the other.
    Copy,
}

impl StreamOperation {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::WritePast, Self::Copy];

    /// Returns its name: "write past caches".
    pub const fn operation_name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::WritePast => "write past caches",
            Self::Copy => "copy",
        }
    }
}

/// The size of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// Largest pages that the system gives on request (2 MiB on x86).
    Huge,
    /// The smallest (4 KiB on x86).
    Small,
}

/// The latency of one cpu while others load the same node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedLatency {
    /// The cpu with the timed loads.
    pub cpu: u32,
    /// The node with the memory that all use.
    pub node: u32,
    /// The cpus that read streams.
    pub loaders: CpuSet,
    /// By rising load, that is, by falling pause.
    pub points: Vec<LoadStep>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStep {
    /// Pause of a loader after each block of 64 KiB, in nanoseconds; absent without load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ns: Option<u64>,
    /// Gigabytes per second of all loaders together, visit by visit.
    pub visits_gb_s: Vec<f64>,
    /// The time of a dependent load in huge pages, in nanoseconds, visit by visit.
    pub visits_ns: Vec<f64>,
}

/// Maximum number of measured cells of a map: [`plan`] visits some of each distance, and a table of another tool has
/// the square of its nodes.
const MOST_CELLS: usize = 4096;
/// Maximum number of pairs of a last-level cache and a node on its machine: each gets a cost in the conclusions.
const MOST_COSTS: usize = 1 << 14;

impl MemoryMap {
    /// Returns the cell of an initiator's cpu and a node.
    pub fn find_cell(&self, cpu: u32, node: u32) -> Option<&NodeCost> {
        self.cells.iter().find(|cell| cell.cpu == cpu && cell.node == node)
    }

    /// Returns true if the buffer is so small that caches hold a part of it.
    pub fn is_cache(&self) -> bool {
        self.buffer_bytes < plan::BUFFER_TO_CACHES.saturating_mul(self.caches_bytes)
    }

    /// Iterates over the values of all visits.
    fn visit_values(&self) -> impl Iterator<Item = &f64> {
        let steps = self.staircases.iter().flat_map(|staircase| &staircase.steps);
        let steps = steps.flat_map(|step| step.visits_ns.iter().chain(&step.visits_gigahertz));
        let cells = self.cells.iter().flat_map(|cell| {
            let streams = cell.bandwidth.iter().flat_map(|bandwidth| &bandwidth.visits_gb_s);
            cell.huge_ns.iter().chain(&cell.small_ns).chain(streams)
        });
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        steps.chain(cells).chain(points.flat_map(|point| point.visits_gb_s.iter().chain(&point.visits_ns)))
    }

    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.visit_values().next().is_none()
    }
}

impl Artifact for MemoryMap {
    const KIND: &'static str = "memory";
    const SCHEMA: &'static str = "corewise/memory/1";
    type Conclusions = MemoryConclusions;

    fn check_loaded(&self) -> Result<(), String> {
        self.machine.check_consistency()?;
        check_numbers(self)?;
        if self.machine.llcs.len() * self.machine.nodes.len() > MOST_COSTS {
            return Err("its machine has too many caches and nodes".to_owned());
        }
        if self.cells.len() > MOST_CELLS || self.staircases.len() > MOST_CELLS || self.curves.len() > MOST_CELLS {
            return Err(format!("it has more than {MOST_CELLS} cells"));
        }
        // Without loaders the load is zero.
        let is_wrong = |value: &f64| !value.is_finite() || *value < 0.0 || *value > 1e12;
        match self.visit_values().find(|value| is_wrong(value)) {
            Some(value) => Err(format!("{value} is no latency and no bandwidth")),
            None => Ok(()),
        }
    }

    fn circumstances(&self) -> ArtifactCircumstances<'_> {
        self.provenance.circumstances_on(Some(&self.machine))
    }

    fn origin(&self) -> &ArtifactOrigin {
        &self.provenance.origin
    }

    fn origin_mut(&mut self) -> &mut ArtifactOrigin {
        &mut self.provenance.origin
    }

    fn describe_contents(&self) -> String {
        let nodes: CpuSet = self.cells.iter().map(|cell| cell.node).collect();
        let initiators: CpuSet = self.cells.iter().map(|cell| cell.cpu).collect();
        format!(
            "{} of cpus and {} of memory in {:.0} s",
            format_count(initiators.len(), "group"),
            format_count(nodes.len(), "node"),
            self.provenance.elapsed_s
        )
    }

    fn draw_conclusions(&self) -> MemoryConclusions {
        conclude::conclude_memory(self)
    }

    /// Returns the cheapest and the dearest load.
    fn trend_values(&self) -> Vec<TrendValue> {
        let costs = self.draw_conclusions().costs;
        let mut costs: Vec<VisitEstimate> = costs.iter().filter_map(|cost| cost.huge_ns).collect();
        costs.sort_by(|one, other| one.median.total_cmp(&other.median));
        let of = |name: &str, cost: &VisitEstimate| {
            TrendValue::new("a load from memory, ns", name, cost.median, Some((cost.low, cost.high)))
        };
        match costs.as_slice() {
            [] => Vec::new(),
            [one] => vec![of("its memory", one)],
            [least, .., most] => vec![of("the cheapest", least), of("the dearest", most)],
        }
    }
}
