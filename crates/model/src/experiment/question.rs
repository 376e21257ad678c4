//! The three questions that an experiment can answer: of the typical run, of the mean, and of the slow runs.
//!
//! Of the typical run, [`super::evidence`] needs nothing but our own dice. A mean has no such test: what is not bounded may always hide a run that
//! outweighs all others. So costs are capped, and slow runs are counted; both are differences between bounds, which a bettor may bet on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Policy;
use super::outcome::Outcome;

/// What is asked of a placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Whether its typical run is better: the median, and the pairs of a block.
    #[default]
    Typical,
    /// Whether its runs are better in the mean, each counted up to a cap.
    Mean,
    /// Whether fewer of its runs are slow.
    Tail,
}

impl What {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Typical, Self::Mean, Self::Tail];

    /// The smallest effect that matters, where nothing is said: a ratio, or of slow runs a share of all runs. A mean varies with its rare values.
    pub fn usual_margin(self) -> f64 {
        match self {
            Self::Typical | Self::Tail => 0.03,
            Self::Mean => 0.10,
        }
    }
}

/// A question with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) what: What,
    /// From how many times the baseline's median on a run is slow, as a logarithm.
    slow_ln: f64,
    /// How many times the baseline's median a run counts at most.
    cap: f64,
    /// Whether no verdict comes before twenty blocks.
    pub(super) is_patient: bool,
}

/// A block's part in the evidence on a mean, at a hypothesis: the gain, the most that it could have lost, and the most that it could have gained.
pub(super) struct Bounded {
    pub(super) gain: f64,
    pub(super) most_lost: f64,
    pub(super) most_gained: f64,
}

/// Who waits for so many blocks before any verdict bets otherwise.
const PATIENT_BLOCKS: u32 = 20;
/// No bound is smaller, so that an impossible hypothesis is refuted and divides by nothing.
const LEAST_BOUND: f64 = 1e-9;

impl Policy {
    /// The question that decides.
    pub(crate) fn question(&self) -> Question {
        self.asking(self.what)
    }

    /// Another one, with this policy's numbers.
    pub(crate) fn asking(&self, what: What) -> Question {
        let is_patient = self.least_blocks >= PATIENT_BLOCKS;
        Question { what, slow_ln: self.slow.ln(), cap: self.cap, is_patient }
    }

    /// The margin of a question in the scale of its effects: a difference of logarithms, or of slow runs a share of all runs. The policy's margin is
    /// that of the question that decides; the others have their usual ones.
    pub fn margin_of(&self, what: What) -> f64 {
        let margin = if what == self.what { self.margin } else { what.usual_margin() };
        if what == What::Tail { margin } else { margin.ln_1p() }
    }
}

impl Question {
    /// That of the typical run, which needs no numbers.
    pub(crate) const TYPICAL: Self = Self { what: What::Typical, slow_ln: 0.0, cap: 1.0, is_patient: false };

    /// Whether a block says something about it.
    pub(super) fn is_about(&self, outcome: &Outcome) -> bool {
        self.what == What::Typical || outcome.usual.is_some()
    }

    /// What the two runs of a block cost, the candidate's first: in medians of the baseline up to the cap, or 1 for a slow run and 0 for another. A
    /// failed run costs the most. Absent where the baseline's median was not known before the block.
    pub(super) fn costs(&self, outcome: &Outcome) -> Option<[f64; 2]> {
        let usual = outcome.usual?;
        let cost = |x: Option<f64>| match (self.what, x) {
            (What::Tail, x) => f64::from(u8::from(x.is_none_or(|x| x > usual + self.slow_ln))),
            (_, Some(x)) => (x - usual).exp().min(self.cap),
            (_, None) => self.cap,
        };
        Some([cost(outcome.candidate), cost(outcome.baseline)])
    }

    /// The block against "better by exactly `theta`": the mean costs' ratio is `exp(theta)`, or the shares of slow runs differ by `theta`.
    pub(super) fn bounded(&self, outcome: &Outcome, theta: f64) -> Option<Bounded> {
        let [candidate, baseline] = self.costs(outcome)?;
        let (gain, most_lost, most_gained) = match self.what {
            What::Tail => (baseline - candidate - theta, 1.0 + theta, 1.0 - theta),
            _ => (baseline - theta.exp() * candidate, theta.exp() * self.cap, self.cap),
        };
        let at_least = |bound: f64| bound.max(LEAST_BOUND);
        Some(Bounded { gain, most_lost: at_least(most_lost), most_gained: at_least(most_gained) })
    }
}
