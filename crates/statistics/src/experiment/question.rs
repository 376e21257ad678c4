//! The three questions that an experiment can answer: about the typical run, the mean, and the slow runs.
//!
//! For the typical run, [`super::evidence`] needs only our own randomisation. A mean has no such test: without a bound,
//! one unseen run may outweigh all others. So costs are capped, and slow runs are counted; both are bounded
//! differences, on which a bettor may bet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JudgingPolicy;
use super::bet_shares::{BetShares, PATIENT_SHARES, USUAL_SHARES, shares_for};
use super::outcome::BlockOutcome;

/// A question about a placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuestionKind {
    /// Performance of the typical run: the median, and the pairs of a block.
    #[default]
    Typical,
    /// Mean performance of its runs, each counted up to a cap.
    Mean,
    /// Share of slow runs.
    Tail,
}

impl QuestionKind {
    /// All questions.
    pub const ALL: [Self; 3] = [Self::Typical, Self::Mean, Self::Tail];

    /// Returns the default margin, the smallest effect that matters: a ratio, or for slow runs a share of all runs. A
    /// mean varies with its rare values.
    pub fn usual_margin(self) -> f64 {
        match self {
            Self::Typical | Self::Tail => 0.03,
            Self::Mean => 0.10,
        }
    }
}

/// A question with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacementQuestion {
    pub what: QuestionKind,
    /// Threshold of a slow run, as the logarithm of a multiple of the baseline's median.
    slow_ln: f64,
    /// Upper limit of a run's cost, as a multiple of the baseline's median.
    cap: f64,
    /// Shares of the wealth that the bets on the typical run start with.
    pub(super) shares: BetShares,
    /// True if it is asked about a guard.
    is_guard: bool,
}

/// A bet on a bounded difference.
pub(super) struct BoundedBet {
    /// The share of the bet that is lost in the worst case.
    pub(super) stake: f64,
    /// The bet's share of the wealth at the start.
    pub(super) share: f64,
}

const fn bounded_bet(stake: f64, share: f64) -> BoundedBet {
    BoundedBet { stake, share }
}

/// Bets on a mean and on slow runs: differences in either direction are usual.
const BOUNDED_BETS: [BoundedBet; 3] = [bounded_bet(0.8, 0.65), bounded_bet(0.4, 0.25), bounded_bet(0.15, 0.1)];
/// Bets on a guard's slow runs. Usually none is slow, and a tenth is to be excluded soon: 35 runs without a slow one are
/// enough, or 57 with a single one.
const GUARD_BETS: [BoundedBet; 2] = [bounded_bet(0.85, 0.85), bounded_bet(0.35, 0.15)];

/// Evidence of a block on a mean, at a hypothesis: the gain, the largest possible loss, and the largest possible gain.
pub(super) struct BoundedGain {
    pub(super) gain: f64,
    pub(super) most_lost: f64,
    pub(super) most_gained: f64,
}

/// Minimum number of blocks before any verdict at which the patient bets are used.
const PATIENT_BLOCKS: u32 = 20;
/// Lower limit of all bounds, so that an impossible hypothesis is refuted without a division by zero.
const LEAST_BOUND: f64 = 1e-9;

impl JudgingPolicy {
    /// Returns the question that decides.
    pub fn deciding_question(&self) -> PlacementQuestion {
        self.question_about(self.what)
    }

    /// Returns another question, with this policy's numbers.
    pub fn question_about(&self, what: QuestionKind) -> PlacementQuestion {
        let (slow_ln, cap, shares) = (self.slow.ln(), self.cap, self.choose_shares());
        PlacementQuestion { what, slow_ln, cap, shares, is_guard: false }
    }

    /// Returns the shares for the expected noise, and the usual ones if it is unknown or every effect matters.
    fn choose_shares(&self) -> BetShares {
        let usual = if self.least_blocks >= PATIENT_BLOCKS { PATIENT_SHARES } else { USUAL_SHARES };
        match (self.expected_noise, self.margin_of(QuestionKind::Typical)) {
            (Some(noise), margin) if margin > 0.0 => shares_for(noise.gain_deviation, margin, &usual),
            _ => usual,
        }
    }

    /// Returns a question about a guard, with this policy's numbers.
    pub fn guard_question(&self, what: QuestionKind) -> PlacementQuestion {
        PlacementQuestion { shares: USUAL_SHARES, is_guard: true, ..self.question_about(what) }
    }

    /// Returns the margin of guards in the scale of a question's effects: for slow runs, 0.1 is 10 of 100 runs.
    pub fn guard_margin_of(&self, what: QuestionKind) -> f64 {
        if what == QuestionKind::Tail { self.guard_margin.min(1.0) } else { self.guard_margin.ln_1p() }
    }

    /// Returns the margin of a question in the scale of its effects: a difference of logarithms, or for slow runs a
    /// share of all runs. The policy's margin applies to the question that decides; the others have their defaults.
    pub fn margin_of(&self, what: QuestionKind) -> f64 {
        let margin = if what == self.what { self.margin } else { what.usual_margin() };
        if what == QuestionKind::Tail { margin } else { margin.ln_1p() }
    }
}

impl PlacementQuestion {
    /// The question about the typical run, which needs no numbers.
    pub const TYPICAL: Self =
        Self { what: QuestionKind::Typical, slow_ln: 0.0, cap: 1.0, shares: USUAL_SHARES, is_guard: false };

    /// Returns the bets on a mean or on slow runs.
    pub(super) fn bounded_bets(&self) -> &'static [BoundedBet] {
        if self.is_guard && self.what == QuestionKind::Tail { &GUARD_BETS } else { &BOUNDED_BETS }
    }

    /// Returns true if a block contributes to the answer.
    pub(super) fn is_about(&self, outcome: &BlockOutcome) -> bool {
        self.what == QuestionKind::Typical || outcome.usual.is_some()
    }

    /// Returns the costs of the two runs of a block, the candidate's first: in medians of the baseline up to the cap,
    /// or 1 for a slow run and 0 for another. A failed run costs the most. `None` if the baseline's median was not
    /// known before the block.
    pub(super) fn block_costs(&self, outcome: &BlockOutcome) -> Option<[f64; 2]> {
        let usual = outcome.usual?;
        let cost = |x: Option<f64>| match (self.what, x) {
            (QuestionKind::Tail, x) => f64::from(u8::from(x.is_none_or(|x| x > usual + self.slow_ln))),
            (_, Some(x)) => (x - usual).exp().min(self.cap),
            (_, None) => self.cap,
        };
        Some([cost(outcome.candidate), cost(outcome.baseline)])
    }

    /// Tests the block against "better by exactly `theta`": the mean costs' ratio is `exp(theta)`, or the shares of
    /// slow runs differ by `theta`.
    pub(super) fn bound_gain(&self, outcome: &BlockOutcome, theta: f64) -> Option<BoundedGain> {
        let [candidate, baseline] = self.block_costs(outcome)?;
        let (gain, most_lost, most_gained) = match self.what {
            QuestionKind::Tail => (baseline - candidate - theta, 1.0 + theta, 1.0 - theta),
            _ => (baseline - theta.exp() * candidate, theta.exp() * self.cap, self.cap),
        };
        let at_least = |bound: f64| bound.max(LEAST_BOUND);
        Some(BoundedGain { gain, most_lost: at_least(most_lost), most_gained: at_least(most_gained) })
    }
}
