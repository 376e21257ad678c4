//! Failures: the evidence that a candidate fails more often than the baseline, and the rates that runs without a failure
//! exclude.
//!
//! Blocks in which exactly one of the two failed are bet on. The order of a block is drawn, so if the placement does not
//! matter, the failing run was the candidate's with probability 1/2.

use super::evidence::EffectEvidence;
use super::outcome::BlockOutcome;
use super::{JudgingPolicy, QuestionKind};

/// Stakes of the bets, each with its share of the wealth at the start. Five such blocks in a row prove it.
const STAKES: [(f64, f64); 2] = [(0.97, 0.7), (0.4, 0.3)];

/// The evidence that a candidate fails more often than the baseline.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FailureEvidence {
    bets: [f64; STAKES.len()],
    /// Evidence against "fails more often by exactly the margin of guards": a failed run is like a guard's slow run.
    by_margin: EffectEvidence,
    /// Failures in whole blocks: the candidate's, and the baseline's.
    pub(super) counts: [u32; 2],
}

impl FailureEvidence {
    /// Starts without evidence.
    pub(super) fn new(policy: &JudgingPolicy) -> Self {
        let (question, margin) =
            (policy.guard_question(QuestionKind::Tail), policy.guard_margin_of(QuestionKind::Tail));
        let by_margin = EffectEvidence::for_question(&question, -margin);
        Self { bets: STAKES.map(|(_, share)| share), by_margin, counts: [0; 2] }
    }

    /// Takes a block into account.
    pub(super) fn add_outcome(&mut self, outcome: &BlockOutcome) {
        let failed = [outcome.candidate.is_none(), outcome.baseline.is_none()];
        self.counts.iter_mut().zip(failed).for_each(|(count, failed)| *count += u32::from(failed));
        if failed[0] != failed[1] {
            let side = if failed[0] { 1.0 } else { -1.0 };
            self.bets.iter_mut().zip(STAKES).for_each(|(bet, (stake, _))| *bet *= 1.0 + side * stake);
        }
        let [candidate, baseline] = failed.map(|failed| (!failed).then_some(0.0));
        self.by_margin.add_outcome(&BlockOutcome { candidate, baseline, usual: Some(0.0) });
    }

    /// Returns the wealth now: an e-value.
    pub(super) fn current_wealth(&self) -> f64 {
        self.bets.iter().sum::<f64>().min(f64::MAX)
    }

    /// Returns the wealth against "fails more often by the margin of guards or more".
    pub(super) fn tolerance_wealth(&self) -> f64 {
        self.by_margin.above().current_wealth()
    }

    /// Returns true if the candidate failed more often than the baseline.
    pub(super) fn is_more(&self) -> bool {
        self.counts[0] > self.counts[1]
    }
}

/// Returns the rate of failures above which `runs` runs without one are less likely than the error rate. It holds at all
/// times: the bound is false only if the runs up to the first such number had no failure.
pub fn excluded_failure_rate(runs: u32, error_rate: f64) -> f64 {
    1.0 - error_rate.powf(1.0 / f64::from(runs.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(failures: &[(bool, bool)]) -> FailureEvidence {
        let mut evidence = FailureEvidence::new(&JudgingPolicy::default());
        for (candidate, baseline) in failures {
            let value = |failed: bool| (!failed).then_some(0.0);
            evidence.add_outcome(&BlockOutcome::from_pair(value(*candidate), value(*baseline)));
        }
        evidence
    }

    #[test]
    fn five_failures_of_the_candidate_alone_prove_it_and_shared_ones_nothing() {
        assert!(after(&[(true, false); 4]).current_wealth() < 20.0);
        assert!(after(&[(true, false); 5]).current_wealth() >= 20.0);
        assert_eq!(after(&[(true, true), (false, false)]).current_wealth(), 1.0);
        assert!(after(&[(true, false), (true, true)]).is_more() && !after(&[(true, true)]).is_more());
    }

    /// By which of the two failed, the mean of the wealth is the wealth before.
    #[test]
    fn the_bets_are_fair() {
        let past = [(true, false), (true, false), (false, true)];
        let with = |last| after(&past.into_iter().chain([last]).collect::<Vec<_>>()).current_wealth();
        let mean = f64::midpoint(with((true, false)), with((false, true)));
        assert!((mean / after(&past).current_wealth() - 1.0).abs() < 1e-12);
    }

    /// A tenth of the runs is excluded after 35 blocks without a failure, or 57 with a single one.
    #[test]
    fn few_failures_in_many_runs_are_tolerated() {
        let with = |failures: usize, blocks: usize| {
            let made: Vec<(bool, bool)> = (0..blocks).map(|block| (block < failures, false)).collect();
            after(&made).tolerance_wealth() >= 20.0
        };
        assert_eq!([with(0, 34), with(0, 35), with(1, 56), with(1, 57)], [false, true, false, true]);
    }

    #[test]
    fn the_excluded_rate_is_that_of_the_binomial_distribution() {
        let bound = excluded_failure_rate(14, 0.05);
        assert!((bound - 0.1926).abs() < 1e-4 && ((1.0 - bound).powi(14) - 0.05).abs() < 1e-12, "{bound}");
    }
}
