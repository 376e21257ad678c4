//! Races whose units are not blocks of runs: machines, or rounds over several machines.
//!
//! A unit has one gain for each candidate, measured elsewhere. If the hypothesis makes a gain equally likely above and below `theta`, the
//! same bets are valid as for the two runs of a block: the unit enters as the pair of `-gain` and 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::carry_over::{CarryOverSearch, OrderedBlock};
use super::effect::{LARGEST, estimate_effect};
use super::judgement::{arm_verdict, race_verdict};
use super::outcome::BlockOutcome;
use super::question::PlacementQuestion;
use super::race::{PlacementRace, is_whole};
use super::standing::{ArmState, ArmVerdict, BaselineEffect, CarryOverEffect, OutReason, Verdict};
use super::{BlockRun, EffectEstimate, JudgingPolicy, QuestionKind, RunBlock};

/// More units than this are not tried to find the fewest that prove a win.
const MOST_UNITS: usize = 64;

/// A candidate's gain in one unit, a difference of logarithms; positive is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnitGain {
    /// It was not tried there.
    Absent,
    /// It was tried there and failed: worse than any other.
    Failed,
    /// The gain.
    Known(f64),
}

/// Answer from units of one sort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitJudgement {
    /// Number of units that count.
    pub units: usize,
    /// Smallest number of units after which a candidate can be proven better.
    pub fewest: usize,
    /// The answer; its number of further runs is always absent.
    pub verdict: Verdict,
    /// Approximate number of further units that would answer what is open; absent if it is answered or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_units: Option<u32>,
    /// The candidates in their order.
    pub arms: Vec<UnitArmStanding>,
}

/// State of a candidate over units of one sort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitArmStanding {
    /// Number of the arm, from 1.
    pub arm: usize,
    /// Number of units that count for it.
    pub units: usize,
    /// The effect of the typical unit; each end holds at the error rate, at any time.
    pub effect: Option<BaselineEffect>,
    /// The e-value for "better in the typical unit", closed over all candidates.
    pub e_better: f64,
    /// The e-value for "worse", on this candidate alone.
    pub e_worse: f64,
    /// The e-value against "better by the margin or more".
    pub e_not_better_by_margin: f64,
    /// The verdict on it alone.
    pub verdict: ArmVerdict,
}

/// One machine's runs of one candidate.
#[derive(Clone, Debug)]
pub struct NodeRuns {
    /// Outcomes of the blocks in which it ran.
    pub outcomes: Vec<BlockOutcome>,
    /// The e-value for "better".
    pub e_better: f64,
    /// The e-value for "worse".
    pub e_worse: f64,
    /// The e-value against "better by the margin or more".
    pub e_not_better: f64,
    /// True if it never worked, or fails more often than the baseline.
    pub has_failed: bool,
    /// The effect and its interval.
    pub effect: Option<BaselineEffect>,
    question: PlacementQuestion,
}

impl NodeRuns {
    /// Returns the gain over the first `blocks` blocks, in the scale of the question that decides; `None` with fewer.
    pub fn gain_of_first(&self, blocks: usize) -> Option<UnitGain> {
        if self.has_failed {
            return Some(UnitGain::Failed);
        }
        let value = EffectEstimate::from_outcomes(&self.question, self.outcomes.get(..blocks)?)?.value;
        Some(match value {
            value if value <= -LARGEST => UnitGain::Failed,
            value if value >= LARGEST => return None,
            value => UnitGain::Known(value),
        })
    }

    /// Returns the gains of all blocks; a failed run is far worse than any other.
    pub fn block_gains(&self) -> Vec<f64> {
        self.outcomes.iter().map(BlockOutcome::logarithmic_gain).collect()
    }

    /// Returns the gains of the blocks in which both runs finished.
    pub fn finished_gains(&self) -> Vec<f64> {
        let is_finished = |outcome: &&BlockOutcome| outcome.candidate.is_some() && outcome.baseline.is_some();
        self.outcomes.iter().filter(is_finished).map(BlockOutcome::logarithmic_gain).collect()
    }
}

/// Judges one machine's blocks: each candidate by itself, and none is removed except for failures. `None` if the baseline keeps failing.
pub fn judge_runs(policy: &JudgingPolicy, candidates: usize, blocks: &[RunBlock]) -> Option<Vec<NodeRuns>> {
    let mut race = PlacementRace::new(candidates, &without_ends(policy));
    for block in blocks {
        let is_whole = is_whole(&race.next_members(), block);
        race.add_unit(block, is_whole);
    }
    let question = policy.deciding_question();
    let of_arm = |arm: &super::race::RaceArm| NodeRuns {
        e_better: arm.equal.above().current_wealth(),
        e_worse: arm.equal.below().current_wealth(),
        e_not_better: arm.better_by_margin.below().current_wealth(),
        has_failed: matches!(arm.state, ArmState::Out { why: OutReason::Failures, .. }),
        effect: estimate_effect(&question, &arm.outcomes, policy.error_rate),
        outcomes: arm.outcomes.clone(),
        question,
    };
    (!race.baseline.has_failed()).then(|| race.arms.iter().map(of_arm).collect())
}

/// Judges units, in an order that does not depend on their gains.
pub fn judge_units(policy: &JudgingPolicy, candidates: usize, units: &[Vec<UnitGain>]) -> UnitJudgement {
    let policy = policy_of_units(policy);
    let mut race = PlacementRace::new(candidates, &policy);
    units.iter().for_each(|gains| race.add_unit(&block_of_gains(gains), true));
    race.drop_not_better();
    let (more_units, verdict) = without_runs(&race, race_verdict(&race));
    let of_arm = |arm: usize| {
        let found = race.arm(arm);
        UnitArmStanding {
            arm,
            units: found.outcomes.len(),
            effect: estimate_effect(&policy.deciding_question(), &found.outcomes, policy.error_rate),
            e_better: found.better_of_all,
            e_worse: found.equal.below().current_wealth(),
            e_not_better_by_margin: found.better_by_margin.below().current_wealth(),
            verdict: arm_verdict(&race, found),
        }
    };
    UnitJudgement {
        units: units.len(),
        fewest: fewest_units(&policy, candidates),
        verdict,
        more_units,
        arms: (1..=candidates).map(of_arm).collect(),
    }
}

/// Returns the smallest number of units that prove a win of one of several candidates, if each of them is far better there.
pub fn fewest_units(policy: &JudgingPolicy, candidates: usize) -> usize {
    let policy = policy_of_units(policy);
    let mut race = PlacementRace::new(candidates, &policy);
    let gains: Vec<UnitGain> =
        (0..candidates).map(|candidate| UnitGain::Known(if candidate == 0 { 1.0 } else { 0.0 })).collect();
    for units in 1..=MOST_UNITS {
        race.add_unit(&block_of_gains(&gains), true);
        if race.arms.first().is_some_and(|arm| arm.better_of_all >= policy.needed_evidence()) {
            return units;
        }
    }
    MOST_UNITS
}

/// Returns the doubt that runs affect the next, from the blocks of all machines together.
pub fn find_pooled_carry_over<'a>(
    policy: &JudgingPolicy,
    candidates: usize,
    machines: impl Iterator<Item = &'a [RunBlock]>,
) -> Option<CarryOverEffect> {
    let order_blocks = |blocks: &'a [RunBlock]| {
        let before = std::iter::once(None).chain(blocks.iter().map(|block| Some(block.runs.last()?.arm)));
        let whole = blocks.iter().map(|block| block.runs.len()).max().unwrap_or_default();
        let placed = blocks.iter().zip(before).filter(move |(block, _)| block.runs.len() == whole);
        placed.map(|(block, before)| OrderedBlock { before, runs: block.runs.clone() })
    };
    let order: Vec<OrderedBlock> = machines.flat_map(order_blocks).collect();
    CarryOverSearch::new(&order, candidates).find_doubt(policy)
}

impl PlacementRace {
    /// Takes a unit into account without giving any candidate up.
    fn add_unit(&mut self, unit: &RunBlock, is_whole: bool) {
        self.count_block(unit);
        if is_whole {
            self.test_arms(unit);
        }
        self.drop_failed();
    }
}

/// Returns a policy under which a race of runs ends by nothing but the caller's plan.
fn without_ends(policy: &JudgingPolicy) -> JudgingPolicy {
    JudgingPolicy { least_blocks: 0, most_runs: None, gate: None, boots: None, expected_noise: None, ..policy.clone() }
}

/// Returns the policy for units: their typical gain decides, by the margin of the runs' question.
fn policy_of_units(policy: &JudgingPolicy) -> JudgingPolicy {
    let margin = policy.margin_of(policy.what).exp_m1();
    JudgingPolicy { what: QuestionKind::Typical, margin, ..without_ends(policy) }
}

fn block_of_gains(gains: &[UnitGain]) -> RunBlock {
    let run = |(arm, gain): (usize, &UnitGain)| match gain {
        UnitGain::Absent => None,
        UnitGain::Failed => Some(BlockRun { arm, x: None }),
        UnitGain::Known(gain) => Some(BlockRun { arm, x: Some(-gain) }),
    };
    let runs = std::iter::once(BlockRun { arm: 0, x: Some(0.0) }).chain((1..).zip(gains).filter_map(run));
    RunBlock { runs: runs.collect() }
}

/// Returns the number of further units, and the verdict without a number of runs.
fn without_runs(race: &PlacementRace, verdict: Verdict) -> (Option<u32>, Verdict) {
    let members = race.next_members().len().max(1) as u32;
    let more = verdict.more_runs().map(|runs| runs.div_ceil(members));
    let verdict = match verdict {
        Verdict::Better { arm, .. } => Verdict::Better { arm, more_runs: None },
        Verdict::Undecided { .. } => Verdict::Undecided { more_runs: None },
        other => other,
    };
    (more, verdict)
}

/// Returns Hodges and Lehmann's estimate of the typical gain; `None` without gains.
pub fn estimate_gain(gains: &[f64]) -> Option<f64> {
    Some(EffectEstimate::from_differences(gains)?.value)
}
