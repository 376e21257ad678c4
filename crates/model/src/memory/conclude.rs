//! Conclusions from a memory map: levels, costs of each node for each group of cpus, load capacity of each node,
//! findings.

mod findings;

use corewise_machine::CpuSet;
use corewise_machine::machine::MemoryCost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::levels::{Level, levels};
use super::plan::{Initiator, Plan, distance};
use super::{Bandwidth, Cell, Curve, MemoryMap, Operation};
use crate::finding::Finding;
use crate::links::conclude::HeldOut;
use crate::stats::order::median;

/// Ratio of a load's cost under load to that without at the knee.
const KNEE: f64 = 1.5;

/// Conclusions from a memory map.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryConclusions {
    /// The levels that each staircase shows.
    pub levels: Vec<CpuLevels>,
    /// Costs of each node for each group of cpus, including predicted ones.
    pub costs: Vec<Cost>,
    /// Error of predictions; absent if nothing is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
    /// Load curve of each node.
    pub loads: Vec<Load>,
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
    pub levels: Vec<Level>,
}

/// Costs of a node for a group of cpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
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
    pub huge_ns: Option<Estimate>,
    /// Latency in the smallest pages, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_ns: Option<Estimate>,
    /// True if it was predicted: the median of the measured cells of the same distance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub predicted: bool,
    /// Streaming bandwidths.
    pub streams: Vec<Stream>,
}

/// Streaming bandwidth of some cpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// The operation.
    pub operation: Operation,
    /// The cpus.
    pub cpus: CpuSet,
    /// Total bandwidth of all cpus, in gigabytes (1e9) per second.
    pub gb_s: Estimate,
}

/// Latency under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
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
    pub ns: Estimate,
}

/// Draws the conclusions from a map.
pub fn conclude(map: &MemoryMap) -> MemoryConclusions {
    let plan = Plan::new(&map.machine, &map.cpus, map.buffer_bytes, 0);
    let (costs, held_out) = costs(map, &plan);
    let mut conclusions = MemoryConclusions {
        levels: map.staircases.iter().map(|staircase| cpu_levels(map, &plan, staircase)).collect(),
        costs,
        held_out,
        loads: map.curves.iter().filter_map(load).collect(),
        is_cache: map.is_cache(),
        findings: Vec::new(),
        no_difference: Vec::new(),
    };
    findings::add(map, &mut conclusions);
    conclusions
}

fn cpu_levels(map: &MemoryMap, plan: &Plan, staircase: &super::Staircase) -> CpuLevels {
    let llc_bytes =
        |cpu: u32| map.machine.llcs.iter().find(|llc| llc.cpus.contains(cpu)).and_then(|llc| llc.size_bytes);
    let kind = |cpu: u32| map.machine.kind_of(cpu).map(|kind| kind.core_type);
    let all = plan.initiators.iter().fold(CpuSet::new(), |all, initiator| all.union(&initiator.cpus));
    let cpu = staircase.cpu;
    let is_like = |other: &u32| llc_bytes(*other) == llc_bytes(cpu) && kind(*other) == kind(cpu);
    CpuLevels { cpu, alike: all.iter().filter(is_like).collect(), levels: levels(staircase) }
}

/// Returns all costs, measured or predicted, and the error of predictions: each measured cell against the median of the
/// others of its distance.
fn costs(map: &MemoryMap, plan: &Plan) -> (Vec<Cost>, Option<HeldOut>) {
    let mut costs: Vec<Cost> = Vec::new();
    for initiator in &plan.initiators {
        let nearest = plan.nearest(&map.machine, initiator);
        costs.extend(plan.nodes.iter().map(|node| cost(map, initiator, *node, nearest == *node)));
    }
    if costs.iter().all(|cost| cost.huge_ns.is_some()) || map.provenance.partial {
        return (costs, None);
    }
    let known: Vec<(u32, f64)> = costs.iter().filter_map(|cost| Some((cost.distance, cost.huge_ns?.median))).collect();
    let predicted = |distance: u32, without: Option<usize>| {
        let alike =
            known.iter().enumerate().filter(|(place, (other, _))| *other == distance && Some(*place) != without);
        Estimate::of(&alike.map(|(_, (_, ns))| *ns).collect::<Vec<_>>())
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
    (costs, HeldOut::of(&errors).filter(|_| is_predicted))
}

fn cost(map: &MemoryMap, initiator: &Initiator, node: u32, is_nearest: bool) -> Cost {
    let cell = map.cell(initiator.cpu, node);
    let stream = |bandwidth: &Bandwidth| {
        let gb_s = Estimate::of(&bandwidth.visits_gb_s)?;
        Some(Stream { operation: bandwidth.operation, cpus: bandwidth.cpus.clone(), gb_s })
    };
    let of = |values: fn(&Cell) -> &Vec<f64>| cell.and_then(|cell| Estimate::of(values(cell)));
    Cost {
        initiator: initiator.cpus.clone(),
        own_node: initiator.node,
        node,
        distance: distance(&map.machine, initiator.node, node),
        is_nearest,
        huge_ns: of(|cell| &cell.huge_ns),
        small_ns: of(|cell| &cell.small_ns),
        predicted: false,
        streams: cell.map_or_else(Vec::new, |cell| cell.bandwidth.iter().filter_map(stream).collect()),
    }
}

fn load(curve: &Curve) -> Option<Load> {
    let point = |point: &super::Point| {
        let gb_s = if point.visits_gb_s.is_empty() { 0.0 } else { median(&point.visits_gb_s) };
        Some(LoadPoint { gb_s, ns: Estimate::of(&point.visits_ns)? })
    };
    let points: Vec<LoadPoint> = curve.points.iter().filter_map(point).collect();
    let idle = points.first()?.ns;
    let knee = points.iter().position(|point| point.ns.low >= KNEE * idle.high);
    Some(Load { cpu: curve.cpu, node: curve.node, loaders: curve.loaders.clone(), points, knee })
}

impl MemoryConclusions {
    /// Returns costs of memory for the planner and the placement language, including predicted ones.
    pub fn memory_costs(&self) -> Vec<MemoryCost> {
        let cost = |cost: &Cost| {
            let ns = cost.huge_ns?.median.round() as u64;
            Some(MemoryCost { cpus: cost.initiator.clone(), node: cost.node, ns })
        };
        self.costs.iter().filter_map(cost).collect()
    }
}

impl Cost {
    /// Returns the stream of an operation by cpus that `cpus` accepts.
    pub fn stream(&self, operation: Operation, cpus: impl Fn(&CpuSet) -> bool) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.operation == operation && cpus(&stream.cpus))
    }

    /// Returns the stream of an operation by the largest set of cpus.
    pub fn together(&self, operation: Operation) -> Option<&Stream> {
        self.streams.iter().filter(|stream| stream.operation == operation).max_by_key(|stream| stream.cpus.len())
    }
}
