//! A candidate's mean effect over several experiments: the geometric mean of its ratios, with an interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::effect::estimate_effect;
use super::outcome::BlockOutcome;
use super::question::PlacementQuestion;
use super::race::PlacementRace;
use super::standing::BaselineEffect;

/// The mean of a candidate's effects over experiments, as logarithms: the logarithm of the geometric mean of the ratios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanEffect {
    /// The mean of the estimates, and the interval that holds the mean of the true effects at any time.
    pub effect: BaselineEffect,
    /// Number of experiments.
    pub experiments: usize,
}

/// Returns the mean effect of an arm over the experiments in which it has one; `None` if there is none.
///
/// The interval is that of the means over the experiments' first blocks, second blocks and so on, as far as all of them
/// go. In each block both orders of the two were equally probable. Under "better by exactly theta_e in experiment e",
/// the mean over the experiments is therefore equally likely above and below the mean of the thetas, for any thetas.
pub fn mean_effect(races: &[&PlacementRace], arm: usize, error_rate: f64) -> Option<MeanEffect> {
    let outcomes = |race: &PlacementRace| race.arm(arm).outcomes.clone();
    let known = races.iter().filter_map(|race| {
        let outcomes = outcomes(race);
        Some((
            estimate_effect(&PlacementQuestion::TYPICAL, &outcomes, error_rate)?.estimate,
            outcomes.iter().map(BlockOutcome::logarithmic_gain).collect(),
        ))
    });
    let known: Vec<(f64, Vec<f64>)> = known.collect();
    let experiments = known.len();
    let estimate = known.iter().map(|(estimate, _)| estimate).sum::<f64>() / experiments as f64;
    let blocks = known.iter().map(|(_, gains)| gains.len()).min()?;
    let rounds: Vec<BlockOutcome> = (0..blocks)
        .map(|block| known.iter().map(|(_, gains)| gains[block]).sum::<f64>() / experiments as f64)
        .map(|gain| BlockOutcome::from_pair(Some(-gain), Some(0.0)))
        .collect();
    // Both ends together hold at the error rate.
    let ends = estimate_effect(&PlacementQuestion::TYPICAL, &rounds, error_rate / 2.0);
    // The estimate uses all blocks, the interval the blocks that all experiments have.
    let low = ends.as_ref().and_then(|ends| ends.low).map(|low| low.min(estimate));
    let high = ends.as_ref().and_then(|ends| ends.high).map(|high| high.max(estimate));
    Some(MeanEffect { effect: BaselineEffect { estimate, low, high }, experiments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{BlockRun, JudgingPolicy, RunBlock};
    use corewise_machine::random::RandomGenerator;
    use corewise_testing::count_cases;

    /// A race with this gain in each block, exactly or with normal noise of this size.
    fn race(gain: f64, noise: f64, blocks: usize, candidates: usize, random: &mut RandomGenerator) -> PlacementRace {
        let policy = JudgingPolicy { least_blocks: blocks as u32, ..JudgingPolicy::default() };
        let mut race = PlacementRace::new(candidates, &policy);
        for _ in 0..blocks {
            let runs = race.next_block(1).into_iter().map(|arm| {
                let x = noise * random.next_normal() - if arm == 0 { 0.0 } else { gain };
                BlockRun { arm, x: Some(x) }
            });
            race.add_block(&RunBlock { runs: runs.collect() });
        }
        race
    }

    #[test]
    fn the_mean_is_that_of_the_logarithms() {
        let random = &mut RandomGenerator::new(1);
        let races = [race(0.10, 0.0, 8, 1, random), race(-0.04, 0.0, 8, 1, random)];
        let mean = mean_effect(&races.iter().collect::<Vec<_>>(), 1, 0.05).unwrap();
        assert!((mean.effect.estimate - 0.03).abs() < 1e-12 && mean.experiments == 2, "{mean:?}");
        assert!(mean.effect.low.unwrap() > 0.029 && mean.effect.high.unwrap() < 0.031, "{mean:?}");
        assert!(mean_effect(&[], 1, 0.05).is_none());
    }

    #[test]
    fn few_blocks_have_no_interval_and_no_blocks_no_mean() {
        let random = &mut RandomGenerator::new(2);
        let few = mean_effect(&[&race(0.1, 0.01, 4, 1, random)], 1, 0.05).unwrap();
        assert_eq!((few.effect.low, few.effect.high), (None, None));
        assert!(mean_effect(&[&race(0.1, 0.01, 0, 1, random)], 1, 0.05).is_none());
    }

    #[test]
    fn an_experiment_in_which_the_candidate_failed_has_no_part() {
        let random = &mut RandomGenerator::new(3);
        let mut failing = PlacementRace::new(1, &JudgingPolicy::default());
        let run = |arm, x| BlockRun { arm, x };
        for _ in 0..2 {
            failing.add_block(&RunBlock { runs: vec![run(0, Some(0.0)), run(1, None)] });
        }
        let mean = mean_effect(&[&race(0.05, 0.001, 8, 1, random), &failing], 1, 0.05).unwrap();
        assert!(mean.experiments == 1 && (mean.effect.estimate - 0.05).abs() < 0.002, "{mean:?}");
    }

    /// The share of suites of ten benchmarks with effects that differ whose interval does not hold the mean of the truths, and
    /// the mean width. The expected share is at most 5 %.
    #[test]
    fn the_interval_holds_the_mean_of_different_effects() {
        let suites = count_cases(400);
        let random = &mut RandomGenerator::new(4);
        for candidates in [1, 3] {
            let (mut missed, mut width) = (0, 0.0);
            for _ in 0..suites {
                let truths: Vec<f64> = (0..10).map(|_| 0.05 * random.next_normal()).collect();
                let mean = truths.iter().sum::<f64>() / 10.0;
                let races: Vec<PlacementRace> = truths
                    .iter()
                    .map(|gain| {
                        let blocks = 8 + random.next_below(8);
                        race(*gain, 0.02, blocks, candidates, random)
                    })
                    .collect();
                let found = mean_effect(&races.iter().collect::<Vec<_>>(), 1, 0.05).unwrap().effect;
                let (low, high) = (found.low.unwrap_or(f64::NEG_INFINITY), found.high.unwrap_or(f64::INFINITY));
                missed += usize::from(!(low..=high).contains(&mean));
                width += (high - low) / suites as f64;
            }
            assert!(missed <= suites / 20, "{missed} of {suites} with {candidates} candidates");
            // One benchmark alone has an interval of 0.06 or so; ten have a third of it.
            assert!(width < 0.04, "{width} with {candidates} candidates");
        }
    }
}
