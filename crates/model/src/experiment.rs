//! Experiments: which placement of a program wins, judged from runs in randomised blocks, at any time.
//!
//! A [`Race`] is fed one [`Block`] after the other and says at any time what they show ([`Race::standing`]). What is
//! computed, and why it holds, is in docs/statistics.md, in formulas.

mod carry_over;
mod effect;
mod evidence;
mod judge;
mod law;
mod mean;
mod race;
mod shape;
mod standing;
#[cfg(test)]
mod tests;
mod threads;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use evidence::{Evidence, Outcome, Wealth};
pub use law::{Fit, Interval, Law, OpenInterval};
pub use mean::{MeanEffect, mean_effect};
pub use race::Race;
pub use standing::{ArmStanding, ArmState, ArmVerdict, CarryOver, Checks, Doubt, Effect, OutReason, Standing, Verdict};
pub use threads::{Cell, CellStanding, CountsStanding, PinnedStanding, Threads, ThreadsStanding, arrange};

/// A candidate, or the baseline, that failed this often is out, or a doubt.
pub const MOST_FAILURES: u32 = 2;
/// The greedy search takes an arm out from this many blocks on.
pub const FIRST_GREEDY_BLOCK: usize = 4;
/// A check on the experiment itself fires wrongly with this probability at most.
pub const DOUBT_RATE: f64 = 0.01;

/// How an experiment is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Policy {
    /// The false-positive rate over all looks and all candidates; between 0 and 1.
    pub error_rate: f64,
    /// The smallest ratio that matters: 0.03 is 3 %. Effects, which are logarithms, are compared with `ln(1 + margin)`.
    pub margin: f64,
    /// The experiment ends before it would make more runs than this; absent: it goes on until it is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_runs: Option<u32>,
    /// The experiment does not end, and no arm is removed except for failures, before this many blocks; 0 by default.
    #[serde(skip_serializing_if = "is_zero")]
    pub least_blocks: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self { error_rate: 0.05, margin: 0.03, most_runs: None, least_blocks: 0 }
    }
}

impl Policy {
    /// The fewest blocks in which an interval of the mean effect over experiments has two ends, when so many arms share the error
    /// rate; and one more, as the blocks seldom agree. The wealth of a bettor at most doubles with each.
    pub fn blocks_of_a_mean(&self, arms: usize) -> u32 {
        (2.0 * arms.max(1) as f64 / self.error_rate).log2().ceil() as u32 + 1
    }

    /// The margin as a difference of logarithms.
    pub fn margin_ln(&self) -> f64 {
        (1.0 + self.margin).ln()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What one run of the workload gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// 0 is the baseline, the operating system's own choice; the candidates count from 1.
    pub arm: usize,
    /// The logarithm of the metric, turned so that lower is better; absent where the run failed. What is not finite counts
    /// as failed.
    pub x: Option<f64>,
}

impl Run {
    /// The value that counts: one that is not finite is that of a failed run.
    pub(crate) fn value(&self) -> Option<f64> {
        self.x.filter(|x| x.is_finite())
    }
}

/// Runs that were made one after the other, in this order: every arm that was still alive, once, and the baseline as often
/// as [`Race::next_block`] said. A block that ended early lacks some: it is counted, but takes no part in any test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The runs in the order in which they were made.
    pub runs: Vec<Run>,
}
