//! A trend over a session: a program that leaves more to do for each of its next runs.

use super::{Trial, TrialMetric, TrialOutcome};
use corewise_statistics::normal::upper_tail;
use corewise_statistics::order::median;

/// Fewest runs for a trend.
const FEWEST_RUNS: usize = 9;
/// Largest probability of a trend by chance; runs that depend on each other make it look smaller than it is.
const LARGEST_P: f64 = 0.001;
/// Smallest change from the first third to the last, of logarithms: 10 %.
const LEAST_CHANGE: f64 = 0.095;

/// A trend of the runs of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionTrend {
    /// Median of the last third of the runs over that of the first, as a difference of logarithms; above 0 is worse.
    pub worse: f64,
    /// Probability of such an order by chance, by the test of Mann and Kendall.
    pub p_value: f64,
}

/// Returns the trend of the baseline, which runs in every block; `None` if its runs are few, or in no order.
pub fn find_trend(trials: &[Trial], metric: &TrialMetric) -> Option<SessionTrend> {
    let counted = trials.iter().filter(|trial| trial.block > 0 && trial.arm == 0);
    let values: Vec<f64> = counted
        .filter_map(|trial| match trial.outcome {
            TrialOutcome::Value(value) => metric.judged_value(value),
            TrialOutcome::Failed { .. } => None,
        })
        .collect();
    if values.len() < FEWEST_RUNS {
        return None;
    }
    let third = values.len() / 3;
    let worse = median(&values[values.len() - third..]) - median(&values[..third]);
    let p_value = trend_probability(&values);
    (worse.abs() >= LEAST_CHANGE && p_value <= LARGEST_P).then_some(SessionTrend { worse, p_value })
}

/// Returns the two-sided probability of the test of Mann (1945) and Kendall, with its normal approximation and no correction for ties, which
/// makes it too large.
pub(crate) fn trend_probability(values: &[f64]) -> f64 {
    let order = |(at, value): (usize, &f64)| {
        values[at + 1..].iter().map(|later| f64::from(i8::from(later > value) - i8::from(later < value))).sum::<f64>()
    };
    let sum: f64 = values.iter().enumerate().map(order).sum();
    let n = values.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    2.0 * upper_tail((sum.abs() - 1.0).max(0.0) / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::random::RandomGenerator;

    fn trend(value: impl FnMut(usize) -> f64, runs: usize) -> Option<SessionTrend> {
        let trial = |(block, value)| Trial::new(block, 0, 0, TrialOutcome::Value(value));
        let trials: Vec<Trial> = (1..).zip((0..runs).map(value)).map(trial).collect();
        find_trend(&trials, &TrialMetric::wall_time())
    }

    #[test]
    fn growth_is_found_both_ways_and_noise_is_not() {
        let grows = trend(|run| 0.03 * 1.1_f64.powi(run as i32), 20).unwrap();
        assert!(grows.worse > 1.0 && grows.p_value < 1e-6, "{grows:?}");
        assert!(trend(|run| 2.0 - 0.05 * run as f64, 20).unwrap().worse < 0.0);
        assert_eq!(
            [trend(|run| 1.0 + run as f64, 8), trend(|run| 1.0 + 1e-4 * run as f64, 60), trend(|_| 1.0, 30)],
            [None; 3]
        );
        let mut random = RandomGenerator::new(7);
        let found = (0..500).filter(|_| trend(|_| 1.0 + random.next_below(1000) as f64 / 1000.0, 20).is_some()).count();
        assert!(found <= 3, "{found} of 500 sessions of noise");
    }
}
