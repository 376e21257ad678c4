//! Costs of messages between cpus, by a map of links or by the topology.

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Machine};
use corewise_statistics::shrinkage::MeanShrinkage;
use schemars::JsonSchema;
use serde::Serialize;

use crate::links::pair_spread::PAIR_LUCK;
use crate::links::{CpuRelation, CpuRelationTable, LinkMap, LinkPair, TalkWay};

/// Share of the cheapest pair's cost that a message between two threads on one cpu has.
const ON_ONE_CPU: f64 = 0.5;
/// Assumed cost of a pair of unknown relation, in nanoseconds.
const UNKNOWN_NS: f64 = 320.0;

/// Where costs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum CostSource {
    /// A map of links of this machine.
    Map {
        /// The way to talk that was measured.
        way: TalkWay,
    },
    /// The topology: costs that are usual for each relation of two cpus.
    Topology,
}

/// Costs of messages between some cpus, in nanoseconds.
#[derive(Clone, Debug)]
pub struct MessageCosts {
    /// Where they come from.
    pub source: CostSource,
    cpus: Vec<u32>,
    /// Row by row, symmetric.
    ns: Vec<f64>,
}

impl MessageCosts {
    /// Returns the costs between some cpus, by a map of links if there is one. A pair counts with its cost as far as
    /// pairs of its relation differ by more than chance, so that no thread is placed by a pair's luck. Pairs that the map lacks cost as
    /// much as others of their relation.
    pub fn new(machine: &Machine, usable: &CpuSet, map: Option<&LinkMap>) -> Self {
        let cpus: Vec<u32> = usable.iter().collect();
        let wakeup = |map: &&LinkMap| map.series.iter().position(|series| series.what == TalkWay::Wakeup);
        let series = map.and_then(|map| map.series.get(wakeup(&map).unwrap_or(0)));
        let usual = UsualCosts::new(machine, series.map_or(&[], |series| &series.links.pairs));
        let source = match series {
            Some(series) if !usual.pairs.is_empty() => CostSource::Map { way: series.what },
            _ => CostSource::Topology,
        };
        let size = cpus.len();
        let mut ns = vec![0.0; size * size];
        let mut least = f64::INFINITY;
        for (i, &a) in cpus.iter().enumerate() {
            for (j, &b) in cpus[..i].iter().enumerate() {
                let cost = usual.cost_of(a, b);
                ns[i * size + j] = cost;
                ns[j * size + i] = cost;
                least = least.min(cost);
            }
        }
        if least.is_finite() {
            (0..size).for_each(|cpu| ns[cpu * size + cpu] = ON_ONE_CPU * least);
        }
        Self { source, cpus, ns }
    }

    /// Returns the cpus in the order of rows.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Returns the mean over all pairs of different cpus.
    pub fn mean_ns(&self) -> f64 {
        let size = self.cpus.len();
        let pairs = (0..size).flat_map(|a| (0..a).map(move |b| a * size + b));
        pairs.map(|at| self.ns[at]).sum::<f64>() / (size * (size - 1) / 2) as f64
    }

    /// Returns all costs in seconds, row by row.
    pub(super) fn to_seconds(&self) -> Vec<f64> {
        self.ns.iter().map(|ns| 1e-9 * ns).collect()
    }

    /// Adds to each cpu's entry what messages at a rate with any of these cpus cost, in seconds.
    pub(super) fn add_distances(&self, others: &CpuSet, rate: f64, row: &mut [f64]) {
        let places: Vec<usize> = (0..self.cpus.len()).filter(|at| others.contains(self.cpus[*at])).collect();
        for (cpu, entry) in row.iter_mut().enumerate() {
            let sum: f64 = places.iter().map(|other| self.ns[cpu * self.cpus.len() + other]).sum();
            *entry += 1e-9 * rate * sum / places.len().max(1) as f64;
        }
    }
}

/// A pair of a map.
struct SeenPair {
    /// The lower cpu first.
    cpus: (u32, u32),
    /// Logarithms of its costs.
    logarithms: Vec<f64>,
}

/// Costs of pairs: those of a map, or usual ones of their relation.
struct UsualCosts {
    relations: CpuRelationTable,
    /// What to expect of each pair of the map the next time, the lower cpu first.
    pairs: BTreeMap<(u32, u32), f64>,
    /// The same of the map's relations.
    of_relations: Vec<(CpuRelation, f64)>,
}

impl UsualCosts {
    fn new(machine: &Machine, pairs: &[LinkPair]) -> Self {
        let relations = CpuRelationTable::new(machine);
        let mut by_relation: BTreeMap<Option<CpuRelation>, Vec<SeenPair>> = BTreeMap::new();
        for pair in pairs {
            let logarithms = list_logarithms(pair);
            if !logarithms.is_empty() {
                let cpus = (pair.a.min(pair.b), pair.a.max(pair.b));
                let alike = by_relation.entry(relations.relation_between(pair.a, pair.b)).or_default();
                alike.push(SeenPair { cpus, logarithms });
            }
        }
        let mut usual = Self { relations, pairs: BTreeMap::new(), of_relations: Vec::new() };
        for (relation, alike) in by_relation {
            let values: Vec<&Vec<f64>> = alike.iter().map(|pair| &pair.logarithms).collect();
            let shrinkage = MeanShrinkage::from_groups(&values, PAIR_LUCK.powi(2));
            usual.of_relations.extend(relation.map(|relation| (relation, shrinkage.mean.exp())));
            let believed = |pair: &SeenPair| (pair.cpus, shrinkage.shrink_mean(&pair.logarithms).exp());
            usual.pairs.extend(alike.iter().map(believed));
        }
        usual
    }

    fn cost_of(&self, a: u32, b: u32) -> f64 {
        if let Some(cost) = self.pairs.get(&(a.min(b), a.max(b))) {
            return *cost;
        }
        let Some(relation) = self.relations.relation_between(a, b) else { return UNKNOWN_NS };
        let own = self.of_relations.iter().find(|(known, _)| *known == relation);
        // Of a relation without a measurement, scaled by the nearest measured one.
        let nearest = self.of_relations.iter().min_by_key(|(known, _)| (*known as usize).abs_diff(relation as usize));
        match (own, nearest) {
            (Some((_, cost)), _) => *cost,
            (None, Some((known, cost))) => cost * assumed_ns(relation) / assumed_ns(*known),
            (None, None) => assumed_ns(relation),
        }
    }
}

/// Returns the logarithms of a pair's costs, turn by turn if both sides took turns. Costs of 0, which some files have, are unknown.
fn list_logarithms(pair: &LinkPair) -> Vec<f64> {
    let in_turn = pair.in_turn_ns();
    let costs = if in_turn.is_empty() { pair.all_visits_ns() } else { in_turn };
    costs.into_iter().filter(|cost| *cost > 0.0 && cost.is_finite()).map(f64::ln).collect()
}

/// Returns the cost that is assumed for a relation, in nanoseconds: that of a line between caches on recent processors.
const fn assumed_ns(relation: CpuRelation) -> f64 {
    match relation {
        CpuRelation::SameCore => 20.0,
        CpuRelation::SameCluster => 35.0,
        CpuRelation::SameLlc => 45.0,
        CpuRelation::SameLlcOtherNode => 60.0,
        CpuRelation::OtherLlc => 110.0,
        CpuRelation::OtherDie => 140.0,
        CpuRelation::OtherNode => 200.0,
        CpuRelation::OtherPackage => UNKNOWN_NS,
    }
}
