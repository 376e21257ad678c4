//! What a map of links shows: cost classes, groups, what was held out, and what it means.

mod classes;
mod findings;
mod map;
mod told;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::groups::GroupLevel;
use super::map::{LinkMap, Series};
use super::predict::{Measured, Predictor};
use super::structure::Structure;
use super::{Matrix, What};
use crate::finding::Finding;
use crate::stats::order::{median, quantile};
pub(super) use classes::class_of;
pub use map::conclude;
pub use told::Agreement;

/// What was concluded from a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkConclusions {
    /// One entry for each way to talk, in the order of the map's series.
    pub kinds: Vec<KindConclusions>,
    /// The groups that the first of them shows; absent where its costs show one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// SMT siblings as the costs show them, where nothing is known of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub siblings: Option<GroupLevel>,
    /// What the map means, weightiest first.
    pub findings: Vec<Finding>,
    /// What was tested and found not to differ, one sentence each.
    pub no_difference: Vec<String>,
}

/// What one way to talk costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindConclusions {
    /// The way to talk.
    pub what: What,
    /// The cost classes, cheapest first.
    pub classes: Vec<CostClass>,
    /// How many pairs are predicted.
    pub predicted: u64,
    /// The error of predictions; absent if nothing was predicted, or the map ended before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
}

/// Pairs that cost about the same, and less or more than all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostClass {
    /// Where they are: "same core", "same group", "other group".
    pub words: String,
    /// How many pairs were measured.
    pub pairs: u64,
    /// The median, in nanoseconds.
    pub median_ns: f64,
    /// The 5th percentile.
    pub low_ns: f64,
    /// The 95th percentile.
    pub high_ns: f64,
}

/// How far predictions lie from what pairs cost that were held out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldOut {
    /// How many pairs were held out.
    pub pairs: u64,
    /// The median error, as a share of the cost.
    pub median: f64,
    /// The 95th percentile of the errors.
    pub p95: f64,
}

/// Groups of cpus that the costs show, and what the kernel says to that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Groups {
    /// The innermost level above cores; its groups are `group:0`, `group:1`, … of the placement language.
    pub level: GroupLevel,
    /// The levels above that, if any, innermost first.
    pub outer: Vec<GroupLevel>,
    /// How many cores each group has, or cpus where it is not known which of them are siblings.
    pub cores: Vec<usize>,
    /// Whether these are cores.
    pub counts_cores: bool,
    /// Whether the kernel reports the same; absent if the machine is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
}

impl Groups {
    /// "8 groups of 3 cores".
    pub fn words(&self) -> String {
        let (least, most) = (self.cores.iter().min().unwrap_or(&0), self.cores.iter().max().unwrap_or(&0));
        let size = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let unit = if self.counts_cores { "core" } else { "cpu" };
        let plural = if *most == 1 { "" } else { "s" };
        format!("{} groups of {size} {unit}{plural}", self.cores.len())
    }
}

/// A series with everything that is computed from it before anything is said.
pub struct Filled {
    /// What is told of the cpus.
    pub structure: Structure,
    /// What was measured, held-out pairs too.
    pub measured: Matrix,
    /// All costs: what was not measured is predicted, and not a number where that cannot be.
    pub all: Matrix,
    /// How many pairs are predicted.
    pub predicted: u64,
    /// How wrong predictions are.
    pub held_out: Option<HeldOut>,
}

impl Filled {
    /// Predicts what a series did not measure.
    pub fn of(series: &Series, map: &LinkMap) -> Self {
        let mut structure = Structure::new(map.machine.as_ref(), &map.cpus);
        let mut measured = Matrix::unknown(map.cpus.iter());
        let points = places(&series.links.pairs, &mut measured);
        if !map.searched.is_empty() {
            structure.tell_groups(&map.searched);
        }
        let predictor = Predictor::fit(&structure, &points);
        let held_out_points = places(&series.held_out, &mut measured);
        let errors = held_out_points.iter().map(|&(i, j, cost)| (predictor.cost(i, j) / cost - 1.0).abs());
        let errors: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
        let held_out = (!errors.is_empty()).then(|| HeldOut {
            pairs: errors.len() as u64,
            median: median(&errors),
            p95: quantile(&errors, 0.95),
        });
        // What was held out is shown as measured, and helps no prediction: its error is that of the predictions that are shown.
        let all = if map.is_predicted() { predictor.filled(&measured) } else { measured.clone() };
        let predicted = (all.known().count() - measured.known().count()) as u64;
        Self { structure, measured, all, predicted, held_out }
    }

    /// Costs between cores, all or those that were measured: one cpu of each stands for its core.
    fn between_cores(&self, costs_of: &Matrix) -> Matrix {
        let firsts = self.structure.first_of_cores();
        let mut cores = Matrix::unknown(firsts.iter().map(|&place| self.structure.cpus[place]));
        let mut costs = std::collections::BTreeMap::<(usize, usize), Vec<f64>>::new();
        for (i, j, cost) in costs_of.known() {
            let (a, b) = (self.structure.core(i), self.structure.core(j));
            if a != b {
                costs.entry((a, b)).or_default().push(cost);
            }
        }
        for ((a, b), costs) in costs {
            cores.set_both(a, b, median(&costs));
        }
        cores
    }
}

fn places(pairs: &[super::Pair], measured: &mut Matrix) -> Vec<Measured> {
    let mut points = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let (Some(i), Some(j)) = (measured.place(pair.a), measured.place(pair.b)) else { continue };
        let cost = pair.one_way_ns();
        if cost.is_finite() {
            measured.set(i, j, pair.from_a_ns());
            measured.set(j, i, pair.from_b_ns());
            points.push((i, j, cost));
        }
    }
    points
}

impl LinkConclusions {
    /// The core of each place: places of one number are siblings, by the topology or, where nothing is known of it, by what the costs show.
    fn cores(&self, filled: &Filled) -> Vec<usize> {
        let shown = self.siblings.as_ref().map_or(&[][..], |level| &level.groups);
        let mut cores: Vec<usize> =
            (0..filled.structure.cpus.len()).map(|place| filled.structure.core(place)).collect();
        for (index, core) in shown.iter().enumerate() {
            for place in core.iter().filter_map(|cpu| filled.measured.place(cpu)) {
                cores[place] = filled.structure.cores.len() + index;
            }
        }
        cores
    }
}

/// Which group each place is in; absent where there are no groups.
fn group_of(filled: &Filled, groups: Option<&Groups>) -> Option<Vec<usize>> {
    let groups = groups?;
    let of = |cpu: &u32| groups.level.groups.iter().position(|group| group.contains(*cpu)).unwrap_or(usize::MAX);
    Some(filled.structure.cpus.iter().map(of).collect())
}

#[cfg(test)]
mod tests;
