//! What a map of links shows: cost classes, groups, what was held out, and what it means.

mod findings;
mod homes;
mod map;
mod padding;
mod summary;
mod tiers;
mod told;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::doubt::{Doubt, doubts};
use super::groups::{GroupLevel, hidden_groups};
use super::map::{LinkMap, Series};
use super::predict::{Measured, Predictor, by_way};
use super::structure::Structure;
use super::{Matrix, What};
use crate::finding::Finding;
use crate::stats::order::weighted_quantile;
pub use findings::nothing_found;
pub use map::conclude;
pub use tiers::Tiers;
pub use told::Agreement;

/// What was concluded from a map.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkConclusions {
    /// One entry for each way to talk, in the order of the map's series.
    pub kinds: Vec<KindConclusions>,
    /// The groups that the first of them shows; absent where its costs show one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// SMT siblings as the costs show them, where nothing is known of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub siblings: Option<GroupLevel>,
    /// Cpus that talk for more among themselves than with any others, as efficiency cores of one cluster do; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dear: Option<GroupLevel>,
    /// Whether the time ended before groups could be found: neither that there are any nor that there are none is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
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
    /// The cost classes, nearest first: siblings, the pairs inside groups, and those that meet one level further up, and so on.
    pub classes: Vec<CostClass>,
    /// How many pairs are predicted.
    pub predicted: u64,
    /// Measured costs that contradict all others, and from which nothing is concluded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// The error of predictions; absent if nothing was predicted, or the map ended before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
}

/// Pairs that meet on the same level: what all of them cost, measured or predicted, as they stand in the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostClass {
    /// Where they are: "same core", "same group", "other group". Where the two ways of most pairs differ more than twice, there are two classes:
    /// "same group, cheaper way" and "same group, dearer way".
    pub words: String,
    /// How many pairs were measured.
    pub pairs: u64,
    /// How many are predicted.
    pub predicted: u64,
    /// The median, in nanoseconds. Of the other pairs whose two ways differ more than twice, each way counts half.
    pub median_ns: f64,
    /// The 95 % interval of the median; absent if fewer than six pairs were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<(f64, f64)>,
    /// The 5th percentile.
    pub low_ns: f64,
    /// The 95th percentile.
    pub high_ns: f64,
    /// The error of the class's predictions; absent if none was held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
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

impl HeldOut {
    /// Of errors with their weights; absent if there is none.
    pub(crate) fn of(errors: &[(f64, f64)]) -> Option<Self> {
        let mut known: Vec<(f64, f64)> = errors.iter().copied().filter(|(error, _)| error.is_finite()).collect();
        known.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [median, p95] = [0.5, 0.95].map(|at| weighted_quantile(known.iter().copied(), at));
        (!known.is_empty()).then_some(Self { pairs: known.len() as u64, median, p95 })
    }
}

/// Groups of cpus that the costs show, and what the kernel says to that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Groups {
    /// The innermost level above cores, groups of several cores first; these are `group:0`, `group:1`, … of the placement language.
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
    /// "8 groups of 3 cores"; cores that are in no group with another are counted apart.
    pub fn words(&self) -> String {
        let unit = if self.counts_cores { "core" } else { "cpu" };
        let several: Vec<usize> = self.cores.iter().copied().filter(|&cores| cores > 1).collect();
        let (least, most) = (several.iter().min().unwrap_or(&0), several.iter().max().unwrap_or(&0));
        let size = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let groups = if several.len() == 1 { "group" } else { "groups" };
        let alone = match self.cores.len() - several.len() {
            0 => String::new(),
            1 => format!(" and 1 {unit} in none"),
            count => format!(" and {count} {unit}s in none"),
        };
        format!("{} {groups} of {size} {unit}s{alone}", several.len())
    }

    /// The groups to keep threads in, those that come first in the level: a core that is in no group with another is none.
    pub fn of_several_cores(&self) -> &[CpuSet] {
        &self.level.groups[..self.cores.iter().filter(|&&cores| cores > 1).count()]
    }
}

/// A series with everything that is computed from it before anything is said.
pub struct Filled {
    /// What is told of the cpus.
    pub structure: Structure,
    /// What was measured, held-out pairs too, without [`Self::doubts`].
    pub measured: Matrix,
    /// All costs: what was not measured is predicted, and not a number where that cannot be.
    pub all: Matrix,
    /// Measured costs that contradict all others.
    pub doubts: Vec<Doubt>,
    /// How many pairs are predicted.
    pub predicted: u64,
    /// How wrong predictions are, over all pairs that are predicted.
    pub held_out: Option<HeldOut>,
    pub(super) misses: Misses,
    weights: Weights,
}

/// What pairs cost against what is predicted of them, as places and ratios.
#[derive(Default)]
pub(super) struct Misses {
    held_out: Vec<Measured>,
    fitted: Vec<Measured>,
}

impl Filled {
    /// Predicts what a series did not measure; nothing where no pair was held out to show how wrong that is.
    pub fn of(series: &Series, map: &LinkMap) -> Self {
        let mut structure = Structure::new(map.machine.as_ref(), &map.cpus);
        let mut measured = Matrix::unknown(map.cpus.iter());
        let mut points = places(&series.links.pairs, &mut measured);
        if !map.searched.is_empty() {
            structure.tell_groups(&map.searched);
        }
        // Held-out pairs help no prediction, and so they do not say who belongs together.
        let mut known = measured.clone();
        let mut held_out = places(&series.held_out, &mut measured);
        let doubts = doubts(&measured, |i, j| structure.core(i) == structure.core(j));
        for doubt in &doubts {
            let (Some(a), Some(b)) = (measured.place(doubt.a), measured.place(doubt.b)) else { continue };
            [&mut measured, &mut known].into_iter().for_each(|costs| costs.set_both(a, b, f64::NAN));
            [&mut points, &mut held_out].into_iter().for_each(|points| points.retain(|&(i, j, _)| (i, j) != (a, b)));
        }
        if held_out.is_empty() {
            return Self {
                structure,
                all: measured.clone(),
                measured,
                doubts,
                predicted: 0,
                held_out: None,
                misses: Misses::default(),
                weights: Weights::default(),
            };
        }
        if map.searched.is_empty()
            && let Some(groups) = hidden_groups(&structure, &known)
        {
            structure.tell_groups(&groups);
        }
        let predictor = Predictor::fit(&structure, &points);
        let misses = Misses {
            held_out: held_out.iter().map(|&(i, j, cost)| (i, j, cost / predictor.cost(i, j))).collect(),
            fitted: points.iter().map(|&(i, j, cost)| (i, j, cost / predictor.modelled(i, j))).collect(),
        };
        // What was held out is shown as measured, and helps no prediction: its error is that of the predictions that are shown.
        let all = by_way(&structure, &measured, predictor.filled(&measured));
        let weights = Weights::of(&structure, &measured, &all, &misses.held_out);
        let mut filled =
            Self { predicted: weights.predicted(), structure, measured, all, doubts, held_out: None, misses, weights };
        filled.held_out = filled.error(|_, _| true);
        filled
    }

    /// How wrong the predictions of some pairs are, by those of them that were held out; absent where none was.
    fn error(&self, is_meant: impl Fn(usize, usize) -> bool) -> Option<HeldOut> {
        let meant = self.misses.held_out.iter().filter(|(i, j, _)| is_meant(*i, *j));
        let weighted =
            |&(i, j, miss): &Measured| ((1.0 / miss - 1.0).abs(), self.weights.of_pair(&self.structure, i, j));
        HeldOut::of(&meant.map(weighted).collect::<Vec<_>>())
    }
}

/// Held-out pairs stand for those that are predicted: near ones, of which there are few, are held out more often.
#[derive(Default)]
struct Weights {
    predicted: [u64; 3],
    held_out: [u64; 3],
}

impl Weights {
    fn of(structure: &Structure, measured: &Matrix, all: &Matrix, held_out: &[Measured]) -> Self {
        let mut weights = Self { predicted: [0; 3], held_out: [0; 3] };
        for (i, j, _) in all.known().filter(|&(i, j, _)| measured.cost(i, j).is_nan()) {
            weights.predicted[structure.nearness(i, j) as usize] += 1;
        }
        held_out.iter().for_each(|&(i, j, _)| weights.held_out[structure.nearness(i, j) as usize] += 1);
        weights
    }

    fn predicted(&self) -> u64 {
        self.predicted.iter().sum()
    }

    /// How many predicted pairs a held-out one stands for; one if all are measured.
    fn of_pair(&self, structure: &Structure, i: usize, j: usize) -> f64 {
        let near = structure.nearness(i, j) as usize;
        if self.predicted() == 0 { 1.0 } else { self.predicted[near] as f64 / self.held_out[near] as f64 }
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
    fn of(siblings: Option<GroupLevel>, groups: Option<Groups>) -> Self {
        let (kinds, findings, no_difference) = (Vec::new(), Vec::new(), Vec::new());
        Self { kinds, groups, siblings, dear: None, unfinished: false, findings, no_difference }
    }

    /// The levels of groups, innermost first.
    fn levels(&self) -> impl Iterator<Item = &GroupLevel> {
        self.groups.iter().flat_map(|groups| std::iter::once(&groups.level).chain(&groups.outer))
    }

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

#[cfg(test)]
mod tests;
