//! Guards: metrics that must not get worse when another gets better. The absence of evidence is no proof: a guard passes
//! when its typical run and its slow runs are proven not to be worse by the margin of guards, and its mean does not look
//! worse by it.

use super::{Trial, TrialMetric, block_of};
use corewise_statistics::experiment::{
    BlockOutcome, BlockRun, EffectEstimate, EffectEvidence, GuardAnswer, GuardStanding, GuardVerdict, JudgingPolicy,
    QuestionKind, RunBlock, closed_test, estimate_effect, find_usual,
};

/// The share of the error rate for candidates that were in the first block that counts. The rest is for candidates
/// that are taken up again later.
const SHARE_OF_FIRST: f64 = 0.75;

/// Evidence about every guard on every candidate.
#[derive(Clone, Debug)]
pub(super) struct GuardRecords {
    policy: JudgingPolicy,
    guards: Vec<GuardRecord>,
}

#[derive(Clone, Debug)]
struct GuardRecord {
    metric: TrialMetric,
    /// Values of the baseline in whole blocks.
    baseline: Vec<f64>,
    /// The candidates; arm 1 is the first.
    candidates: Vec<GuardCandidate>,
}

#[derive(Clone, Debug)]
struct GuardCandidate {
    outcomes: Vec<BlockOutcome>,
    /// Evidence against "worse by exactly the margin", for each of [`QuestionKind::ALL`].
    by_margin: Vec<EffectEvidence>,
    /// True if it was in the first block that counts for means and slow runs.
    is_first: bool,
}

impl GuardRecord {
    fn add_block(&mut self, block: &RunBlock) {
        let usual = find_usual(&self.baseline);
        let begins = usual.is_some() && !self.candidates.iter().any(|candidate| candidate.is_first);
        for (index, candidate) in self.candidates.iter_mut().enumerate() {
            if let Some(outcome) = block.outcome_of(index + 1, usual) {
                candidate.by_margin.iter_mut().for_each(|evidence| {
                    evidence.add_outcome(&outcome);
                });
                candidate.outcomes.push(outcome);
                candidate.is_first |= begins;
            }
        }
        self.baseline.extend(block.runs.iter().filter(|run| run.arm == 0).filter_map(BlockRun::finite_value));
    }

    /// Returns the e-values against "worse by the margin or more" in one of [`QuestionKind::ALL`], closed over all
    /// candidates: whichever of them wins, its guard passes falsely with at most the error rate.
    fn close_not_worse(&self, question: usize) -> Vec<f64> {
        let evidence: Vec<f64> = self.candidates.iter().map(|candidate| candidate.wealth_not_worse(question)).collect();
        match QuestionKind::ALL[question] {
            QuestionKind::Typical => closed_test(&evidence),
            QuestionKind::Mean | QuestionKind::Tail => self.close_late(&evidence),
        }
    }

    /// Closes evidence that begins with a later block: candidates that were given up before it need no share of the error
    /// rate, unless they are taken up again.
    fn close_late(&self, evidence: &[f64]) -> Vec<f64> {
        let all = closed_test(evidence);
        let firsts = || self.candidates.iter().map(|candidate| candidate.is_first);
        if firsts().all(|is_first| is_first) {
            return all;
        }
        let of_first: Vec<f64> =
            evidence.iter().zip(firsts()).filter(|(_, first)| *first).map(|(own, _)| *own).collect();
        let mut of_first = closed_test(&of_first).into_iter();
        let share = |(late, is_first): (f64, bool)| match is_first {
            true => SHARE_OF_FIRST * of_first.next().unwrap_or_default(),
            false => (1.0 - SHARE_OF_FIRST) * late,
        };
        all.into_iter().zip(firsts()).map(share).collect()
    }
}

impl GuardCandidate {
    fn new(policy: &JudgingPolicy) -> Self {
        let evidence = |what| EffectEvidence::for_question(&policy.guard_question(what), -policy.guard_margin_of(what));
        Self { outcomes: Vec::new(), by_margin: QuestionKind::ALL.map(evidence).to_vec(), is_first: false }
    }

    fn wealth_not_worse(&self, question: usize) -> f64 {
        self.by_margin[question].above().current_wealth()
    }

    fn wealth_worse(&self, question: usize) -> f64 {
        self.by_margin[question].below().current_wealth()
    }

    /// Returns the verdict on a question, given its closed e-value.
    fn judge_question(&self, question: usize, not_worse: f64, policy: &JudgingPolicy) -> GuardVerdict {
        let (what, enough) = (QuestionKind::ALL[question], policy.needed_evidence());
        let looks_worse = || {
            EffectEstimate::from_outcomes(&policy.guard_question(what), &self.outcomes)
                .is_some_and(|estimate| estimate.is_likely_worse(policy.guard_margin_of(what)))
        };
        match () {
            () if not_worse >= enough => GuardVerdict::NotWorse,
            () if self.wealth_worse(question) >= enough => GuardVerdict::Worse,
            () if what == QuestionKind::Mean && looks_worse() => GuardVerdict::LikelyWorse,
            () => GuardVerdict::Open,
        }
    }
}

/// Combines the verdicts on the questions, in the order of [`QuestionKind::ALL`].
fn combine_verdicts(verdicts: &[GuardVerdict]) -> GuardVerdict {
    let is_open =
        |(what, verdict): (&QuestionKind, &GuardVerdict)| *what != QuestionKind::Mean && *verdict == GuardVerdict::Open;
    match () {
        () if verdicts.contains(&GuardVerdict::Worse) => GuardVerdict::Worse,
        () if verdicts.contains(&GuardVerdict::LikelyWorse) => GuardVerdict::LikelyWorse,
        () if QuestionKind::ALL.iter().zip(verdicts).any(is_open) => GuardVerdict::Open,
        () => GuardVerdict::NotWorse,
    }
}

impl GuardRecords {
    pub(super) fn new(metrics: &[TrialMetric], candidates: usize, policy: &JudgingPolicy) -> Self {
        let guard = |metric: &TrialMetric| GuardRecord {
            metric: metric.clone(),
            baseline: Vec::new(),
            candidates: vec![GuardCandidate::new(policy); candidates],
        };
        Self { policy: policy.clone(), guards: metrics.iter().map(guard).collect() }
    }

    /// Takes the trials of a whole block into account.
    pub(super) fn add_block(&mut self, trials: &[&Trial]) {
        for (place, guard) in self.guards.iter_mut().enumerate() {
            let metric = &guard.metric;
            let block = block_of(trials, |trial| metric.judged_value(trial.guards.get(place).copied().flatten()?));
            guard.add_block(&block);
        }
    }

    /// Returns true if every guard of a candidate passes.
    pub(super) fn all_pass(&self, arm: usize) -> bool {
        self.guards.iter().all(|guard| self.guard_verdict(guard, arm) == GuardVerdict::NotWorse)
    }

    /// Returns true if one of them is proven to be worse.
    pub(super) fn is_worse(&self, arm: usize) -> bool {
        let enough = self.policy.needed_evidence();
        // All candidates are evaluated only if this one alone looks worse.
        let looks_worse = |guard: &&GuardRecord| {
            let candidate = &guard.candidates[arm - 1];
            (0..QuestionKind::ALL.len()).any(|question| candidate.wealth_worse(question) >= enough)
        };
        self.guards.iter().filter(looks_worse).any(|guard| self.guard_verdict(guard, arm) == GuardVerdict::Worse)
    }

    fn guard_verdict(&self, guard: &GuardRecord, arm: usize) -> GuardVerdict {
        let judge = |question: usize| {
            let not_worse = guard.close_not_worse(question)[arm - 1];
            guard.candidates[arm - 1].judge_question(question, not_worse, &self.policy)
        };
        combine_verdicts(&(0..QuestionKind::ALL.len()).map(judge).collect::<Vec<_>>())
    }

    /// Returns the standing of every guard on every candidate.
    pub(super) fn guard_standings(&self) -> Vec<GuardStanding> {
        let standings = |(number, guard): (usize, &GuardRecord)| {
            (1..=guard.candidates.len()).map(|arm| self.guard_standing(number, guard, arm)).collect::<Vec<_>>()
        };
        self.guards.iter().enumerate().flat_map(standings).collect()
    }

    fn guard_standing(&self, number: usize, guard: &GuardRecord, arm: usize) -> GuardStanding {
        let candidate = &guard.candidates[arm - 1];
        let answer = |(question, what): (usize, QuestionKind)| {
            let not_worse = guard.close_not_worse(question)[arm - 1];
            GuardAnswer {
                what,
                effect: estimate_effect(&self.policy.guard_question(what), &candidate.outcomes, self.policy.error_rate),
                e_not_worse_by_margin: not_worse,
                e_worse_by_margin: candidate.wealth_worse(question),
                verdict: candidate.judge_question(question, not_worse, &self.policy),
            }
        };
        let answers: Vec<GuardAnswer> = QuestionKind::ALL.into_iter().enumerate().map(answer).collect();
        let verdicts: Vec<GuardVerdict> = answers.iter().map(|answer| answer.verdict).collect();
        GuardStanding { guard: number, arm, answers, verdict: combine_verdicts(&verdicts) }
    }
}
