//! The size of an effect: its estimate, how uncertain that is, and an interval that holds at any time.

use super::evidence::Evidence;
use super::outcome::Outcome;
use super::question::{Question, What};
use super::standing::Effect;
use crate::stats::order::deviation;

/// Differences beyond this, a ratio of e^100, are those of failed runs.
const LARGEST: f64 = 100.0;
/// The interval's search: the first step from the estimate, how it grows, and how far it goes (a ratio of 3,000).
const FIRST_STEP: f64 = 0.0005;
const GROWTH: f64 = 1.5;
const FARTHEST: f64 = 8.0;
/// How often the last step is halved.
const HALVINGS: u32 = 12;

/// A difference within blocks: its estimate and a robust standard error of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) error: f64,
}

impl Estimate {
    /// What outcomes show, in the scale of a question; absent without any.
    pub(super) fn on(question: &Question, outcomes: &[Outcome]) -> Option<Self> {
        if question.what == What::Typical {
            return Self::of(&outcomes.iter().map(Outcome::gain).collect::<Vec<f64>>());
        }
        let costs: Vec<[f64; 2]> = outcomes.iter().filter_map(|outcome| question.costs(outcome)).collect();
        if costs.is_empty() {
            return None;
        }
        let [candidate, baseline] = mean_costs(&costs);
        Some(match question.what {
            What::Tail => {
                let apart = costs.iter().filter(|[candidate, baseline]| candidate != baseline).count() as f64;
                // One more, as none so far does not mean none ever.
                Self { value: baseline - candidate, error: (apart + 1.0).sqrt() / costs.len() as f64 }
            }
            _ => {
                let [candidate, baseline] = [candidate, baseline].map(|mean| mean.max(LEAST_COST));
                let squares = costs.iter().map(|costs| (costs[1] / baseline - costs[0] / candidate).powi(2));
                let count = costs.len() as f64;
                // As that of the typical run: few values vary too little.
                let error = (1.0 + 1.0 / count) * squares.sum::<f64>().sqrt() / count;
                Self { value: (baseline / candidate).ln(), error }
            }
        })
    }

    /// Hodges and Lehmann's estimate (the median of all means of two) and the error from the median absolute deviation;
    /// absent for no differences.
    pub(super) fn of(differences: &[f64]) -> Option<Self> {
        let value = hodges_lehmann(differences)?;
        let count = differences.len() as f64;
        // The deviations of few values from their own median are too small.
        let correction = 1.0 + 1.0 / count;
        Some(Self { value, error: correction * deviation(differences) / count.sqrt() })
    }
}

/// Means below this are those of values that are all zero.
const LEAST_COST: f64 = 1e-12;

/// The mean costs, the candidate's first.
pub(super) fn mean_costs(costs: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|side| costs.iter().map(|pair| pair[side]).sum::<f64>() / costs.len() as f64)
}

/// The median of the means of all pairs, each value with itself too.
pub(super) fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
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

/// The effect that a candidate's outcomes show, each end of its interval at the error rate; absent without any, or where most of them failed.
pub(crate) fn effect(question: &Question, outcomes: &[Outcome], error_rate: f64) -> Option<Effect> {
    let estimate = Estimate::on(question, outcomes)?.value;
    if estimate.abs() >= LARGEST {
        return None;
    }
    let enough = 1.0 / error_rate;
    let excluded_below = |theta: f64| evidence(question, outcomes, theta).above().now() >= enough;
    let excluded_above = |theta: f64| evidence(question, outcomes, theta).below().now() >= enough;
    let mut low = bound(estimate, -1.0, excluded_below);
    let mut high = bound(estimate, 1.0, excluded_above);
    // Whoever is proven better than the baseline is better than every worse candidate: the interval agrees with the test.
    if low.is_some_and(|low| low < 0.0) && excluded_below(0.0) {
        low = Some(0.0);
    }
    if high.is_some_and(|high| high > 0.0) && excluded_above(0.0) {
        high = Some(0.0);
    }
    Some(Effect { estimate, low, high })
}

fn evidence(question: &Question, outcomes: &[Outcome], theta: f64) -> Evidence {
    let mut evidence = Evidence::on(question, theta);
    for outcome in outcomes {
        evidence.add(outcome);
    }
    evidence
}

/// The end of the interval in one direction: every step beyond it is excluded. Absent where even the farthest is not.
fn bound(estimate: f64, direction: f64, excluded: impl Fn(f64) -> bool) -> Option<f64> {
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
