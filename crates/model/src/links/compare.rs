//! Changes between two link maps: pairs that changed, and the change of each class.
//!
//! The pairs of a way to talk are one family: if nothing changed, **any** pair is called changed with a probability of at
//! most [`ERROR_RATE`]. A pair changed if its own intervals are disjoint, and its ratio is beyond the largest that the
//! luck of pairs gives ([`PairSpread`]), which is taken to be log-normal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conclude::{FilledSeries, LinkConclusions, PairTiers};
use super::map::{LinkMap, LinkSeries};
use super::pair_spread::PairSpread;
use super::{LinkPair, TalkWay, in_both};
use crate::finding::{self, FindingEffect};
use corewise_statistics::order::{median, median_interval};

/// Assumed relative uncertainty of a cost without an interval: pairs with fewer than eight visits, or imported without
/// visits. The cost of one pair of cores through other siblings differs by as much in published matrices.
const UNKNOWN: f64 = 0.05;
/// The error rate of all pairs of a way to talk together.
pub const ERROR_RATE: f64 = 0.05;
/// The confidence of each pair's interval; a change needs disjoint intervals.
const CONFIDENCE: f64 = 0.99;
/// Maximum number of most changed pairs to list.
const MOST_LISTED: usize = 10;

/// Changes in one way to talk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkComparison {
    /// The way to talk.
    pub what: TalkWay,
    /// Number of pairs that both maps measured.
    pub pairs: u64,
    /// Number of pairs that each map measured, the earlier first.
    pub measured: [u64; 2],
    /// The smallest ratio, up or down, that counts as a pair's change: chance gives any pair more with a probability of
    /// 5 %.
    pub least_ratio: f64,
    /// Number of common pairs that cost more, beyond chance.
    pub dearer: u64,
    /// Number of common pairs that cost less, beyond chance.
    pub cheaper: u64,
    /// The same by class of the earlier map, nearest first.
    pub classes: Vec<ClassChange>,
    /// The pairs that changed most, both ways.
    pub most: Vec<PairChange>,
}

/// Change of a class of pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassChange {
    /// The class: "same group", "other group".
    pub words: String,
    /// Number of pairs that both maps measured.
    pub pairs: u64,
    /// Number of pairs that changed beyond chance.
    pub changed: u64,
    /// The median cost before, in nanoseconds.
    pub before_ns: f64,
    /// The median cost after.
    pub after_ns: f64,
    /// Ratio of after to before, over pairs.
    pub effect: FindingEffect,
}

/// Change of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairChange {
    /// The lower cpu.
    pub a: u32,
    /// The higher cpu.
    pub b: u32,
    /// Its cost before, in nanoseconds.
    pub before_ns: f64,
    /// Its cost after.
    pub after_ns: f64,
    /// Ratio of after to before.
    pub ratio: f64,
}

/// Compares the ways to talk that both maps have, over the pairs that both measured.
pub fn compare_link_maps(before: &LinkMap, after: &LinkMap, conclusions: &LinkConclusions) -> Vec<LinkComparison> {
    let of = |series: &LinkSeries| {
        after.series.iter().find(|other| other.what == series.what).map(|other| (series.clone(), other.clone()))
    };
    let both = before.series.iter().filter_map(of);
    both.map(|(earlier, later)| compare_series(&earlier, &later, before, conclusions)).collect()
}

fn compare_series(
    earlier: &LinkSeries,
    later: &LinkSeries,
    before: &LinkMap,
    conclusions: &LinkConclusions,
) -> LinkComparison {
    let filled = FilledSeries::from_series(earlier, before);
    let tiers = PairTiers::from_series(&filled, conclusions, before);
    let mut by_class = BTreeMap::<usize, Vec<(PairChange, bool)>>::new();
    for (pair, other) in in_both(all_pairs(earlier), all_pairs(later)) {
        let Some(change) = compare_pair(pair, other) else { continue };
        let places = filled.measured.place_of(pair.a).zip(filled.measured.place_of(pair.b));
        let Some(tier) = places.map(|(i, j)| tiers.tier_of(i, j)) else { continue };
        by_class.entry(tier).or_default().push((change, is_beyond(pair, other)));
    }
    let spread = spread_of_pairs(&by_class);
    // Of a pair with two costs the more changed is looked at, so each pair counts twice.
    let reach = spread.reach_of_any(2 * by_class.values().map(Vec::len).sum::<usize>(), ERROR_RATE);
    for (change, beyond) in by_class.values_mut().flatten() {
        *beyond &= change.ratio.ln().abs() > reach;
    }
    let changes: Vec<(PairChange, bool)> = by_class.values().flatten().copied().collect();
    let changed =
        |up: bool| changes.iter().filter(|(change, beyond)| *beyond && (change.ratio > 1.0) == up).count() as u64;
    LinkComparison {
        what: earlier.what,
        pairs: changes.len() as u64,
        measured: [earlier, later].map(|series| all_pairs(series).count() as u64),
        least_ratio: reach.exp(),
        dearer: changed(true),
        cheaper: changed(false),
        classes: by_class
            .iter()
            .map(|(class, changes)| class_change(tiers.tier_name(*class), changes, spread))
            .collect(),
        most: largest_changes(&changes),
    }
}

fn spread_of_pairs(by_class: &BTreeMap<usize, Vec<(PairChange, bool)>>) -> PairSpread {
    let ratios = |changes: &Vec<(PairChange, bool)>| changes.iter().map(|(change, _)| change.ratio.ln()).collect();
    let classes: Vec<Vec<f64>> = by_class.values().map(ratios).collect();
    PairSpread::from_classes(classes.iter().map(Vec::as_slice))
}

/// Returns the change of a pair's cost. If it has two costs, the way that changed more counts, its first cpu first.
fn compare_pair(before: &LinkPair, after: &LinkPair) -> Option<PairChange> {
    let of = |a, b, before_ns: f64, after_ns: f64| {
        let is_known = before_ns.is_finite() && after_ns.is_finite() && before_ns > 0.0;
        is_known.then_some(PairChange { a, b, before_ns, after_ns, ratio: after_ns / before_ns })
    };
    let has_two = [before, after].into_iter().any(|pair| pair.costs_ns().nth(1).is_some());
    let there = of(before.a, before.b, before.from_a_ns(), after.from_a_ns());
    let back = of(before.b, before.a, before.from_b_ns(), after.from_b_ns());
    match (there, back) {
        (Some(there), Some(back)) if has_two => {
            Some(if back.ratio.ln().abs() > there.ratio.ln().abs() { back } else { there })
        }
        _ => of(before.a, before.b, before.one_way_ns(), after.one_way_ns()),
    }
}

fn all_pairs(series: &LinkSeries) -> impl Iterator<Item = &LinkPair> {
    series.links.pairs.iter().chain(&series.held_out)
}

fn class_change(words: &str, changes: &[(PairChange, bool)], spread: PairSpread) -> ClassChange {
    let ratios: Vec<f64> = changes.iter().map(|(change, _)| change.ratio).collect();
    let middle = median(&ratios);
    let by_spread = || {
        let reach = spread.reach_of_median(ratios.len(), 1.0 - finding::CONFIDENCE).exp();
        (middle / reach, middle * reach)
    };
    let (low, high) = median_interval(&ratios, finding::CONFIDENCE).unwrap_or_else(by_spread);
    let costs = |of: fn(&PairChange) -> f64| median(&changes.iter().map(|(change, _)| of(change)).collect::<Vec<_>>());
    ClassChange {
        words: words.to_owned(),
        pairs: changes.len() as u64,
        changed: changes.iter().filter(|(_, beyond)| *beyond).count() as u64,
        before_ns: costs(|change| change.before_ns),
        after_ns: costs(|change| change.after_ns),
        effect: FindingEffect {
            quantity: "cost".into(),
            against: "before".into(),
            ratio: middle,
            low,
            high,
            p_value: None,
        },
    }
}

fn largest_changes(changes: &[(PairChange, bool)]) -> Vec<PairChange> {
    let mut beyond: Vec<PairChange> = changes.iter().filter(|(_, beyond)| *beyond).map(|(change, _)| *change).collect();
    beyond.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    beyond.truncate(MOST_LISTED);
    beyond
}

/// Returns true if the intervals of a pair's two costs are disjoint on either side.
fn is_beyond(before: &LinkPair, after: &LinkPair) -> bool {
    let sides = |pair: &LinkPair| [side_interval(pair.visits_ns()), side_interval(pair.back_ns())];
    let both = sides(before).into_iter().zip(sides(after)).filter_map(|(before, after)| before.zip(after));
    both.fold(false, |beyond, (before, after)| beyond || before.1 < after.0 || after.1 < before.0)
}

/// Returns the interval of one side's cost; `None` without a visit.
fn side_interval(visits: &[f64]) -> Option<(f64, f64)> {
    let cost = median(visits);
    let around = || (cost * (1.0 - UNKNOWN), cost * (1.0 + UNKNOWN));
    cost.is_finite().then(|| median_interval(visits, CONFIDENCE).unwrap_or_else(around))
}

#[cfg(test)]
mod tests;
