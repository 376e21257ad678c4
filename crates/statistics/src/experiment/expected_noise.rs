//! Noise of a block's gain: measured in one experiment, expected in the next with the same workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::race::{PlacementRace, RaceArm};
use crate::order::{median, median_deviation};

/// Minimum number of gains of a candidate whose noise is measured.
const LEAST_GAINS: usize = 5;
/// Upper limit of a measured noise: a ratio of e.
const MOST_NOISE: f64 = 1.0;

/// Noise that an earlier experiment had. The bets' first shares are chosen for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedNoise {
    /// Standard deviation of a block's gain, a difference of logarithms; above 0.
    pub gain_deviation: f64,
    /// Number of the earlier experiment in the store, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<i64>,
}

impl ExpectedNoise {
    /// Returns true for a number that a measurement can have.
    pub fn is_possible(&self) -> bool {
        self.gain_deviation > 0.0 && self.gain_deviation <= MOST_NOISE
    }
}

impl PlacementRace {
    /// Returns the noise of a block's gain: the median over the candidates with five blocks or more of the robust standard
    /// deviation. `None` if there is no such candidate, or the noise is zero or above 1.
    pub fn measure_gain_noise(&self) -> Option<f64> {
        let found: Vec<f64> = self.arms.iter().filter_map(candidate_noise).collect();
        let noise = (!found.is_empty()).then(|| median(&found))?;
        ExpectedNoise { gain_deviation: noise, experiment: None }.is_possible().then_some(noise)
    }
}

fn candidate_noise(arm: &RaceArm) -> Option<f64> {
    let pairs = arm.outcomes.iter().filter(|outcome| outcome.candidate.is_some() && outcome.baseline.is_some());
    let gains: Vec<f64> = pairs.map(super::BlockOutcome::logarithmic_gain).collect();
    // Corrected as the error of an estimate: few values vary too little.
    (gains.len() >= LEAST_GAINS).then(|| median_deviation(&gains) * (1.0 + 1.0 / gains.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::JudgingPolicy;
    use crate::simulate::noise::RunNoise;
    use crate::simulate::{ProgramEffects, SimulatedTrials};
    use corewise_machine::random::RandomGenerator;

    fn race_of(noise: &RunNoise, failures: Vec<f64>, blocks: u32) -> PlacementRace {
        let effects = ProgramEffects { failures, ..ProgramEffects::from_gains(&[0.05, -0.02]) };
        let mut trials = SimulatedTrials::new(&effects, noise, 1);
        let policy = JudgingPolicy { least_blocks: blocks, most_failures: u32::MAX, ..JudgingPolicy::default() };
        let mut race = PlacementRace::new(2, &policy);
        for _ in 0..blocks {
            race.add_block(&trials.make_block(&race.next_block(1)));
        }
        race
    }

    #[test]
    fn the_noise_of_gains_is_that_of_two_runs() {
        let mut random = RandomGenerator::new(1);
        let white = RunNoise::Trace((0..10_007).map(|_| 0.05 * random.next_normal()).collect());
        for failures in [vec![], vec![0.05, 0.1, 0.1]] {
            let noise = race_of(&white, failures, 300).measure_gain_noise().unwrap();
            assert!((noise / (0.05 * 2.0_f64.sqrt()) - 1.0).abs() < 0.1, "{noise}");
        }
    }

    #[test]
    fn few_runs_and_constant_runs_have_no_noise() {
        assert_eq!(race_of(&RunNoise::Typical, vec![], 4).measure_gain_noise(), None);
        assert!(race_of(&RunNoise::Typical, vec![], 5).measure_gain_noise().is_some());
        assert_eq!(race_of(&RunNoise::Trace(vec![0.3]), vec![], 20).measure_gain_noise(), None);
    }
}
