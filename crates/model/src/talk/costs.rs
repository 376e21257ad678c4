//! Costs of messages between cpus, by a map of links or by the topology.

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Machine};
use schemars::JsonSchema;
use serde::Serialize;

use crate::links::pair_spread::PAIR_LUCK;
use crate::links::{CostMatrix, CpuRelation, CpuRelationTable, LinkMap, LinkPair, TalkWay};
use corewise_statistics::order::{VARIANCE_OF_MEDIAN, median};

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
        let matrix = series
            .map(|series| CostMatrix::from_links(&series.links))
            .filter(|matrix| matrix.known_pairs().next().is_some());
        let source = match series {
            Some(series) if matrix.is_some() => CostSource::Map { way: series.what },
            _ => CostSource::Topology,
        };
        let usual = UsualCosts::new(machine, series.map_or(&[], |series| &series.links.pairs));
        let size = cpus.len();
        let mut ns = vec![0.0; size * size];
        let mut least = f64::INFINITY;
        for (i, &a) in cpus.iter().enumerate() {
            for (j, &b) in cpus[..i].iter().enumerate() {
                let measured =
                    matrix.as_ref().and_then(|matrix| Some(matrix.pair_cost(matrix.place_of(a)?, matrix.place_of(b)?)));
                let cost = usual.cost_of(a, b, measured.filter(|cost| cost.is_finite()));
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

/// Costs of pairs by their relation: those of a map's pairs, or assumed ones.
struct UsualCosts {
    relations: CpuRelationTable,
    measured: Vec<(CpuRelation, RelationCosts)>,
}

impl UsualCosts {
    fn new(machine: &Machine, pairs: &[LinkPair]) -> Self {
        let relations = CpuRelationTable::new(machine, &machine.online);
        let mut by_relation: BTreeMap<CpuRelation, Vec<&LinkPair>> = BTreeMap::new();
        for pair in pairs.iter().filter(|pair| pair.one_way_ns().is_finite()) {
            if let Some(relation) = relations.relation_between(pair.a, pair.b) {
                by_relation.entry(relation).or_default().push(pair);
            }
        }
        let measured = by_relation.into_iter().map(|(relation, pairs)| (relation, RelationCosts::new(&pairs)));
        Self { relations, measured: measured.collect() }
    }

    /// Returns the cost of a pair, which may be measured.
    fn cost_of(&self, a: u32, b: u32, measured: Option<f64>) -> f64 {
        let Some(relation) = self.relations.relation_between(a, b) else { return measured.unwrap_or(UNKNOWN_NS) };
        let own = self.measured.iter().find(|(known, _)| *known == relation);
        // Of a relation without a measurement, scaled by the nearest measured one.
        let nearest = self.measured.iter().min_by_key(|(known, _)| (*known as usize).abs_diff(relation as usize));
        match (own, nearest) {
            (Some((_, costs)), _) => costs.believe(measured),
            (None, Some((known, costs))) => costs.median_ns * assumed_ns(relation) / assumed_ns(*known),
            (None, None) => assumed_ns(relation),
        }
    }
}

/// Measured costs of the pairs of one relation.
struct RelationCosts {
    median_ns: f64,
    /// Share of the variance between pairs that is not chance.
    lasting: f64,
}

impl RelationCosts {
    /// Computes the costs from pairs with visits. The variance of the logarithms of their costs is that of the pairs, of their visits, and
    /// of the luck that all visits of a pair share (James and Stein 1961, with the variances estimated: Efron and Morris 1973).
    fn new(pairs: &[&LinkPair]) -> Self {
        let costs: Vec<f64> = pairs.iter().map(|pair| pair.one_way_ns()).collect();
        let logarithms: Vec<f64> = costs.iter().map(|cost| cost.ln()).collect();
        let visits: Vec<f64> = pairs.iter().filter_map(|pair| visit_variance(pair)).collect();
        let chance = PAIR_LUCK.powi(2) + visits.iter().sum::<f64>() / visits.len().max(1) as f64;
        let lasting = variance(&logarithms).map_or(0.0, |all| (1.0 - chance / all).max(0.0));
        Self { median_ns: median(&costs), lasting }
    }

    /// Returns what to expect of a pair the next time: its measured cost, drawn to the median as far as the difference is chance.
    fn believe(&self, measured: Option<f64>) -> f64 {
        let beyond = measured.map_or(0.0, |cost| (cost / self.median_ns).ln());
        self.median_ns * (self.lasting * beyond).exp()
    }
}

/// Returns the variance of the logarithm of a pair's cost by its visits; `None` with less than two each way.
fn visit_variance(pair: &LinkPair) -> Option<f64> {
    let ways = [pair.visits_ns(), pair.back_ns()];
    let of_way = |visits: &[f64]| {
        let logarithms: Vec<f64> = visits.iter().map(|visit| visit.ln()).collect();
        Some(VARIANCE_OF_MEDIAN * variance(&logarithms)? / visits.len() as f64)
    };
    let known: Vec<f64> = ways.into_iter().filter_map(of_way).collect();
    // The cost is the mean of both ways.
    let used = ways.iter().filter(|way| !way.is_empty()).count();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / (known.len() * used) as f64)
}

/// Returns the variance of a sample; `None` of less than two values.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let sum: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| sum / (values.len() - 1) as f64)
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
