//! Sums over the pairs of runs of a candidate, as they are: what a reader adds up from the stored runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::BlockOutcome;
use crate::order::median;

/// Totals over the whole blocks of a candidate: no run is capped, and nothing is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedRuns {
    /// Number of whole blocks with a run of the candidate: each has one of the baseline.
    pub pairs: u32,
    /// Number of pairs in which the candidate's run is better; a failed run is worse than any other.
    pub better: u32,
    /// Number of pairs in which both are equal.
    pub equal: u32,
    /// Number of the candidate's runs that failed or were slow: above the policy's multiple of the baseline's median.
    pub slow: u32,
    /// Number of pairs in which both runs finished.
    pub finished: u32,
    /// Mean of the candidate's runs in these, then the baseline's, as [`super::BlockRun::x`]: the logarithm of the mean
    /// of `exp(x)`. For a rate, `exp(x)` is the time of one unit, so this is the harmonic mean. `None` without any.
    pub means: Option<[f64; 2]>,
}

impl PairedRuns {
    /// Adds up the outcomes; a run is slow above `slow` times the baseline's median.
    pub(super) fn from_outcomes(outcomes: &[BlockOutcome], slow: f64) -> Self {
        let count =
            |is: &dyn Fn(f64) -> bool| outcomes.iter().filter(|pair| is(pair.logarithmic_gain())).count() as u32;
        let finished: Vec<[f64; 2]> =
            outcomes.iter().filter_map(|pair| Some([pair.candidate?, pair.baseline?])).collect();
        let limit = slow.ln() + median(&outcomes.iter().filter_map(|pair| pair.baseline).collect::<Vec<f64>>());
        let is_slow = |pair: &&BlockOutcome| pair.candidate.is_none_or(|x| x > limit);
        Self {
            pairs: outcomes.len() as u32,
            better: count(&|gain| gain > 0.0),
            equal: count(&|gain| gain == 0.0),
            slow: outcomes.iter().filter(is_slow).count() as u32,
            finished: finished.len() as u32,
            means: (!finished.is_empty()).then(|| [0, 1].map(|side| log_mean_exp(finished.iter().map(|x| x[side])))),
        }
    }

    /// Returns the largest share of slow runs that the pairs do not exclude at an error rate, exact at one look; `None` if
    /// a slow run was seen.
    pub fn unseen_slow_share(&self, error_rate: f64) -> Option<f64> {
        (self.slow == 0 && self.pairs > 0).then(|| 1.0 - error_rate.powf(1.0 / f64::from(self.pairs)))
    }

    /// Returns the candidate's advantage in all finished runs together, a difference of logarithms.
    pub fn total_gain(&self) -> Option<f64> {
        self.means.map(|[candidate, baseline]| baseline - candidate)
    }
}

/// Returns the logarithm of the mean of `exp(x)`; no number overflows.
fn log_mean_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let count = values.clone().count() as f64;
    greatest + (values.map(|x| (x - greatest).exp()).sum::<f64>() / count).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_are_those_of_the_pairs_as_they_are() {
        let pair = |candidate: Option<f64>, baseline: Option<f64>| {
            BlockOutcome::from_pair(candidate.map(f64::ln), baseline.map(f64::ln))
        };
        let outcomes = [
            pair(Some(1.0), Some(2.0)),
            pair(Some(9.0), Some(2.0)),
            pair(Some(2.5), Some(2.5)),
            pair(None, Some(2.0)),
            pair(Some(5.0), None),
        ];
        let found = PairedRuns::from_outcomes(&outcomes, 1.5);
        assert_eq!([found.pairs, found.better, found.equal, found.finished], [5, 2, 1, 3]);
        // 12.5 s against 6.5 s, no run is capped.
        let [candidate, baseline] = found.means.unwrap().map(f64::exp);
        assert!((candidate - 12.5 / 3.0).abs() < 1e-12 && (baseline - 6.5 / 3.0).abs() < 1e-12, "{found:?}");
        assert!((found.total_gain().unwrap() - (6.5_f64 / 12.5).ln()).abs() < 1e-12);
        // 9 s and 5 s are more than 1.5 times 2 s, and one failed.
        assert_eq!((found.slow, found.unseen_slow_share(0.05)), (3, None));
        assert_eq!(PairedRuns::from_outcomes(&[], 1.5), PairedRuns::default());
    }

    #[test]
    fn few_runs_do_not_exclude_slow_ones() {
        let of = |pairs: usize| {
            let all = vec![BlockOutcome::from_pair(Some(0.0), Some(0.0)); pairs];
            PairedRuns::from_outcomes(&all, 1.5).unseen_slow_share(0.05)
        };
        assert_eq!(of(0), None);
        assert!((of(5).unwrap() - 0.451).abs() < 0.001 && (of(60).unwrap() - 0.049).abs() < 0.001);
    }

    #[test]
    fn no_value_is_too_large_for_a_mean() {
        let huge = PairedRuns::from_outcomes(&[BlockOutcome::from_pair(Some(709.0), Some(-708.0)); 4], 1.5);
        assert_eq!(huge.means, Some([709.0, -708.0]));
    }
}
