//! The shape of what was measured: means beside medians, worst deciles, and modes.

use super::evidence::Outcome;
use crate::stats::order::quantile;

/// Fewer runs than this have one mode.
const FEWEST: usize = 10;
/// The smaller mode has at least this share of the runs.
const SMALLER: f64 = 0.2;
/// Ashman's D between the halves of the best split, from which on there are two modes. The halves of a normal
/// distribution have 2.65, those of a uniform one 3.46.
const SEPARATION: f64 = 4.5;

/// The metrics of a candidate and of the baseline in the same blocks, without the failed runs, over the same unit.
pub(super) struct Means {
    candidate: Vec<f64>,
    baseline: Vec<f64>,
}

impl Means {
    /// Absent where one of them always failed.
    pub(super) fn of(outcomes: &[Outcome]) -> Option<Self> {
        // One unit for all, so that no exponential overflows.
        let unit = outcomes.iter().find_map(|outcome| outcome.baseline)?;
        let metric = |x: f64| (x - unit).exp();
        let candidate: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.candidate).map(metric).collect();
        let baseline: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.baseline).map(metric).collect();
        (!candidate.is_empty()).then_some(Self { candidate, baseline })
    }

    /// The baseline's mean metric over the candidate's; above 1: the candidate is better.
    pub(super) fn ratio(&self) -> f64 {
        mean(&self.baseline) / mean(&self.candidate)
    }

    /// The same for the metric that nine in ten runs stay below.
    pub(super) fn ratio_of_worst_deciles(&self) -> f64 {
        quantile(&self.baseline, 0.9) / quantile(&self.candidate, 0.9)
    }

    /// Whether the candidate's mean is worse than the baseline's, with each one's worst run and without.
    pub(super) fn disagree(&self) -> bool {
        let (candidate, baseline) = (without_worst(&self.candidate), without_worst(&self.baseline));
        let rest = !candidate.is_empty() && !baseline.is_empty();
        rest && self.ratio() < 1.0 && mean(&candidate) > mean(&baseline)
    }

    /// Whether the candidate's mean is worse by two standard errors.
    pub(super) fn surely(&self) -> bool {
        let ((count, middle, variance), (other_count, other, other_variance)) =
            (moments(&self.candidate), moments(&self.baseline));
        middle - other > 2.0 * (variance / count + other_variance / other_count).sqrt()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn without_worst(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.pop();
    values
}

/// How many modes values have: 2 where the split into two groups with the least variance within (Otsu) leaves groups that
/// are far apart.
pub(super) fn modes(values: &[f64]) -> u32 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let fewest = ((SMALLER * sorted.len() as f64).ceil() as usize).max(2);
    if sorted.len() < FEWEST {
        return 1;
    }
    let split = (fewest..=sorted.len() - fewest).map(|at| sorted.split_at(at));
    let best = split.map(|(low, high)| (moments(low), moments(high))).min_by(|a, b| within(a).total_cmp(&within(b)));
    best.map_or(1, |(low, high)| 1 + u32::from(are_apart(&low, &high)))
}

/// Count, mean and variance.
fn moments(values: &[f64]) -> (f64, f64, f64) {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
    (values.len() as f64, middle, squares / values.len() as f64)
}

fn within((low, high): &((f64, f64, f64), (f64, f64, f64))) -> f64 {
    low.0 * low.2 + high.0 * high.2
}

fn are_apart(low: &(f64, f64, f64), high: &(f64, f64, f64)) -> bool {
    let distance = high.1 - low.1;
    distance > SEPARATION * ((low.2 + high.2) / 2.0).sqrt()
}
