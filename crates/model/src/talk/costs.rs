//! Costs of messages between cpus, by a map of links or by the topology.

use corewise_machine::{CpuSet, Machine};
use schemars::JsonSchema;
use serde::Serialize;

use crate::links::{CostMatrix, CpuRelation, LinkMap, TalkWay};
use corewise_statistics::order::median;

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
    /// Returns the costs between some cpus, by a map of links if there is one. Pairs that it lacks cost as much as others of their relation.
    pub fn new(machine: &Machine, usable: &CpuSet, map: Option<&LinkMap>) -> Self {
        let cpus: Vec<u32> = usable.iter().collect();
        let wakeup = |map: &&LinkMap| map.series.iter().position(|series| series.what == TalkWay::Wakeup);
        let series = map.and_then(|map| map.series.get(wakeup(&map).unwrap_or(0)));
        let matrix = series
            .map(|series| CostMatrix::from_links(&series.links))
            .filter(|matrix| matrix.known_pairs().next().is_some());
        let source = match series {
            Some(series) if matrix.is_some() => CostSource::Map { way: series.what },
            _ => CostSource::Topology,
        };
        let usual = UsualCosts::new(machine, matrix.as_ref());
        let size = cpus.len();
        let mut ns = vec![0.0; size * size];
        let mut least = f64::INFINITY;
        for (i, &a) in cpus.iter().enumerate() {
            for (j, &b) in cpus[..i].iter().enumerate() {
                let measured =
                    matrix.as_ref().and_then(|matrix| Some(matrix.pair_cost(matrix.place_of(a)?, matrix.place_of(b)?)));
                let cost = measured.filter(|cost| cost.is_finite()).unwrap_or_else(|| usual.cost_of(machine, a, b));
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

/// Costs of pairs by their relation: medians of a map's pairs, or assumed ones.
struct UsualCosts {
    relations: crate::links::CpuRelationTable,
    measured: Vec<(CpuRelation, f64)>,
}

impl UsualCosts {
    fn new(machine: &Machine, matrix: Option<&CostMatrix>) -> Self {
        let relations = crate::links::CpuRelationTable::new(machine, &machine.online);
        let mut by_relation: std::collections::BTreeMap<CpuRelation, Vec<f64>> = std::collections::BTreeMap::new();
        for (i, j, cost) in matrix
            .iter()
            .flat_map(|matrix| matrix.known_pairs().map(|(i, j, cost)| (matrix.cpus()[i], matrix.cpus()[j], cost)))
        {
            if let Some(relation) = relations.relation_between(i, j) {
                by_relation.entry(relation).or_default().push(cost);
            }
        }
        Self {
            relations,
            measured: by_relation.into_iter().map(|(relation, costs)| (relation, median(&costs))).collect(),
        }
    }

    fn cost_of(&self, _machine: &Machine, a: u32, b: u32) -> f64 {
        let Some(relation) = self.relations.relation_between(a, b) else { return UNKNOWN_NS };
        let own = self.measured.iter().find(|(known, _)| *known == relation);
        // Of a relation without a measurement, scaled by the nearest measured one.
        let nearest = self.measured.iter().min_by_key(|(known, _)| (*known as usize).abs_diff(relation as usize));
        match (own, nearest) {
            (Some((_, cost)), _) => *cost,
            (None, Some((known, cost))) => cost * assumed_ns(relation) / assumed_ns(*known),
            (None, None) => assumed_ns(relation),
        }
    }
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
