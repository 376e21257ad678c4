//! Experiments: finding the best placement of a program from runs in randomised blocks, at any time.
//!
//! A [`PlacementRace`] is fed one [`RunBlock`] after the other and reports the state at any time ([`PlacementRace::standing`]). The formulas
//! and their proofs are in docs/statistics.md.

mod bet_shares;
mod carry_over;
mod effect;
mod evidence;
mod expected_noise;
mod failures;
mod heterogeneity;
mod judgement;
mod law;
mod mean;
mod outcome;
mod paired;
mod partial;
mod question;
mod race;
mod shape;
mod slots;
mod standing;
#[cfg(test)]
mod tests;
mod threads;
mod units;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use effect::{EffectEstimate, estimate_effect};
pub use evidence::{BettorWealth, EffectEvidence};
pub use expected_noise::ExpectedNoise;
pub use failures::excluded_failure_rate;
pub use heterogeneity::{EffectSpread, NodeGains, robust_noise};
pub use law::{LawFit, OpenInterval, ScalingLaw, ValueInterval};
pub use mean::{MeanEffect, mean_effect};
pub use outcome::BlockOutcome;
pub use paired::PairedRuns;
pub use partial::{PartialGain, RunPart};
pub use question::QuestionKind;
pub use race::PlacementRace;
pub use race::{closed_test, find_usual};
pub use shape::split_values;
pub use slots::SlotBlocks;
pub use standing::{
    AnswerVerdict, ArmStanding, ArmState, ArmVerdict, BaselineEffect, CarryOverCheck, CarryOverEffect,
    ExperimentChecks, ExperimentDoubt, ExperimentStanding, GuardAnswer, GuardStanding, GuardVerdict, OpenPoint,
    OutReason, QuestionAnswer, Verdict,
};
pub use threads::{
    CellStanding, CountsStanding, PinnedStanding, ThreadsCell, ThreadsRace, ThreadsStanding, arrange_cells,
};
pub use units::{NodeRuns, UnitGain, estimate_gain, fewest_units, find_pooled_carry_over, judge_runs, judge_units};
pub use units::{UnitArmStanding, UnitJudgement};

/// Largest multiple of the usual run for a slow run, and for the cap of a mean.
pub const LARGEST_TIMES: f64 = 1_000.0;

/// Default number of first runs that all fail, after which a candidate is out if the baseline failed less often.
pub const MOST_FAILURES: u32 = 2;
/// Minimum number of failures at which the baseline is a doubt, if they are at least the share [`FAILING`] of its runs.
/// If one run in fifty fails, two failures among the first twenty runs are too likely.
pub const MOST_BASELINE_FAILURES: u32 = 3;
/// Share of failed runs at which the baseline is a doubt.
pub const FAILING: f64 = 0.1;
/// Number of runs from which the baseline's median counts as known.
pub const FIRST_USUAL: usize = 4;
/// Number of blocks from which the greedy search removes arms.
pub const FIRST_GREEDY_BLOCK: usize = 2;
/// The same if a mean or slow runs decide: few blocks contain no rare events.
pub const FIRST_GREEDY_BLOCK_OF_RARE: usize = 4;

/// Share of the margin that the proven bound of a winner reaches if it is recommended without a condition.
pub const MATERIAL_SHARE: f64 = 0.5;

/// Rules by which an experiment is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgingPolicy {
    /// The false-positive rate over all looks and all candidates; between 0 and 1.
    pub error_rate: f64,
    /// The smallest ratio that matters: 0.03 is 3 %. Effects, which are logarithms, are compared with `ln(1 + margin)`.
    pub margin: f64,
    /// The question that decides.
    pub what: QuestionKind,
    /// A run is slow if it costs more than this multiple of the baseline's median; above 1.
    pub slow: f64,
    /// Upper limit of a run's cost in a mean, as a multiple of the baseline's median; above 1.
    pub cap: f64,
    /// Largest tolerated worsening of a guard: 0.1 is 10 %. A winner needs proof that no guard is worse by this.
    pub guard_margin: f64,
    /// Maximum number of runs; absent: it goes on until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_runs: Option<u32>,
    /// The experiment does not end, and no arm is removed except for failures, before this many blocks; 0 by default.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub least_blocks: u32,
    /// Number of first runs that all fail, after which a candidate is out if the baseline failed less often; 2 by
    /// default. With 1, a single failure at any time is enough, if the candidate failed more than twice as often.
    #[serde(default = "usual_failures", skip_serializing_if = "is_usual")]
    pub most_failures: u32,
    /// Noise of an earlier experiment with the same workload on the same machine, for which the first shares of the bets were
    /// chosen; absent: the usual shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_noise: Option<ExpectedNoise>,
    /// Condition on the candidates, by the margin; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<ExperimentGate>,
    /// A winner is provisional before it has runs in this many boots of the machine; absent: one is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots: Option<u32>,
}

/// A condition of success, for scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentGate {
    /// The condition.
    pub rule: GateRule,
    /// The name of the candidate that has to pass; absent: every candidate, or any that is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

/// Condition on a candidate, by the policy's margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateRule {
    /// It wins: it is proven better, and reaches the margin.
    Better,
    /// It is proven not to be worse by the margin.
    NotWorse,
}

impl Default for JudgingPolicy {
    fn default() -> Self {
        Self {
            error_rate: 0.05,
            margin: 0.03,
            what: QuestionKind::Typical,
            slow: 1.5,
            cap: 3.0,
            guard_margin: 0.1,
            most_runs: None,
            least_blocks: 0,
            most_failures: MOST_FAILURES,
            expected_noise: None,
            gate: None,
            boots: None,
        }
    }
}

impl JudgingPolicy {
    /// Checks a policy that comes from a file.
    pub fn check_loaded(&self) -> Result<(), String> {
        let Self { error_rate, margin, guard_margin, slow, cap, least_blocks, expected_noise, .. } = self;
        if !(0.0..1.0).contains(error_rate)
            || *error_rate == 0.0
            || ![margin, guard_margin].iter().all(|margin| (0.0..=10.0).contains(*margin))
            || ![slow, cap].iter().all(|times| **times > 1.0 && **times <= LARGEST_TIMES)
            || *least_blocks > 1_000_000
            || !expected_noise.is_none_or(|noise| noise.is_possible())
        {
            return Err("its error rate, its margin or its expected noise is impossible".to_owned());
        }
        Ok(())
    }

    /// Returns the fewest blocks after which an interval of the mean effect over experiments can have two ends when
    /// `arms` arms share the error rate, plus one, as blocks seldom agree. A bettor's wealth at most doubles with each
    /// block.
    pub fn blocks_of_a_mean(&self, arms: usize) -> u32 {
        (2.0 * arms.max(1) as f64 / self.error_rate).log2().ceil() as u32 + 1
    }

    /// Returns the fewest blocks after which one of `arms` candidates can be proven better.
    pub fn blocks_of_a_win(&self, arms: usize) -> u32 {
        (arms.max(1) as f64 / self.error_rate).log2().ceil() as u32
    }

    /// Returns the evidence that proves: 1 / error rate.
    pub fn needed_evidence(&self) -> f64 {
        1.0 / self.error_rate
    }

    /// Returns true if a proven bound is large enough to act on without a second thought: half of the margin or more.
    pub fn is_material(&self, low: Option<f64>) -> bool {
        low.is_some_and(|low| low > 0.0 && low >= MATERIAL_SHARE * self.margin_of(self.what))
    }

    /// Returns what the gate asks; `None` without one.
    pub fn gate_rule(&self) -> Option<GateRule> {
        self.gate.as_ref().map(|gate| gate.rule)
    }

    /// Returns the margin as a difference of logarithms.
    pub fn margin_ln(&self) -> f64 {
        (1.0 + self.margin).ln()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

const fn usual_failures() -> u32 {
    MOST_FAILURES
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_usual(count: &u32) -> bool {
    *count == MOST_FAILURES
}

/// Result of one run of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRun {
    /// 0 is the baseline, the operating system's own choice; the candidates count from 1.
    pub arm: usize,
    /// The logarithm of the metric, turned so that lower is better; `None` if the run failed. Values that are not
    /// finite count as failed.
    pub x: Option<f64>,
}

impl BlockRun {
    /// Returns the value, or `None` if the run failed or its value is not finite.
    pub fn finite_value(&self) -> Option<f64> {
        self.x.filter(|x| x.is_finite())
    }
}

/// Consecutive runs, in this order: every arm that was still alive, and the baseline, once each. A block that ended
/// early lacks some: it is counted, but takes no part in any test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBlock {
    /// The runs in the order in which they were made.
    pub runs: Vec<BlockRun>,
}

impl RunBlock {
    /// Returns what it says about a candidate, or `None` if the candidate or the baseline did not run. `usual` is the median of the
    /// baseline before this block.
    pub fn outcome_of(&self, arm: usize, usual: Option<f64>) -> Option<BlockOutcome> {
        let value_of = |arm| Some(self.runs.iter().find(|run: &&BlockRun| run.arm == arm)?.finite_value());
        Some(BlockOutcome { candidate: value_of(arm)?, baseline: value_of(0)?, usual })
    }
}
