//! Guards: metrics that must not get worse when another gets better. The absence of evidence is no proof; a guard
//! passes when it is proven not to be worse by the margin of guards.

use super::{Trial, TrialMetric, block_of};
use crate::experiment::{
    BlockOutcome, EffectEvidence, GuardStanding, GuardVerdict, JudgingPolicy, PlacementQuestion, closed_test,
    estimate_effect,
};

/// Evidence about every guard on every candidate.
#[derive(Clone, Debug)]
pub(super) struct GuardRecords {
    policy: JudgingPolicy,
    guards: Vec<GuardRecord>,
}

#[derive(Clone, Debug)]
struct GuardRecord {
    metric: TrialMetric,
    /// The candidates; arm 1 is the first.
    candidates: Vec<GuardCandidate>,
}

#[derive(Clone, Debug)]
struct GuardCandidate {
    outcomes: Vec<BlockOutcome>,
    /// Evidence against "worse by exactly the margin".
    by_margin: EffectEvidence,
}

impl GuardRecord {
    /// Returns the e-values against "worse by the margin or more", closed over all candidates: whichever of them wins,
    /// its guard passes falsely with at most the error rate.
    fn not_worse(&self) -> Vec<f64> {
        closed_test(
            &self.candidates.iter().map(|candidate| candidate.by_margin.above().current_wealth()).collect::<Vec<f64>>(),
        )
    }
}

impl GuardRecords {
    pub(super) fn new(metrics: &[TrialMetric], candidates: usize, policy: &JudgingPolicy) -> Self {
        let by_margin = EffectEvidence::new(-(1.0 + policy.guard_margin).ln());
        let candidate = GuardCandidate { outcomes: Vec::new(), by_margin };
        let guard = |metric: &TrialMetric| GuardRecord {
            metric: metric.clone(),
            candidates: vec![candidate.clone(); candidates],
        };
        Self { policy: policy.clone(), guards: metrics.iter().map(guard).collect() }
    }

    /// Takes the trials of a whole block into account.
    pub(super) fn add_block(&mut self, trials: &[&Trial]) {
        for (place, guard) in self.guards.iter_mut().enumerate() {
            let metric = &guard.metric;
            let block = block_of(trials, |trial| metric.judged_value(trial.guards.get(place).copied().flatten()?));
            for (index, candidate) in guard.candidates.iter_mut().enumerate() {
                if let Some(outcome) = block.outcome_of(index + 1, None) {
                    candidate.by_margin.add_outcome(&outcome);
                    candidate.outcomes.push(outcome);
                }
            }
        }
    }

    /// Returns the verdicts on the guards of a candidate, in their order.
    pub(super) fn guard_verdicts(&self, arm: usize) -> impl Iterator<Item = GuardVerdict> + '_ {
        self.guards.iter().map(move |guard| self.guard_verdict(&guard.candidates[arm - 1], guard.not_worse()[arm - 1]))
    }

    /// Returns true if one of them is proven to be worse.
    pub(super) fn is_worse(&self, arm: usize) -> bool {
        // All candidates are evaluated only if this one alone looks worse.
        let looks_worse = |guard: &GuardRecord| {
            guard.candidates[arm - 1].by_margin.below().current_wealth() >= self.policy.needed_evidence()
        };
        self.guards.iter().any(looks_worse) && self.guard_verdicts(arm).any(|verdict| verdict == GuardVerdict::Worse)
    }

    fn guard_verdict(&self, candidate: &GuardCandidate, not_worse: f64) -> GuardVerdict {
        let enough = self.policy.needed_evidence();
        match () {
            () if not_worse >= enough => GuardVerdict::NotWorse,
            () if candidate.by_margin.below().current_wealth() >= enough => GuardVerdict::Worse,
            () => GuardVerdict::Open,
        }
    }

    /// Returns the standing of every guard on every candidate.
    pub(super) fn guard_standings(&self) -> Vec<GuardStanding> {
        let of = |(guard, found): (usize, &GuardRecord)| {
            let candidates = found.candidates.iter().zip(found.not_worse()).enumerate();
            let standing = |(index, (candidate, not_worse)): (usize, (&GuardCandidate, f64))| GuardStanding {
                guard,
                arm: index + 1,
                effect: estimate_effect(&PlacementQuestion::TYPICAL, &candidate.outcomes, self.policy.error_rate),
                e_not_worse_by_margin: not_worse,
                e_worse_by_margin: candidate.by_margin.below().current_wealth(),
                verdict: self.guard_verdict(candidate, not_worse),
            };
            candidates.map(standing).collect::<Vec<_>>()
        };
        self.guards.iter().enumerate().flat_map(of).collect()
    }
}
