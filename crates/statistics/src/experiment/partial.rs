//! A difference that sits in a part of the runs: the typical runs may be equal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::BlockOutcome;
use super::shape::split_modes;
use crate::signs::sign_test;

/// Minimum difference of the numbers of runs in the part.
const FEWEST_RUNS: u32 = 3;
/// Probability by chance below which the difference is shown; three runs against none have 0.25.
const MOST_PROBABLE: f64 = 0.3;
/// Maximum share of all runs in which the two placements differ; beyond it the difference is that of the typical run.
const MOST_SHARE: f64 = 0.6;

/// The end of the distribution that a part of the runs is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunPart {
    /// The fast runs.
    Fast,
    /// The slow runs.
    Slow,
}

/// Two groups of runs, far apart, of which a candidate and the baseline have different shares: an observation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartialGain {
    /// The smaller group.
    pub part: RunPart,
    /// Number of runs in it: the candidate's, and the baseline's.
    pub runs: [u32; 2],
    /// Number of runs of each.
    pub of: u32,
    /// Advantage of the candidate in the share of runs in which the two differ, a difference of logarithms.
    pub gain: f64,
    /// Its advantage in the other group; `None` if one of the two has no run there.
    pub others: Option<f64>,
    /// Probability of such different numbers of runs, or more, between equal placements: an exact sign test, valid at
    /// one look.
    pub p_value: f64,
}

impl PartialGain {
    /// Returns the share of the runs in which the two differ.
    pub fn differing_share(&self) -> f64 {
        f64::from(self.runs[0].abs_diff(self.runs[1])) / f64::from(self.of)
    }
}

/// Returns the partial gain of a candidate; `None` if its runs and the baseline's have no two groups, or are in them
/// about equally often.
pub(super) fn observe_partial_gain(outcomes: &[BlockOutcome]) -> Option<PartialGain> {
    let pairs: Vec<[f64; 2]> = outcomes.iter().filter_map(|pair| Some([pair.candidate?, pair.baseline?])).collect();
    let from = split_modes(&pairs.concat(), FEWEST_RUNS as usize)?;
    // Each side's mean and number of runs, in the fast group and in the slow one.
    let group = |side: usize, is_slow: bool| {
        let values: Vec<f64> = pairs.iter().map(|pair| pair[side]).filter(|x| (*x >= from) == is_slow).collect();
        (values.iter().sum::<f64>() / values.len() as f64, values.len() as u32)
    };
    let [fast, slow] = [false, true].map(|is_slow| [0, 1].map(|side| group(side, is_slow)));
    let is_slow = slow[0].1 + slow[1].1 < fast[0].1 + fast[1].1;
    let (part, inside, outside) = if is_slow { (RunPart::Slow, slow, fast) } else { (RunPart::Fast, fast, slow) };
    let [(candidate, of_candidate), (baseline, of_baseline)] = inside;
    let [(other_candidate, _), (other_baseline, _)] = outside;
    let has_more = of_candidate > of_baseline;
    let found = PartialGain {
        part,
        runs: [of_candidate, of_baseline],
        of: pairs.len() as u32,
        gain: if has_more { other_baseline - candidate } else { baseline - other_candidate },
        others: Some(other_baseline - other_candidate).filter(|gain| gain.is_finite()),
        p_value: test_shares(pairs.iter().map(|pair| pair.map(|x| (x >= from) == is_slow))),
    };
    let are_enough = of_candidate.abs_diff(of_baseline) >= FEWEST_RUNS && found.p_value < MOST_PROBABLE;
    (are_enough && found.differing_share() < MOST_SHARE && found.gain.is_finite()).then_some(found)
}

/// Returns the probability that the pairs with one run in the part are shared at least as unequally if either run of
/// each is equally likely to be the candidate's.
///
/// The groups do not depend on which run is whose. So exchanging the two of a pair leaves them as they are, and the test
/// is exact although they were chosen after the runs.
fn test_shares(in_part: impl Iterator<Item = [bool; 2]>) -> f64 {
    let (mut candidate, mut baseline) = (0_u32, 0_u32);
    for pair in in_part {
        candidate += u32::from(pair == [true, false]);
        baseline += u32::from(pair == [false, true]);
    }
    sign_test(candidate, baseline)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of runs: `candidate` and `baseline` say which of their runs are in the other group, `by` away.
    fn pairs(
        blocks: u32,
        by: f64,
        candidate: impl Fn(u32) -> bool,
        baseline: impl Fn(u32) -> bool,
    ) -> Vec<BlockOutcome> {
        // A little noise, the same in every run of the tests.
        let noise = |arm: u32, block: u32| 0.004 * f64::from((block * 7 + arm * 3) % 5);
        let x = |arm: u32, block: u32, is_other: bool| Some(noise(arm, block) + if is_other { by } else { 0.0 });
        let pair = |block| BlockOutcome::from_pair(x(1, block, candidate(block)), x(0, block, baseline(block)));
        (0..blocks).map(pair).collect()
    }

    #[test]
    fn a_gain_in_three_of_ten_runs_is_seen_with_its_chance() {
        let fast = |block: u32| block % 10 >= 7;
        let early = observe_partial_gain(&pairs(10, -0.357, fast, |_| false)).unwrap();
        assert_eq!((early.part, early.runs, early.of), (RunPart::Fast, [3, 0], 10));
        assert!((early.gain - 0.357).abs() < 0.02 && early.others.unwrap().abs() < 0.01, "{early:?}");
        assert!((early.differing_share() - 0.3).abs() < 1e-12 && (early.p_value - 0.25).abs() < 1e-12, "{early:?}");
        let late = observe_partial_gain(&pairs(40, -0.357, fast, |_| false)).unwrap();
        assert!(late.runs == [12, 0] && late.p_value < 0.001, "{late:?}");
    }

    #[test]
    fn slow_runs_are_a_loss_of_who_has_them_and_a_gain_of_who_has_not() {
        let slow = |block: u32| block % 10 == 9;
        let loss = observe_partial_gain(&pairs(60, 0.7, slow, |_| false)).unwrap();
        assert_eq!((loss.part, loss.runs), (RunPart::Slow, [6, 0]));
        assert!((loss.gain + 0.7).abs() < 0.02, "{loss:?}");
        let gain = observe_partial_gain(&pairs(60, 0.7, |_| false, slow)).unwrap();
        assert!(gain.runs == [0, 6] && (gain.gain - 0.7).abs() < 0.02, "{gain:?}");
    }

    #[test]
    fn what_all_runs_or_both_placements_have_is_no_part() {
        let found = |outcomes: &[BlockOutcome]| observe_partial_gain(outcomes);
        assert_eq!(found(&pairs(40, 0.3, |_| true, |_| false)), None, "a gain of all runs");
        assert_eq!(found(&pairs(40, 0.3, |block| block % 3 == 0, |block| block % 3 == 1)), None, "two modes of both");
        assert_eq!(found(&pairs(40, 0.0, |_| false, |_| false)), None);
        assert_eq!(found(&pairs(40, 0.3, |block| block < 2, |_| false)), None, "two runs are none");
        let often = |every: u32| move |block: u32| block.is_multiple_of(every);
        assert_eq!(found(&pairs(60, 0.3, often(3), |block| block % 4 == 1)), None, "20 against 15 is chance");
        assert_eq!(found(&[]), None);
    }
}
