//! Conclusions from a memory map: levels, costs of each node for each group of cpus, load capacity of each node,
//! findings.

mod findings;

use corewise_machine::CpuSet;
use corewise_machine::machine::MemoryCost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::VisitEstimate;
use super::levels::{MemoryLevel, find_levels};
use super::plan::{MemoryInitiator, MemoryPlan, node_distance};
use super::{LoadedLatency, MemoryMap, NodeBandwidth, NodeCost, StreamOperation};
use crate::finding::Finding;
use crate::links::conclude::PredictionError;
use corewise_statistics::order::median;

/// Ratio of a load's cost under load to that without at the knee.
const KNEE: f64 = 1.5;

/// Conclusions from a memory map.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryConclusions {
    /// The levels that each staircase shows.
    pub levels: Vec<CpuLevels>,
    /// Costs of each node for each group of cpus, including predicted ones.
    pub costs: Vec<MemoryNodeCost>,
    /// Error of predictions; absent if nothing is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<PredictionError>,
    /// Load curve of each node.
    pub loads: Vec<LatencyUnderLoad>,
    /// True if the buffers were too small to be memory alone: latencies and bandwidths partly measure caches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cache: bool,
    /// Findings, most important first.
    pub findings: Vec<Finding>,
    /// Tests that found no difference, one sentence each.
    pub no_difference: Vec<String>,
}

/// The levels of one cpu.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuLevels {
    /// The cpu.
    pub cpu: u32,
    /// The cpus that are like it: of its kind, with a last-level cache of that size.
    pub alike: CpuSet,
    /// The levels, nearest first.
    pub levels: Vec<MemoryLevel>,
}

/// Costs of a node for a group of cpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryNodeCost {
    /// The cpus.
    pub initiator: CpuSet,
    /// The node that they are on; absent if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_node: Option<u32>,
    /// The node with the memory.
    pub node: u32,
    /// The distance that the system reports; 10 is the own node.
    pub distance: u32,
    /// True if no other node's memory is nearer by that distance.
    pub is_nearest: bool,
    /// Latency in huge pages, in nanoseconds; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_ns: Option<VisitEstimate>,
    /// Latency in the smallest pages, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_ns: Option<VisitEstimate>,
    /// True if it was predicted: the median of the measured cells of the same distance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub predicted: bool,
    /// Streaming bandwidths.
    pub streams: Vec<StreamRate>,
}

/// Streaming bandwidth of some cpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRate {
    /// The operation.
    pub operation: StreamOperation,
    /// The cpus.
    pub cpus: CpuSet,
    /// Total bandwidth of all cpus, in gigabytes (1e9) per second.
    pub gb_s: VisitEstimate,
}

/// Latency under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyUnderLoad {
    /// The cpu with the timed loads.
    pub cpu: u32,
    /// The node.
    pub node: u32,
    /// The cpus that load it.
    pub loaders: CpuSet,
    /// By rising load; the first is without load.
    pub points: Vec<LoadPoint>,
    /// Index of the first point at which a load costs at least 1.5 times as much as without load, intervals included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<usize>,
}

/// One load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPoint {
    /// Read bandwidth of the loaders, in gigabytes per second.
    pub gb_s: f64,
    /// Time of a load meanwhile, in nanoseconds.
    pub ns: VisitEstimate,
}

/// Draws the conclusions from a map.
pub fn conclude_memory(map: &MemoryMap) -> MemoryConclusions {
    let plan = MemoryPlan::new(&map.machine, &map.cpus, map.buffer_bytes, 0);
    let (costs, held_out) = node_costs(map, &plan);
    let mut conclusions = MemoryConclusions {
        levels: map.staircases.iter().map(|staircase| cpu_levels(map, &plan, staircase)).collect(),
        costs,
        held_out,
        loads: map.curves.iter().filter_map(load_of_curve).collect(),
        is_cache: map.is_cache(),
        findings: Vec::new(),
        no_difference: Vec::new(),
    };
    findings::add_findings(map, &mut conclusions);
    conclusions
}

fn cpu_levels(map: &MemoryMap, plan: &MemoryPlan, staircase: &super::LatencyStaircase) -> CpuLevels {
    let llc_bytes =
        |cpu: u32| map.machine.llcs.iter().find(|llc| llc.cpus.contains(cpu)).and_then(|llc| llc.size_bytes);
    let kind = |cpu: u32| map.machine.kind_of(cpu).map(|kind| kind.core_type);
    let all = plan.initiators.iter().fold(CpuSet::new(), |all, initiator| all.union(&initiator.cpus));
    let cpu = staircase.cpu;
    let is_like = |other: &u32| llc_bytes(*other) == llc_bytes(cpu) && kind(*other) == kind(cpu);
    CpuLevels { cpu, alike: all.iter().filter(is_like).collect(), levels: find_levels(staircase) }
}

/// Returns all costs, measured or predicted, and the error of predictions: each measured cell against the median of the
/// others of its distance.
fn node_costs(map: &MemoryMap, plan: &MemoryPlan) -> (Vec<MemoryNodeCost>, Option<PredictionError>) {
    let mut costs: Vec<MemoryNodeCost> = Vec::new();
    for initiator in &plan.initiators {
        let nearest = plan.nearest_node(&map.machine, initiator);
        costs.extend(plan.nodes.iter().map(|node| node_cost(map, initiator, *node, nearest == *node)));
    }
    if costs.iter().all(|cost| cost.huge_ns.is_some()) || map.provenance.partial {
        return (costs, None);
    }
    let known: Vec<(u32, f64)> = costs.iter().filter_map(|cost| Some((cost.distance, cost.huge_ns?.median))).collect();
    let predicted = |distance: u32, without: Option<usize>| {
        let alike =
            known.iter().enumerate().filter(|(place, (other, _))| *other == distance && Some(*place) != without);
        VisitEstimate::from_visits(&alike.map(|(_, (_, ns))| *ns).collect::<Vec<_>>())
    };
    let errors: Vec<(f64, f64)> = known
        .iter()
        .enumerate()
        .filter_map(|(place, (distance, ns))| Some(((predicted(*distance, Some(place))?.median / ns - 1.0).abs(), 1.0)))
        .collect();
    for cost in costs.iter_mut().filter(|cost| cost.huge_ns.is_none()) {
        cost.huge_ns = predicted(cost.distance, None);
        cost.predicted = cost.huge_ns.is_some();
    }
    let is_predicted = costs.iter().any(|cost| cost.predicted);
    (costs, PredictionError::from_errors(&errors).filter(|_| is_predicted))
}

fn node_cost(map: &MemoryMap, initiator: &MemoryInitiator, node: u32, is_nearest: bool) -> MemoryNodeCost {
    let cell = map.find_cell(initiator.cpu, node);
    let stream = |bandwidth: &NodeBandwidth| {
        let gb_s = VisitEstimate::from_visits(&bandwidth.visits_gb_s)?;
        Some(StreamRate { operation: bandwidth.operation, cpus: bandwidth.cpus.clone(), gb_s })
    };
    let of = |values: fn(&NodeCost) -> &Vec<f64>| cell.and_then(|cell| VisitEstimate::from_visits(values(cell)));
    MemoryNodeCost {
        initiator: initiator.cpus.clone(),
        own_node: initiator.node,
        node,
        distance: node_distance(&map.machine, initiator.node, node),
        is_nearest,
        huge_ns: of(|cell| &cell.huge_ns),
        small_ns: of(|cell| &cell.small_ns),
        predicted: false,
        streams: cell.map_or_else(Vec::new, |cell| cell.bandwidth.iter().filter_map(stream).collect()),
    }
}

fn load_of_curve(curve: &LoadedLatency) -> Option<LatencyUnderLoad> {
    let point = |point: &super::LoadStep| {
        let gb_s = if point.visits_gb_s.is_empty() { 0.0 } else { median(&point.visits_gb_s) };
        Some(LoadPoint { gb_s, ns: VisitEstimate::from_visits(&point.visits_ns)? })
    };
    let points: Vec<LoadPoint> = curve.points.iter().filter_map(point).collect();
    let idle = points.first()?.ns;
    let knee = points.iter().position(|point| point.ns.low >= KNEE * idle.high);
    Some(LatencyUnderLoad { cpu: curve.cpu, node: curve.node, loaders: curve.loaders.clone(), points, knee })
}

impl MemoryConclusions {
    /// Returns costs of memory for the planner and the placement language, including predicted ones.
    pub fn memory_costs(&self) -> Vec<MemoryCost> {
        let cost = |cost: &MemoryNodeCost| {
            let ns = cost.huge_ns?.median.round() as u64;
            Some(MemoryCost { cpus: cost.initiator.clone(), node: cost.node, ns })
        };
        self.costs.iter().filter_map(cost).collect()
    }
}

impl MemoryNodeCost {
    /// Returns the stream of an operation by cpus that `cpus` accepts.
    pub fn find_stream(&self, operation: StreamOperation, cpus: impl Fn(&CpuSet) -> bool) -> Option<&StreamRate> {
        self.streams.iter().find(|stream| stream.operation == operation && cpus(&stream.cpus))
    }

    /// Returns the stream of an operation by the largest set of cpus.
    pub fn largest_stream(&self, operation: StreamOperation) -> Option<&StreamRate> {
        self.streams.iter().filter(|stream| stream.operation == operation).max_by_key(|stream| stream.cpus.len())
    }
}
