//! State of an experiment: the verdict, each arm's part in it, and the checks on the experiment itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JudgingPolicy, PairedRuns, PartialGain, QuestionKind};
use crate::quantity::QuotedQuantity;

/// Number of robust standard errors from zero at which a difference is likely.
pub(super) const LIKELY_ERRORS: f64 = 2.0;
/// Share of the margin from which a mean that is worse contradicts a winner.
const CONTRADICTING_SHARE: f64 = 0.5;

/// State of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentStanding {
    /// The answer.
    pub verdict: Verdict,
    /// The questions with answers that contradict the winner: people must weigh them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicted_by: Vec<QuestionKind>,
    /// The reasons why a winner is provisional; empty without a winner, and once it is proven to last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_points: Vec<OpenPoint>,
    /// All arms; the baseline is the first.
    pub arms: Vec<ArmStanding>,
    /// Every guard on every candidate; empty without guards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<GuardStanding>,
    /// The checks on the experiment itself.
    pub checks: ExperimentChecks,
    /// Number of blocks, including unfinished ones.
    pub blocks: u32,
    /// Number of runs, including failed ones.
    pub runs: u32,
}

/// Answer to the question which placement wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    /// A candidate is proven better than the baseline, and its estimate reaches the margin.
    Wins {
        /// The candidate; of several within the margin of the best, the first.
        arm: usize,
    },
    /// A candidate is proven better than the baseline, but by less than the margin, and none is better by more.
    RealButBelowMargin {
        /// The best of them.
        arm: usize,
    },
    /// A candidate is proven better than the baseline, but its estimate is below the margin: whether it reaches it is
    /// open.
    Better {
        /// The candidate; of several within the margin of the best, the first.
        arm: usize,
        /// Approximate number of further runs that would tell; absent if unknown.
        more_runs: Option<u32>,
    },
    /// No candidate is better than the baseline by the margin or more: leave it to the operating system. Some may be
    /// worse; the arms say which.
    NoMaterialDifference,
    /// Undecided: leave it to the operating system.
    Undecided {
        /// Approximate number of further runs that would decide it; absent if unknown.
        more_runs: Option<u32>,
    },
    /// The experiment cannot be trusted; nothing is recommended.
    Unsound {
        /// The reasons.
        why: Vec<ExperimentDoubt>,
    },
}

impl Verdict {
    /// Returns true if more runs may answer what is open.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Undecided { .. } | Self::Better { .. })
    }

    /// Returns the approximate number of further runs that would answer it; `None` if it is answered or unknown.
    pub fn more_runs(&self) -> Option<u32> {
        match self {
            Self::Undecided { more_runs } | Self::Better { more_runs, .. } => *more_runs,
            _ => None,
        }
    }
}

/// A reason not to trust an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ExperimentDoubt {
    /// The baseline failed three times or more, and in a tenth of its runs or more.
    BaselineFails {
        /// Number of failures.
        failures: u32,
    },
    /// Runs after a certain arm are slower, or faster, than runs after the others.
    CarryOver(CarryOverEffect),
    /// The metric's numbers are so coarse that a difference of half the margin would not show.
    CoarseMetric {
        /// The smallest step between two numbers, as a share of the median.
        step: f64,
    },
    /// The metric has the same value in every run, so it measures nothing.
    ConstantMetric {
        /// The value, with its line.
        run: QuotedQuantity,
    },
    /// Values of the metric differ by a large factor in runs of about the same time: one of them may be misread.
    FarApartMetric {
        /// The greatest value as a multiple of the least.
        times: f64,
        /// The least value, with its line.
        least: QuotedQuantity,
        /// The greatest value, with its line.
        greatest: QuotedQuantity,
    },
    /// A candidate makes a guard worse, and no other candidate wins.
    GuardWorse {
        /// Index of the guard in the guards of the tried workload.
        guard: usize,
        /// The candidate.
        arm: usize,
        /// The question in which it is worse.
        #[serde(default)]
        what: QuestionKind,
        /// The effect, as in [`BaselineEffect::estimate`]; negative, and below -100 if the baseline has none of it.
        estimate: f64,
    },
}

/// State of a guard on one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardStanding {
    /// Index of the guard in the guards of the tried workload.
    pub guard: usize,
    /// The candidate.
    pub arm: usize,
    /// The answers about its typical run, its mean and its slow runs.
    pub answers: Vec<GuardAnswer>,
    /// The verdict: worse or likely worse if one of the answers is, and open if the typical run or slow runs are. A
    /// mean takes hundreds of runs to prove, so an open one does not matter.
    pub verdict: GuardVerdict,
}

impl GuardStanding {
    /// Returns the answer to a question.
    pub fn find_answer(&self, what: QuestionKind) -> Option<&GuardAnswer> {
        self.answers.iter().find(|answer| answer.what == what)
    }
}

/// Answer to one question about a guard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardAnswer {
    /// The question.
    pub what: QuestionKind,
    /// Effect on the guard, relative to the baseline; negative is worse. For slow runs a difference of shares.
    pub effect: Option<BaselineEffect>,
    /// The e-value against "worse by the margin of guards or more", closed over all candidates; decides at
    /// `1 / error rate`. For slow runs the margin is a share of all runs.
    pub e_not_worse_by_margin: f64,
    /// The e-value for "worse by more than the margin of guards", on this candidate alone.
    pub e_worse_by_margin: f64,
    /// The verdict.
    pub verdict: GuardVerdict,
}

/// Verdict on a guard for one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardVerdict {
    /// Proven not to be worse by the margin of guards.
    NotWorse,
    /// Proven to be worse by more than that.
    Worse,
    /// Not proven, but the estimate of the mean is worse by the margin, and by more than chance explains.
    LikelyWorse,
    /// Nothing is proven.
    Open,
}

/// A reason why a winner is provisional.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OpenPoint {
    /// The check for carry-over could not yet see one of half the winner's effect.
    CarryOverUnseen {
        /// The smallest slowdown that it would have found, as a difference of logarithms; absent if it could not run.
        visible: Option<f64>,
    },
    /// All runs were made within less than a minute.
    ShortSpan {
        /// Time from the first run to the end of the last, in seconds.
        seconds: f64,
    },
    /// Runs over more boots were asked for.
    FewBoots {
        /// The boots so far.
        boots: u32,
        /// The number that was asked for.
        wanted: u32,
    },
}

/// Effect of an arm on the run that follows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CarryOverEffect {
    /// The arm of the runs that are affected; absent for runs of all arms.
    pub of_arm: Option<usize>,
    /// The arm that ran before them; absent for any other arm.
    pub after_arm: Option<usize>,
    /// Slowdown of these runs, as a difference of logarithms; negative: faster.
    pub slower: f64,
    /// The slowdown in standard errors.
    pub standard_errors: f64,
}

/// The checks on the experiment itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentChecks {
    /// The check for effects of a run on the next.
    pub carry_over: CarryOverCheck,
    /// Pairs of a candidate's run and the baseline's that were clamped for their distance. They count only up to the
    /// clamp.
    pub outliers: u32,
    /// Reasons for doubt that were found.
    pub doubts: Vec<ExperimentDoubt>,
}

/// Result of the check for carry-over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CarryOverCheck {
    /// There are too few runs to compare the baseline's runs after a candidate with those after the baseline.
    #[default]
    NotChecked,
    /// None was found.
    NotFound {
        /// The strongest that was looked at.
        strongest: CarryOverEffect,
        /// A slowdown of the baseline after candidates that would have been found in 5 of 6 experiments, as a difference
        /// of logarithms.
        visible: f64,
    },
    /// One is suspected: more runs will show it.
    Suspected {
        /// The strongest of them.
        strongest: CarryOverEffect,
    },
    /// One was found, and is a doubt.
    Found {
        /// The strongest of them.
        strongest: CarryOverEffect,
    },
}

/// State of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmStanding {
    /// Number of the arm; 0 is the baseline.
    pub arm: usize,
    /// Number of its runs, including failed ones.
    pub runs: u32,
    /// Number of its failed runs.
    pub failures: u32,
    /// Failures in the blocks that it was in, its own and the baseline's.
    pub paired_failures: [u32; 2],
    /// The e-value for "fails more often than the baseline", closed over all candidates: it is out at `1 / error rate`.
    pub e_fails_more: f64,
    /// The e-value against "fails more often by the margin of guards or more", a share of all runs, closed likewise: an arm
    /// with more failures than the baseline wins only at `1 / error rate`.
    pub e_fails_little: f64,
    /// Median of [`super::Run::x`] over its successful runs in whole blocks.
    pub median: Option<f64>,
    /// Effect relative to the baseline; absent for the baseline, without blocks, and if most runs failed.
    pub effect: Option<BaselineEffect>,
    /// The e-value for "better than the baseline", this arm alone; 1 for the baseline.
    pub e_better: f64,
    /// The e-value for "worse than the baseline", this arm alone.
    pub e_worse: f64,
    /// The e-value for "better", closed over all candidates: it decides, at `1 / error rate`.
    pub e_better_of_all: f64,
    /// The e-value against "better by the margin or more"; decides at `1 / error rate`.
    pub e_not_better_by_margin: f64,
    /// The e-value against "worse by the margin or more"; decides at `1 / error rate`.
    pub e_not_worse_by_margin: f64,
    /// Answers to every question, including the deciding one; the baseline has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// Totals over its pairs with the baseline; the baseline has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedRuns>,
    /// A difference that sits in a part of the runs, if one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialGain>,
    /// Number of modes of its runs: 1 or 2. Drift makes modes, too.
    pub modes: u32,
    /// The verdict on this arm alone; the baseline has none.
    pub verdict: Option<ArmVerdict>,
    /// The state: alive or out.
    pub state: ArmState,
}

impl ArmStanding {
    /// Returns the answers to other questions that contradict a win: proven to be worse, or likely so by the margin.
    pub fn conflicting_answers<'a>(&'a self, policy: &'a JudgingPolicy) -> impl Iterator<Item = &'a QuestionAnswer> {
        let is_worse = |answer: &&QuestionAnswer| match answer.verdict {
            AnswerVerdict::Worse => true,
            AnswerVerdict::Better => false,
            AnswerVerdict::Open => answer.is_likely_worse(policy.contradicting_size(answer.what)),
        };
        self.answers.iter().filter(|answer| answer.what != policy.what).filter(is_worse)
    }
}

/// Answer to one of the questions for a candidate, with evidence and an error rate of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionAnswer {
    /// The question.
    pub what: QuestionKind,
    /// The effect; for slow runs a difference of shares: 0.05 is 5 of 100 runs fewer.
    pub effect: Option<BaselineEffect>,
    /// Number of blocks that contribute.
    pub blocks: u32,
    /// Mean cost of a run, the candidate's and the baseline's: in medians of the baseline, each run up to the cap; for
    /// slow runs, their share. Absent for the typical run.
    pub costs: Option<[f64; 2]>,
    /// The robust standard error of the estimate, for effects that are likely but not proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The e-value for "better", closed over all candidates; proven at `1 / error rate`.
    pub e_better: f64,
    /// The e-value for "worse", likewise, on this candidate alone.
    pub e_worse: f64,
    /// The proven result.
    pub verdict: AnswerVerdict,
}

impl JudgingPolicy {
    /// Returns the size from which a likely loss in another question contradicts a winner: its margin. For a mean it is
    /// half of the smaller margin, its own or that of the typical run.
    fn contradicting_size(&self, what: QuestionKind) -> f64 {
        match what {
            QuestionKind::Mean => CONTRADICTING_SHARE * self.margin_of(what).min(self.margin_of(QuestionKind::Typical)),
            _ => self.margin_of(what),
        }
    }
}

impl QuestionAnswer {
    /// Returns true if the estimate is worse by a size, and by more than chance explains: one slow run in few is no
    /// tail.
    fn is_likely_worse(&self, size: f64) -> bool {
        let estimate = self.effect.map_or(0.0, |effect| effect.estimate);
        estimate <= -size && self.error.is_some_and(|error| estimate + LIKELY_ERRORS * error < 0.0)
    }
}

/// Proven result for a candidate in a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerVerdict {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// Neither is proven.
    Open,
}

/// Advantage of a candidate over the baseline: the difference of the logarithms; 0.05 is about 5 % better, negative is
/// worse. For slow runs it is the difference of their shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineEffect {
    /// Hodges and Lehmann's estimate from the differences within blocks; for means and shares, their present values.
    pub estimate: f64,
    /// The lower end: the truth is above it at all times with probability 1 - error rate; absent: none yet.
    pub low: Option<f64>,
    /// The upper end, likewise; absent: none yet.
    pub high: Option<f64>,
}

/// The verdict on one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArmVerdict {
    /// Proven better than the baseline, and the estimate reaches the margin.
    Wins,
    /// Proven better, and proven to be better by less than the margin.
    RealButBelowMargin,
    /// Proven better; the estimate is below the margin, but the margin is not excluded.
    Better,
    /// Proven better, and perhaps by the margin, but it failed more often than the baseline in the same blocks. It wins
    /// once the baseline has failed as often, or once it is proven to fail more often by less than the margin of guards.
    FailsMore,
    /// Proven to be neither better nor worse by the margin.
    NoMaterialDifference,
    /// Proven worse than the baseline.
    Worse,
    /// Proven not to be better by the margin; it may be equal or worse.
    NotBetterByMargin,
    /// Nothing proven.
    Undecided,
    /// It never worked, or it is proven to fail more often than the baseline.
    Failed,
}

impl ArmVerdict {
    /// Returns true if something is proven.
    pub fn is_proven(self) -> bool {
        self != Self::Undecided
    }
}

/// State of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ArmState {
    /// Still tried: it is in the next block.
    Alive,
    /// Removed from further blocks.
    Out {
        /// The block after which it went, counted from 1.
        block: u32,
        /// The reason.
        why: OutReason,
    },
}

/// Reason to remove a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutReason {
    /// Proven not to be better by the margin.
    NotBetterByMargin,
    /// Clearly behind another candidate, or below half the margin, while others were alive: given up, not proven. It is taken up
    /// again before "no difference" is concluded.
    BehindLeader,
    /// Its first runs all failed, or it is proven to fail more often than the baseline.
    Failures,
    /// A guard is proven to be worse on it by the margin of guards: it cannot win.
    GuardWorse,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(what: QuestionKind, estimate: f64, error: f64) -> QuestionAnswer {
        QuestionAnswer {
            what,
            effect: Some(BaselineEffect { estimate, low: None, high: None }),
            blocks: 10,
            costs: None,
            error: Some(error),
            e_better: 1.0,
            e_worse: 1.0,
            verdict: AnswerVerdict::Open,
        }
    }

    #[test]
    fn a_mean_contradicts_from_half_of_the_margin_on_unless_chance_explains_it() {
        let contradicts = |what, estimate, error| {
            answer(what, estimate, error).is_likely_worse(JudgingPolicy::default().contradicting_size(what))
        };
        let half = 1.03_f64.ln() / 2.0;
        let mean = |estimate, error| contradicts(QuestionKind::Mean, estimate, error);
        assert!(mean(-half, 0.4 * half));
        assert!(!mean(-0.9 * half, 0.1 * half), "less than half of the margin");
        assert!(!mean(-half, 0.6 * half), "two errors reach zero");
        let tail = |estimate| contradicts(QuestionKind::Tail, estimate, 0.001);
        assert!(tail(-0.031) && !tail(-0.016), "slow runs have their whole margin");
        let patient = JudgingPolicy { margin: 0.3, ..JudgingPolicy::default() };
        let of_mean = 1.1_f64.ln() / 2.0;
        assert!((patient.contradicting_size(QuestionKind::Mean) - of_mean).abs() < 1e-12, "the smaller of two margins");
    }
}
