//! The level of a number in one session of measuring, with the uncertainty that another session would bring.
//!
//! Values of one session vary from round to round, and slowly: the machine warms up, a neighbour comes. What is slow does
//! not average out over the rounds, and the next session begins elsewhere. So the uncertainty of a level has two parts,
//! both from the session's own values:
//!
//! - **rounds**: the error of the median by what successive rounds differ;
//! - **drift**: what the medians of the session's quarters vary beyond that. Between two sessions a number is taken to
//!   drift like a random walk that is as quick as within them: with a variance of twice that of the quarters' medians
//!   for each session, known with [`DRIFT_FREEDOM`] degrees of freedom for each session.
//!
//! A drift that no session shows within itself, such as that of the room's temperature over the day, is a change.

use crate::normal::two_sided_deviate;
use crate::order::{VARIANCE_OF_MEDIAN, median, median_deviation};
use crate::student::t_value;

/// Number of parts of a session.
const PARTS: usize = 4;
/// Minimum number of rounds of a session: two in each part.
pub const ROUNDS_ENOUGH: usize = 2 * PARTS;
/// Degrees of freedom of the drift for each session: of three, since the quarters of a random walk move together.
const DRIFT_FREEDOM: f64 = 2.0;
/// Variance between sessions over that between quarters, for a random walk that begins where the other session did.
const DRIFT_GROWTH: f64 = 2.0;
/// Smallest share of the quarters' variance that counts as drift: chance may hide the rest.
const LEAST_DRIFT: f64 = 0.25;

/// The uncertainty of a number's median over a session's rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionLevel {
    /// Variance of the median by the rounds' noise.
    rounds_variance: f64,
    /// Variance of the quarters' medians beyond that noise.
    drift_variance: f64,
}

impl SessionLevel {
    /// Computes the levels of one quantity on several cpus from the logarithms of their values in order of time; `None` for a cpu with too
    /// few of them. A cpu's variances are its own, or the medians over all cpus if these are larger.
    pub fn from_series(series: &[Vec<f64>]) -> Vec<Option<Self>> {
        let alone: Vec<Option<Self>> = series.iter().map(|values| Self::from_values(values)).collect();
        let middle = |part: fn(&Self) -> f64| median(&alone.iter().flatten().map(part).collect::<Vec<f64>>());
        let (rounds, drift) = (middle(|level| level.rounds_variance), middle(|level| level.drift_variance));
        let widen = |level: Self| Self {
            rounds_variance: level.rounds_variance.max(rounds),
            drift_variance: level.drift_variance.max(drift),
        };
        alone.into_iter().map(|level| level.map(widen)).collect()
    }

    fn from_values(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count < ROUNDS_ENOUGH {
            return None;
        }
        let part = |part: usize| median(&values[part * count / PARTS..(part + 1) * count / PARTS]);
        let parts: Vec<f64> = (0..PARTS).map(part).collect();
        let mean = parts.iter().sum::<f64>() / PARTS as f64;
        let of_parts = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (PARTS - 1) as f64;
        // Successive rounds differ by twice the variance of one, and hardly by the drift.
        let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let of_round = VARIANCE_OF_MEDIAN * median_deviation(&steps).powi(2) / 2.0;
        let by_chance = of_round * PARTS as f64 / count as f64;
        Some(Self {
            rounds_variance: of_round / count as f64,
            drift_variance: (of_parts - by_chance).max(LEAST_DRIFT * of_parts),
        })
    }

    /// Returns the reach of the interval around the level, with an error rate of `alpha`; `selected` levels of which the
    /// most extreme was chosen count as that many.
    pub fn reach(self, alpha: f64, selected: usize) -> f64 {
        reach(&[self], alpha, selected)
    }

    /// Returns the same for the difference to the level of another session.
    pub fn reach_to(self, other: Self, alpha: f64, selected: usize) -> f64 {
        reach(&[self, other], alpha, selected)
    }
}

/// The cpus share most of the drift, so choosing among them does not choose the drift.
fn reach(levels: &[SessionLevel], alpha: f64, selected: usize) -> f64 {
    let rounds: f64 = levels.iter().map(|level| level.rounds_variance).sum();
    let drift: f64 = levels.iter().map(|level| level.drift_variance).sum();
    let of_rounds = two_sided_deviate(alpha / selected.max(1) as f64);
    let of_drift = t_value(two_sided_deviate(alpha), DRIFT_FREEDOM * levels.len() as f64);
    (of_rounds.powi(2) * rounds + of_drift.powi(2) * DRIFT_GROWTH * drift).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::random::RandomGenerator;

    /// Rounds of a random walk with noise, from 0 in every session.
    fn walk(step: f64, noise: f64, rounds: usize, random: &mut RandomGenerator) -> Vec<f64> {
        let mut level = 0.0;
        (0..rounds)
            .map(|_| {
                level += step * random.next_normal();
                level + noise * random.next_normal()
            })
            .collect()
    }

    /// Whatever the share of the drift, the interval of a session and of the difference of two holds the truth in 94 %.
    #[test]
    fn intervals_hold_with_and_without_drift() {
        let mut random = RandomGenerator::new(1);
        for (step, noise, rounds) in [(0.0, 1.0, 24), (0.1, 1.0, 24), (0.3, 1.0, 24), (1.0, 0.1, 24), (0.3, 1.0, 8)] {
            let (mut alone, mut between) = (0, 0);
            for _ in 0..1000 {
                let sessions = [0, 1].map(|_| walk(step, noise, rounds, &mut random));
                let levels = sessions.each_ref().map(|values| SessionLevel::from_values(values).unwrap());
                let medians = sessions.map(|values| median(&values));
                alone += usize::from(medians[0].abs() <= levels[0].reach(0.05, 1));
                let reach = levels[0].reach_to(levels[1], 0.05, 1);
                between += usize::from((medians[0] - medians[1]).abs() <= reach);
            }
            assert!(alone >= 940 && between >= 940, "step {step}, {rounds} rounds: {alone} and {between} of 1000");
        }
    }

    #[test]
    fn a_cpu_is_at_least_as_uncertain_as_most() {
        let steady = vec![0.0; 8];
        let varying: Vec<f64> = (0..8).map(|round| f64::from(round % 3)).collect();
        let levels = SessionLevel::from_series(&[steady.clone(), varying.clone(), varying]);
        assert_eq!(levels[0], levels[1]);
        assert_eq!(SessionLevel::from_series(&[steady, vec![0.0; 7]])[1], None);
    }
}
