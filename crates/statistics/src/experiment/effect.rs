//! Size of an effect: its estimate, the estimate's uncertainty, and an any-time interval.

use super::evidence::EffectEvidence;
use super::outcome::BlockOutcome;
use super::question::{PlacementQuestion, QuestionKind};
use super::standing::{BaselineEffect, LIKELY_ERRORS};
use crate::order::median_deviation;

/// Differences beyond this, a ratio of e^100, mark failed runs.
pub(super) const LARGEST: f64 = 100.0;
/// The interval's search: the first step from the estimate, its growth, and its limit (a ratio of 3,000).
const FIRST_STEP: f64 = 0.0005;
const GROWTH: f64 = 1.5;
const FARTHEST: f64 = 8.0;
/// Number of halvings of the last step.
const HALVINGS: u32 = 12;

/// A difference within blocks, with a robust standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectEstimate {
    /// The estimate: a difference of logarithms, or of shares; positive is better.
    pub value: f64,
    pub(super) error: f64,
}

impl EffectEstimate {
    /// Estimates the effect in the scale of a question; `None` without outcomes.
    pub fn from_outcomes(question: &PlacementQuestion, outcomes: &[BlockOutcome]) -> Option<Self> {
        if question.what == QuestionKind::Typical {
            return Self::from_differences(&outcomes.iter().map(BlockOutcome::logarithmic_gain).collect::<Vec<f64>>());
        }
        let costs: Vec<[f64; 2]> = outcomes.iter().filter_map(|outcome| question.block_costs(outcome)).collect();
        if costs.is_empty() {
            return None;
        }
        let [candidate, baseline] = mean_costs(&costs);
        Some(match question.what {
            QuestionKind::Tail => {
                let apart = costs.iter().filter(|[candidate, baseline]| candidate != baseline).count() as f64;
                // One more, as differences may still come.
                Self { value: baseline - candidate, error: (apart + 1.0).sqrt() / costs.len() as f64 }
            }
            _ => {
                let [candidate, baseline] = [candidate, baseline].map(|mean| mean.max(LEAST_COST));
                let squares = costs.iter().map(|costs| (costs[1] / baseline - costs[0] / candidate).powi(2));
                let count = costs.len() as f64;
                // Corrected as for the typical run: few values vary too little.
                let error = (1.0 + 1.0 / count) * squares.sum::<f64>().sqrt() / count;
                Self { value: (baseline / candidate).ln(), error }
            }
        })
    }

    /// Computes Hodges and Lehmann's estimate (the median of all means of two), and its error from the median absolute
    /// deviation; `None` without differences.
    pub(super) fn from_differences(differences: &[f64]) -> Option<Self> {
        let value = hodges_lehmann(differences)?;
        let count = differences.len() as f64;
        // The deviations of few values from their own median are too small.
        let correction = 1.0 + 1.0 / count;
        Some(Self { value, error: correction * median_deviation(differences) / count.sqrt() })
    }

    /// Returns true if it is worse by a margin, and by more than chance explains.
    pub fn is_likely_worse(&self, margin: f64) -> bool {
        self.value <= -margin && self.value + LIKELY_ERRORS * self.error < 0.0
    }
}

/// Lower limit of a mean; smaller ones come from values that are all zero.
const LEAST_COST: f64 = 1e-12;

/// Returns the mean costs, the candidate's first.
pub(super) fn mean_costs(costs: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|side| costs.iter().map(|pair| pair[side]).sum::<f64>() / costs.len() as f64)
}

/// Number of values from which the means of all pairs are counted instead of stored: they need more than a megabyte.
const MANY: usize = 500;

/// Returns the median of the means of all pairs, including each value with itself.
pub(super) fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    match values.len() {
        0 => None,
        1..MANY => median_of_means(values),
        _ => Some(median_of_many_means(values)),
    }
}

/// Computes the same with all means in memory.
fn median_of_means(values: &[f64]) -> Option<f64> {
    let mut means = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (place, a) in values.iter().enumerate() {
        means.extend(values[place..].iter().map(|b| (a + b) / 2.0));
    }
    let middle = means.len() / 2;
    let (lower, &mut upper, _) = means.select_nth_unstable_by(middle, f64::total_cmp);
    if values.len() * (values.len() + 1) / 2 % 2 == 1 {
        return Some(upper);
    }
    let lower = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((lower + upper) / 2.0)
}

/// Computes the same without the means in memory: the mean of the median's rank is found by bisection, counting the
/// means below.
fn median_of_many_means(values: &[f64]) -> f64 {
    let mut rising = values.to_vec();
    rising.sort_by(f64::total_cmp);
    let count = rising.len() * (rising.len() + 1) / 2;
    let upper = mean_of_rank(&rising, count / 2);
    if count % 2 == 1 { upper } else { (mean_of_rank(&rising, count / 2 - 1) + upper) / 2.0 }
}

/// Returns the mean of pairs with a given rank. A mean never falls when one of its two values rises, rounded or not.
fn mean_of_rank(rising: &[f64], rank: usize) -> f64 {
    let (mut low, mut high) = (order_of(rising[0]), order_of(rising[rising.len() - 1]));
    while low < high {
        // Rounded down, also below zero.
        let middle = (low & high) + ((low ^ high) >> 1);
        if means_up_to(rising, value_of(middle)) > rank { high = middle } else { low = middle + 1 }
    }
    value_of(low)
}

/// Counts the means of pairs that are at most `limit`.
fn means_up_to(rising: &[f64], limit: f64) -> usize {
    let mut end = rising.len();
    let mut count = 0;
    for (place, a) in rising.iter().enumerate() {
        while end > place && f64::total_cmp(&((a + rising[end - 1]) / 2.0), &limit).is_gt() {
            end -= 1;
        }
        if end == place {
            break;
        }
        count += end - place;
    }
    count
}

/// Returns the place of a number in the order of `total_cmp`.
fn order_of(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Returns the number at a place: the inverse of [`order_of`].
fn value_of(order: i64) -> f64 {
    f64::from_bits((order ^ ((order >> 63).cast_unsigned() >> 1).cast_signed()).cast_unsigned())
}

/// Returns the effect of a candidate, each end of its interval at the error rate; `None` without outcomes, or if most
/// of them failed: two that failed alike are no equal runs.
pub fn estimate_effect(
    question: &PlacementQuestion,
    outcomes: &[BlockOutcome],
    error_rate: f64,
) -> Option<BaselineEffect> {
    let estimate = EffectEstimate::from_outcomes(question, outcomes)?.value;
    let has_ended = |outcome: &BlockOutcome| outcome.candidate.is_some() || outcome.baseline.is_some();
    if estimate.abs() >= LARGEST || !outcomes.iter().any(has_ended) {
        return None;
    }
    let enough = 1.0 / error_rate;
    let excluded_below = |theta: f64| collect_evidence(question, outcomes, theta).above().current_wealth() >= enough;
    let excluded_above = |theta: f64| collect_evidence(question, outcomes, theta).below().current_wealth() >= enough;
    let mut low = search_bound(estimate, -1.0, excluded_below);
    let mut high = search_bound(estimate, 1.0, excluded_above);
    // A candidate that is proven better than the baseline is better than every worse candidate: the interval agrees
    // with the test.
    if low.is_some_and(|low| low < 0.0) && excluded_below(0.0) {
        low = Some(0.0);
    }
    if high.is_some_and(|high| high > 0.0) && excluded_above(0.0) {
        high = Some(0.0);
    }
    Some(BaselineEffect { estimate, low, high })
}

fn collect_evidence(question: &PlacementQuestion, outcomes: &[BlockOutcome], theta: f64) -> EffectEvidence {
    let mut evidence = EffectEvidence::for_question(question, theta);
    for outcome in outcomes {
        evidence.add_outcome(outcome);
    }
    evidence
}

/// Returns the end of the interval in one direction: every step beyond it is excluded. `None` if even the farthest step
/// is not.
fn search_bound(estimate: f64, direction: f64, excluded: impl Fn(f64) -> bool) -> Option<f64> {
    let at = |distance: f64| estimate + direction * distance;
    let mut steps = vec![FIRST_STEP];
    while steps[steps.len() - 1] < FARTHEST {
        steps.push(steps[steps.len() - 1] * GROWTH);
    }
    let possible = steps.iter().rposition(|step| !excluded(at(*step)));
    let (mut inside, mut outside) = match possible {
        Some(last) => (steps[last], *steps.get(last + 1)?),
        None => (0.0, steps[0]),
    };
    for _ in 0..HALVINGS {
        let middle = (inside + outside) / 2.0;
        if excluded(at(middle)) {
            outside = middle;
        } else {
            inside = middle;
        }
    }
    Some(at(outside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::random::RandomGenerator;

    #[test]
    fn the_median_of_many_means_is_that_of_all_in_memory() {
        let mut random = RandomGenerator::new(1);
        for count in [1, 2, 3, 40, 41, 700] {
            let noise: Vec<f64> = (0..count).map(|_| random.next_normal()).collect();
            let coarse: Vec<f64> = noise.iter().map(|value| (value * 4.0).round() / 4.0).collect();
            let wide: Vec<f64> = noise.iter().map(|value| value * 10_f64.powf(20.0 * value)).collect();
            for values in [noise, coarse, wide, vec![-0.5; count]] {
                assert_eq!(Some(median_of_many_means(&values)), median_of_means(&values), "{count}");
            }
        }
    }
}
