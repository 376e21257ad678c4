//! Guards: metrics that must not get worse when another gets better. The absence of evidence is no proof; a guard
//! passes when it is proven not to be worse by the margin of guards.

use super::{Metric, Trial, block_of};
use crate::experiment::{Evidence, GuardStanding, GuardVerdict, Outcome, Policy, Question, closed, effect};

/// Evidence about every guard on every candidate.
#[derive(Clone, Debug)]
pub(super) struct Guards {
    policy: Policy,
    guards: Vec<Guard>,
}

#[derive(Clone, Debug)]
struct Guard {
    metric: Metric,
    /// The candidates; arm 1 is the first.
    candidates: Vec<Candidate>,
}

#[derive(Clone, Debug)]
struct Candidate {
    outcomes: Vec<Outcome>,
    /// Evidence against "worse by exactly the margin".
    by_margin: Evidence,
}

impl Guard {
    /// Returns the e-values against "worse by the margin or more", closed over all candidates: whichever of them wins,
    /// its guard passes falsely with at most the error rate.
    fn not_worse(&self) -> Vec<f64> {
        closed(&self.candidates.iter().map(|candidate| candidate.by_margin.above().now()).collect::<Vec<f64>>())
    }
}

impl Guards {
    pub(super) fn new(metrics: &[Metric], candidates: usize, policy: &Policy) -> Self {
        let by_margin = Evidence::new(-(1.0 + policy.guard_margin).ln());
        let candidate = Candidate { outcomes: Vec::new(), by_margin };
        let guard = |metric: &Metric| Guard { metric: metric.clone(), candidates: vec![candidate.clone(); candidates] };
        Self { policy: policy.clone(), guards: metrics.iter().map(guard).collect() }
    }

    /// Takes the trials of a whole block into account.
    pub(super) fn add(&mut self, trials: &[&Trial]) {
        for (place, guard) in self.guards.iter_mut().enumerate() {
            let metric = &guard.metric;
            let block = block_of(trials, |trial| metric.judged(trial.guards.get(place).copied().flatten()?));
            for (index, candidate) in guard.candidates.iter_mut().enumerate() {
                if let Some(outcome) = block.outcome(index + 1, None) {
                    candidate.by_margin.add(&outcome);
                    candidate.outcomes.push(outcome);
                }
            }
        }
    }

    /// Returns the verdicts on the guards of a candidate, in their order.
    pub(super) fn verdicts(&self, arm: usize) -> impl Iterator<Item = GuardVerdict> + '_ {
        self.guards.iter().map(move |guard| self.verdict(&guard.candidates[arm - 1], guard.not_worse()[arm - 1]))
    }

    /// Returns true if one of them is proven to be worse.
    pub(super) fn is_worse(&self, arm: usize) -> bool {
        // All candidates are evaluated only if this one alone looks worse.
        let looks_worse = |guard: &Guard| guard.candidates[arm - 1].by_margin.below().now() >= self.policy.enough();
        self.guards.iter().any(looks_worse) && self.verdicts(arm).any(|verdict| verdict == GuardVerdict::Worse)
    }

    fn verdict(&self, candidate: &Candidate, not_worse: f64) -> GuardVerdict {
        let enough = self.policy.enough();
        match () {
            () if not_worse >= enough => GuardVerdict::NotWorse,
            () if candidate.by_margin.below().now() >= enough => GuardVerdict::Worse,
            () => GuardVerdict::Open,
        }
    }

    /// Returns the standing of every guard on every candidate.
    pub(super) fn standings(&self) -> Vec<GuardStanding> {
        let of = |(guard, found): (usize, &Guard)| {
            let candidates = found.candidates.iter().zip(found.not_worse()).enumerate();
            let standing = |(index, (candidate, not_worse)): (usize, (&Candidate, f64))| GuardStanding {
                guard,
                arm: index + 1,
                effect: effect(&Question::TYPICAL, &candidate.outcomes, self.policy.error_rate),
                e_not_worse_by_margin: not_worse,
                e_worse_by_margin: candidate.by_margin.below().now(),
                verdict: self.verdict(candidate, not_worse),
            };
            candidates.map(standing).collect::<Vec<_>>()
        };
        self.guards.iter().enumerate().flat_map(of).collect()
    }
}
