//! A difference that sits in a part of the runs: the typical runs may be equal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JudgingPolicy;
use super::evidence::EffectEvidence;
use super::outcome::BlockOutcome;
use super::question::{PlacementQuestion, QuestionKind};
use super::race::closed_test;
use super::shape::split_modes;

/// Minimum difference of the numbers of runs in the part.
const FEWEST_RUNS: u32 = 3;
/// Maximum share of all runs in which the two placements differ; beyond it the difference is that of the typical run.
const MOST_SHARE: f64 = 0.9;

/// The end of the distribution that a part of the runs is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunPart {
    /// The fast runs.
    Fast,
    /// The slow runs.
    Slow,
}

/// Two groups of runs, far apart, of which a candidate and the baseline have different shares.
///
/// The groups are chosen after the runs were seen, so sizes and shares are observations. Only `e_value` proves
/// something: that the candidate has more, or fewer, runs beyond the margin from the baseline's median.
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
    /// The e-value for "more fast runs", "fewer slow runs", or the opposite if `gain` is negative.
    pub e_value: f64,
    /// True if that is proven, with an error rate of its own.
    pub proven: bool,
}

impl PartialGain {
    /// Returns the share of the runs in which the two differ.
    pub fn differing_share(&self) -> f64 {
        f64::from(self.runs[0].abs_diff(self.runs[1])) / f64::from(self.of)
    }
}

/// Returns the partial gain of each candidate, from its outcomes; `None` if its runs and the baseline's have no two
/// groups, or are in them equally often.
pub(super) fn partial_gains(policy: &JudgingPolicy, candidates: &[&[BlockOutcome]]) -> Vec<Option<PartialGain>> {
    let found: Vec<Option<PartialGain>> = candidates.iter().map(|outcomes| observe_groups(outcomes)).collect();
    let evidence = |part: RunPart| {
        let question = policy.question_about_part(part);
        candidates.iter().map(|outcomes| collect_evidence(&question, outcomes)).collect::<Vec<EffectEvidence>>()
    };
    let judge = |(index, mut found): (usize, PartialGain)| {
        let all = evidence(found.part);
        found.e_value = match found.gain > 0.0 {
            true => closed_test(&all.iter().map(|of| of.above().current_wealth()).collect::<Vec<f64>>())[index],
            false => all[index].below().current_wealth(),
        };
        found.proven = found.e_value >= policy.needed_evidence();
        found
    };
    found.into_iter().enumerate().map(|(index, found)| found.map(|found| judge((index, found)))).collect()
}

impl JudgingPolicy {
    /// Returns the question which share of runs is not fast, or is slow: beyond the margin from the baseline's median.
    fn question_about_part(&self, part: RunPart) -> PlacementQuestion {
        let margin = self.margin_of(QuestionKind::Typical);
        self.question_about(QuestionKind::Tail).slow_from(if part == RunPart::Fast { -margin } else { margin })
    }
}

fn collect_evidence(question: &PlacementQuestion, outcomes: &[BlockOutcome]) -> EffectEvidence {
    let mut evidence = EffectEvidence::for_question(question, 0.0);
    for outcome in outcomes {
        evidence.add_outcome(outcome);
    }
    evidence
}

/// Splits the finished pairs into the two groups; nothing is proven yet.
fn observe_groups(outcomes: &[BlockOutcome]) -> Option<PartialGain> {
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
        e_value: 1.0,
        proven: false,
    };
    let is_relevant = of_candidate.abs_diff(of_baseline) >= FEWEST_RUNS && found.differing_share() < MOST_SHARE;
    (is_relevant && found.gain.is_finite()).then_some(found)
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
        let x = |arm: u32, block: u32, is_other: bool| {
            // A little noise, the same in every run of the tests.
            0.004 * f64::from((block * 7 + arm * 3) % 5) + if is_other { by } else { 0.0 }
        };
        let pair = |block| {
            let usual = (block >= 4).then_some(0.008);
            BlockOutcome {
                candidate: Some(x(1, block, candidate(block))),
                baseline: Some(x(0, block, baseline(block))),
                usual,
            }
        };
        (0..blocks).map(pair).collect()
    }

    fn found(outcomes: &[BlockOutcome]) -> Option<PartialGain> {
        partial_gains(&JudgingPolicy::default(), &[outcomes])[0]
    }

    #[test]
    fn a_gain_in_three_of_ten_runs_is_observed_before_it_is_proven() {
        let fast = |block: u32| block % 10 >= 7;
        let early = found(&pairs(10, -0.357, fast, |_| false)).unwrap();
        assert_eq!((early.part, early.runs, early.of, early.proven), (RunPart::Fast, [3, 0], 10, false));
        assert!((early.gain - 0.357).abs() < 0.02 && early.others.unwrap().abs() < 0.01, "{early:?}");
        assert!((early.differing_share() - 0.3).abs() < 1e-12);
        let late = found(&pairs(40, -0.357, fast, |_| false)).unwrap();
        assert!(late.proven && late.runs == [12, 0], "{late:?}");
    }

    #[test]
    fn slow_runs_are_a_loss_of_who_has_them_and_a_gain_of_who_has_not() {
        let slow = |block: u32| block % 10 == 9;
        let loss = found(&pairs(60, 0.7, slow, |_| false)).unwrap();
        assert_eq!((loss.part, loss.runs, loss.proven), (RunPart::Slow, [6, 0], true));
        assert!((loss.gain + 0.7).abs() < 0.02, "{loss:?}");
        let gain = found(&pairs(60, 0.7, |_| false, slow)).unwrap();
        assert!(gain.runs == [0, 6] && (gain.gain - 0.7).abs() < 0.02 && gain.proven, "{gain:?}");
    }

    #[test]
    fn what_all_runs_or_both_placements_have_is_no_part() {
        assert_eq!(found(&pairs(40, 0.3, |_| true, |_| false)), None, "a gain of all runs");
        assert_eq!(found(&pairs(40, 0.3, |block| block % 3 == 0, |block| block % 3 == 1)), None, "two modes of both");
        assert_eq!(found(&pairs(40, 0.0, |_| false, |_| false)), None);
        assert_eq!(found(&pairs(40, 0.3, |block| block < 2, |_| false)), None, "two runs are none");
        assert_eq!(found(&[]), None);
    }
}
