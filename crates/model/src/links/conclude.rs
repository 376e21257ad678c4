//! Conclusions from a link map: cost classes, groups, held-out pairs, findings.

mod agreement;
mod findings;
mod homes;
mod map;
mod padding;
mod summary;
mod tiers;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::doubt::{CostDoubt, find_doubts};
use super::groups::{GroupLevel, hidden_groups};
use super::map::{LinkMap, LinkSeries};
use super::predict::{CostPredictor, MeasuredPair, by_way};
use super::structure::CpuStructure;
use super::{CostMatrix, TalkWay};
use crate::finding::Finding;
pub use agreement::KernelAgreement;
use corewise_statistics::order::weighted_quantile;
pub use findings::nothing_found;
pub use map::conclude_map;
pub(crate) use padding::series_ratios;
pub use tiers::PairTiers;

/// Conclusions from a map.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkConclusions {
    /// One entry for each way to talk, in the order of the map's series.
    pub kinds: Vec<KindConclusions>,
    /// Groups shown by the first series; absent if its costs show one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<CostGroups>,
    /// SMT siblings according to the costs, if the machine is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub siblings: Option<GroupLevel>,
    /// The other reading of the costs, if the machine is unknown and they allow two; only the machine's name decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_reading: Option<OtherReading>,
    /// Cpus with higher communication costs among themselves than with any others, such as efficiency cores of one
    /// cluster; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dear: Option<GroupLevel>,
    /// True if the time ended before groups could be found: whether there are any is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Findings, most important first.
    pub findings: Vec<Finding>,
    /// Tests that found no difference, one sentence each.
    pub no_difference: Vec<String>,
}

/// A second reading of the costs of an unknown machine: small groups are SMT siblings, or several cores each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherReading {
    /// The SMT siblings by this reading; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub siblings: Option<GroupLevel>,
    /// The innermost groups by this reading; absent if it has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupLevel>,
}

impl OtherReading {
    /// Reads siblings as groups, or innermost groups of two, four or eight cpus as siblings; `None` if there are neither.
    fn from_levels(siblings: Option<&GroupLevel>, levels: &[GroupLevel]) -> Option<Self> {
        let may_be_siblings = |level: &&GroupLevel| {
            let largest = level.groups.iter().map(CpuSet::len).max().unwrap_or(0);
            matches!(largest, 2 | 4 | 8)
        };
        match siblings {
            Some(siblings) => Some(Self { siblings: None, groups: Some(siblings.clone()) }),
            None => levels
                .first()
                .filter(may_be_siblings)
                .map(|inner| Self { siblings: Some(inner.clone()), groups: levels.get(1).cloned() }),
        }
    }
}

/// Costs of one way to talk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindConclusions {
    /// The way to talk.
    pub what: TalkWay,
    /// The cost classes, nearest first: siblings, pairs inside groups, pairs that meet one level further up, and so on.
    pub classes: Vec<CostClass>,
    /// Number of predicted pairs.
    pub predicted: u64,
    /// Measured costs that contradict all others; no conclusion uses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<CostDoubt>,
    /// The error of predictions; absent if nothing was predicted, or the map ended before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<PredictionError>,
}

/// Costs of all pairs that meet on the same level, measured or predicted, in the machine's proportions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostClass {
    /// Name of the class: "same core", "same group", "other group". If the two ways of most pairs differ more than
    /// twice, there are two classes: "same group, cheaper way" and "same group, dearer way".
    pub words: String,
    /// Number of measured pairs.
    pub pairs: u64,
    /// Number of predicted pairs.
    pub predicted: u64,
    /// The median, in nanoseconds. For other pairs with ways that differ more than twice, each way counts half.
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
    pub held_out: Option<PredictionError>,
}

/// Error of predictions, compared with held-out pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionError {
    /// Number of held-out pairs.
    pub pairs: u64,
    /// The median error, as a share of the cost.
    pub median: f64,
    /// The 95th percentile of the errors.
    pub p95: f64,
}

impl PredictionError {
    /// Summarizes errors with their weights; `None` if there is none.
    pub(crate) fn from_errors(errors: &[(f64, f64)]) -> Option<Self> {
        let mut known: Vec<(f64, f64)> = errors.iter().copied().filter(|(error, _)| error.is_finite()).collect();
        known.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [median, p95] = [0.5, 0.95].map(|at| weighted_quantile(known.iter().copied(), at));
        (!known.is_empty()).then_some(Self { pairs: known.len() as u64, median, p95 })
    }
}

/// Groups of cpus that the costs show, compared with the kernel's levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostGroups {
    /// The innermost level above cores, groups of several cores first; these are `group:0`, `group:1`, … of the placement language.
    pub level: GroupLevel,
    /// The levels above that, if any, innermost first.
    pub outer: Vec<GroupLevel>,
    /// Number of cores in each group, or of cpus if siblings are unknown.
    pub cores: Vec<usize>,
    /// True if `cores` counts cores.
    pub counts_cores: bool,
    /// Comparison with the levels that the kernel reports; absent if the machine is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<KernelAgreement>,
}

impl CostGroups {
    /// Describes the groups: "8 groups of 3 cores"; single cores are counted apart.
    pub fn describe_groups(&self) -> String {
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

    /// Returns the groups with several cores, which come first in the level: threads should stay within one of them.
    pub fn of_several_cores(&self) -> &[CpuSet] {
        &self.level.groups[..self.cores.iter().filter(|&&cores| cores > 1).count()]
    }
}

/// A series with all computed values that conclusions need.
pub struct FilledSeries {
    /// Known structure of the cpus.
    pub structure: CpuStructure,
    /// Measured costs, including held-out pairs, without [`Self::find_doubts`].
    pub measured: CostMatrix,
    /// All costs: pairs that were not measured are predicted; NaN if that is impossible.
    pub all: CostMatrix,
    /// Measured costs that contradict all others.
    pub doubts: Vec<CostDoubt>,
    /// Number of predicted pairs.
    pub predicted: u64,
    /// Error of predictions, over all predicted pairs.
    pub held_out: Option<PredictionError>,
    pub(super) misses: PredictionMisses,
    weights: PairWeights,
}

/// Ratios of measured to predicted costs, with the pairs' places.
#[derive(Default)]
pub(super) struct PredictionMisses {
    held_out: Vec<MeasuredPair>,
    fitted: Vec<MeasuredPair>,
}

impl FilledSeries {
    /// Predicts the costs that a series did not measure; none if no pair was held out to show the error.
    pub fn from_series(series: &LinkSeries, map: &LinkMap) -> Self {
        let mut structure = CpuStructure::new(map.machine.as_ref(), &map.cpus);
        let mut measured = CostMatrix::all_unknown(map.cpus.iter());
        let mut points = measured_places(&series.links.pairs, &mut measured);
        if !map.searched.is_empty() {
            structure.tell_groups(&map.searched);
        }
        // Held-out pairs help no prediction, so they do not contribute to groups either.
        let mut known = measured.clone();
        let mut held_out = measured_places(&series.held_out, &mut measured);
        let doubts = find_doubts(&measured, |i, j| structure.core_at(i) == structure.core_at(j));
        for doubt in &doubts {
            let (Some(a), Some(b)) = (measured.place_of(doubt.a), measured.place_of(doubt.b)) else { continue };
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
                misses: PredictionMisses::default(),
                weights: PairWeights::default(),
            };
        }
        if map.searched.is_empty()
            && let Some(groups) = hidden_groups(&structure, &known)
        {
            structure.tell_groups(&groups);
        }
        let predictor = CostPredictor::fit_pairs(&structure, &points);
        let misses = PredictionMisses {
            held_out: held_out.iter().map(|&(i, j, cost)| (i, j, cost / predictor.pair_cost(i, j))).collect(),
            fitted: points.iter().map(|&(i, j, cost)| (i, j, cost / predictor.modelled_cost(i, j))).collect(),
        };
        // Held-out pairs are shown as measured and help no prediction, so their error is that of the shown predictions.
        let all = by_way(&structure, &measured, predictor.fill_matrix(&measured));
        let weights = PairWeights::from_structure(&structure, &measured, &all, &misses.held_out);
        let mut filled = Self {
            predicted: weights.predicted_count(),
            structure,
            measured,
            all,
            doubts,
            held_out: None,
            misses,
            weights,
        };
        filled.held_out = filled.prediction_error(|_, _| true);
        filled
    }

    /// Returns the error of the predictions of some pairs, from the held-out ones among them; `None` without any.
    fn prediction_error(&self, is_meant: impl Fn(usize, usize) -> bool) -> Option<PredictionError> {
        let meant = self.misses.held_out.iter().filter(|(i, j, _)| is_meant(*i, *j));
        let weighted =
            |&(i, j, miss): &MeasuredPair| ((1.0 / miss - 1.0).abs(), self.weights.of_pair(&self.structure, i, j));
        PredictionError::from_errors(&meant.map(weighted).collect::<Vec<_>>())
    }
}

/// Weights of held-out pairs, which represent predicted ones: near pairs, of which there are few, are held out more
/// often.
#[derive(Default)]
struct PairWeights {
    predicted: [u64; 3],
    held_out: [u64; 3],
}

impl PairWeights {
    fn from_structure(
        structure: &CpuStructure,
        measured: &CostMatrix,
        all: &CostMatrix,
        held_out: &[MeasuredPair],
    ) -> Self {
        let mut weights = Self { predicted: [0; 3], held_out: [0; 3] };
        for (i, j, _) in all.known_pairs().filter(|&(i, j, _)| measured.pair_cost(i, j).is_nan()) {
            weights.predicted[structure.nearness_between(i, j) as usize] += 1;
        }
        held_out.iter().for_each(|&(i, j, _)| weights.held_out[structure.nearness_between(i, j) as usize] += 1);
        weights
    }

    fn predicted_count(&self) -> u64 {
        self.predicted.iter().sum()
    }

    /// Returns the number of predicted pairs that a held-out one represents; one if all are measured.
    fn of_pair(&self, structure: &CpuStructure, i: usize, j: usize) -> f64 {
        let near = structure.nearness_between(i, j) as usize;
        if self.predicted_count() == 0 { 1.0 } else { self.predicted[near] as f64 / self.held_out[near] as f64 }
    }
}

fn measured_places(pairs: &[super::LinkPair], measured: &mut CostMatrix) -> Vec<MeasuredPair> {
    let mut points = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let (Some(i), Some(j)) = (measured.place_of(pair.a), measured.place_of(pair.b)) else { continue };
        let cost = pair.one_way_ns();
        if cost.is_finite() {
            measured.set_cost(i, j, pair.from_a_ns());
            measured.set_cost(j, i, pair.from_b_ns());
            points.push((i, j, cost));
        }
    }
    points
}

impl LinkConclusions {
    fn from_groups(siblings: Option<GroupLevel>, groups: Option<CostGroups>) -> Self {
        let (kinds, findings, no_difference) = (Vec::new(), Vec::new(), Vec::new());
        Self { kinds, groups, siblings, other_reading: None, dear: None, unfinished: false, findings, no_difference }
    }

    /// Returns the levels of groups, innermost first.
    fn group_levels(&self) -> impl Iterator<Item = &GroupLevel> {
        self.groups.iter().flat_map(|groups| std::iter::once(&groups.level).chain(&groups.outer))
    }

    /// Returns the core of each place: places of one number are siblings, by the topology or, if that is unknown, by
    /// the costs.
    fn cores_of_places(&self, filled: &FilledSeries) -> Vec<usize> {
        let shown = self.siblings.as_ref().map_or(&[][..], |level| &level.groups);
        let mut cores: Vec<usize> =
            (0..filled.structure.cpus.len()).map(|place| filled.structure.core_at(place)).collect();
        for (index, core) in shown.iter().enumerate() {
            for place in core.iter().filter_map(|cpu| filled.measured.place_of(cpu)) {
                cores[place] = filled.structure.cores.len() + index;
            }
        }
        cores
    }
}

#[cfg(test)]
mod tests;
