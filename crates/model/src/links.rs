//! What talking between two cpus costs: observations, and the cost classes that the topology makes of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::order::median;
use crate::{CpuSet, Gap, Level, Machine};

/// Round trips between pairs of cpus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Links {
    /// One entry for each pair that was measured, `a < b`.
    pub pairs: Vec<Pair>,
    /// How many pairs of allowed cpus there are in all.
    pub possible_pairs: u64,
    /// Pairs that could not be measured, and why.
    pub gaps: Vec<Gap>,
}

/// Round trips between two cpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The lower cpu.
    pub a: u32,
    /// The higher cpu.
    pub b: u32,
    /// Half of the median round trip of each visit, in nanoseconds. A visit has a fresh page, several of its lines, and
    /// many short samples; the median is over all samples of all its lines.
    pub visits_ns: Vec<f64>,
}

impl Pair {
    /// The pair's cost: the median over its visits, one way, in nanoseconds; not a number without a visit.
    pub fn one_way_ns(&self) -> f64 {
        median(&self.visits_ns)
    }
}

/// How near two cpus are in the topology, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// SMT siblings.
    SameCore,
    /// Different cores that share an L2.
    SameCluster,
    /// Different clusters of one last-level cache.
    SameLlc,
    /// Different last-level caches of one package.
    OtherLlc,
    /// Different packages.
    OtherPackage,
}

impl Relation {
    /// What a person calls it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::SameCore => "same core",
            Self::SameCluster => "same cluster",
            Self::SameLlc => "same llc",
            Self::OtherLlc => "other llc",
            Self::OtherPackage => "other package",
        }
    }

    /// The relation of two different online cpus; absent where one of them is not in the machine.
    pub fn of(machine: &Machine, a: u32, b: u32) -> Option<Self> {
        let same = |level| Some(machine.index_of(level, a)? == machine.index_of(level, b)?);
        Some(if same(Level::Core)? {
            Self::SameCore
        } else if same(Level::Cluster)? {
            Self::SameCluster
        } else if same(Level::Llc)? {
            Self::SameLlc
        } else if same(Level::Package)? {
            Self::OtherLlc
        } else {
            Self::OtherPackage
        })
    }
}

/// All measured pairs of one relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkClass {
    /// How near the two cpus of each pair are.
    pub relation: Relation,
    /// How many pairs were measured.
    pub pairs: u64,
    /// The median cost over the pairs, one way, in nanoseconds.
    pub median_ns: f64,
    /// The cheapest pair.
    pub lowest_ns: f64,
    /// The dearest pair.
    pub highest_ns: f64,
}

/// The cost classes that exist among the measured pairs, nearest first.
pub fn classes(machine: &Machine, links: &Links) -> Vec<LinkClass> {
    let mut by_relation = std::collections::BTreeMap::<Relation, Vec<f64>>::new();
    for pair in &links.pairs {
        if let (Some(relation), cost) = (Relation::of(machine, pair.a, pair.b), pair.one_way_ns())
            && cost.is_finite()
        {
            by_relation.entry(relation).or_default().push(cost);
        }
    }
    by_relation
        .into_iter()
        .map(|(relation, costs)| LinkClass {
            relation,
            pairs: costs.len() as u64,
            median_ns: median(&costs),
            lowest_ns: costs.iter().copied().fold(f64::INFINITY, f64::min),
            highest_ns: costs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
        .collect()
}

/// The cpus that appear in at least one measured pair.
pub fn cpus(links: &Links) -> CpuSet {
    links.pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect()
}
