//! The race: a fold over blocks that decides the next block, removes candidates, and detects the end.

use corewise_machine::random::RandomGenerator;

use super::carry_over::OrderedBlock;
use super::effect::EffectEstimate;
use super::evidence::EffectEvidence;
use super::failures::FailureEvidence;
use super::outcome::BlockOutcome;
use super::question::{PlacementQuestion, QuestionKind};
use super::standing::{ArmState, OutReason};
use super::{
    BlockRun, FAILING, FIRST_GREEDY_BLOCK, FIRST_GREEDY_BLOCK_OF_RARE, FIRST_USUAL, GateRule, JudgingPolicy,
    MOST_BASELINE_FAILURES, RunBlock,
};
use crate::order::median;

/// Number of robust standard errors that the search allows for.
pub(super) const ERRORS: f64 = 3.0;

/// Candidates against the baseline, block by block.
#[derive(Clone, Debug)]
pub struct PlacementRace {
    pub(super) policy: JudgingPolicy,
    /// The candidates; arm 1 is the first.
    pub(super) arms: Vec<RaceArm>,
    pub(super) baseline: RaceBaseline,
    /// Whole blocks in a row, with the arm that ran just before each.
    pub(super) order: Vec<OrderedBlock>,
    pub(super) blocks: u32,
    pub(super) runs: u32,
    pub(super) outliers: u32,
    /// True while arms may be given up without proof; false once they were taken up again.
    is_greedy: bool,
    last_arm: Option<usize>,
}

/// A candidate.
#[derive(Clone, Debug)]
pub(super) struct RaceArm {
    pub(super) state: ArmState,
    pub(super) runs: u32,
    pub(super) failures: u32,
    /// Outcomes in whole blocks.
    pub(super) outcomes: Vec<BlockOutcome>,
    /// Number of outcomes that contribute to the question that decides.
    pub(super) counted: usize,
    /// Numbers of the outcomes' blocks, in rising order.
    at: Vec<u32>,
    /// Evidence against "equal to the baseline".
    pub(super) equal: EffectEvidence,
    /// Evidence against "better by exactly the margin".
    pub(super) better_by_margin: EffectEvidence,
    /// Evidence against "worse by exactly the margin".
    pub(super) worse_by_margin: EffectEvidence,
    /// The e-value for "better", closed over all candidates.
    pub(super) better_of_all: f64,
    /// Evidence for "fails more often than the baseline".
    pub(super) failing: FailureEvidence,
    /// Its e-value, closed over all candidates.
    pub(super) fails_more_of_all: f64,
    /// The e-value against "fails more often by the margin of guards", closed likewise.
    pub(super) fails_little_of_all: f64,
    pub(super) estimate: Option<EffectEstimate>,
}

/// The baseline.
#[derive(Clone, Debug)]
pub(super) struct RaceBaseline {
    pub(super) runs: u32,
    pub(super) failures: u32,
    /// The values of the runs in whole blocks.
    pub(super) values: Vec<f64>,
}

impl PlacementRace {
    /// Creates a race between `candidates` arms and the baseline. Candidates count from 1, the least restrictive first:
    /// of equal winners the first wins.
    pub fn new(candidates: usize, policy: &JudgingPolicy) -> Self {
        Self {
            policy: policy.clone(),
            arms: (0..candidates).map(|_| RaceArm::new(policy)).collect(),
            baseline: RaceBaseline { runs: 0, failures: 0, values: Vec::new() },
            order: Vec::new(),
            blocks: 0,
            runs: 0,
            outliers: 0,
            is_greedy: policy.gate_rule() != Some(GateRule::NotWorse),
            last_arm: None,
        }
    }

    /// Returns the arms of the next block in fresh, uniformly random order: the baseline and every candidate that is
    /// alive, once each. The order depends on the seed, the number of earlier blocks, and the live candidates, so that
    /// a stored experiment continues exactly. Empty if no candidate is alive.
    pub fn next_block(&self, seed: u64) -> Vec<usize> {
        shuffle_arms(self.next_members(), seed, self.blocks)
    }

    /// Takes a block into account. A block that lacks a run is counted but takes no part in any test.
    ///
    /// # Panics
    /// If an arm does not belong to the race.
    pub fn add_block(&mut self, block: &RunBlock) {
        let is_whole = self.is_whole(block);
        if is_whole {
            self.order.push(OrderedBlock { before: self.last_arm, runs: block.runs.clone() });
        }
        self.last_arm = block.runs.last().map(|run| run.arm);
        self.add_part(block, is_whole);
    }

    /// Returns true if a block has a run of every member.
    pub fn is_whole(&self, block: &RunBlock) -> bool {
        is_whole(&self.next_members(), block)
    }

    /// Takes into account the part of a larger experiment's block that belongs to this race: the baseline and every
    /// candidate that is alive. A part of an incomplete block takes no part in tests. The run before a part's runs is
    /// not known here, so the larger experiment checks for carry-over.
    pub(super) fn add_part(&mut self, part: &RunBlock, is_whole: bool) {
        self.count_block(part);
        if is_whole {
            self.test_arms(part);
        }
        self.drop_failed();
        if self.blocks >= self.policy.least_blocks {
            self.drop_not_better();
            if self.is_greedy {
                self.drop_behind();
            }
        }
        self.take_up_again();
    }

    /// Returns a candidate by its number.
    pub(super) fn arm(&self, arm: usize) -> &RaceArm {
        &self.arms[arm - 1]
    }

    /// Returns the candidates that are alive, in order.
    pub fn alive_arms(&self) -> impl Iterator<Item = usize> + '_ {
        (1..=self.arms.len()).filter(|&arm| self.arm(arm).state == ArmState::Alive)
    }

    /// Returns the arms of the next block, the baseline first.
    pub(super) fn next_members(&self) -> Vec<usize> {
        let alive: Vec<usize> = self.alive_arms().collect();
        if alive.is_empty() { alive } else { std::iter::once(0).chain(alive).collect() }
    }

    pub(super) fn count_block(&mut self, block: &RunBlock) {
        self.blocks += 1;
        for run in &block.runs {
            let (runs, failures) = if run.arm == 0 {
                (&mut self.baseline.runs, &mut self.baseline.failures)
            } else {
                let arm = &mut self.arms[run.arm - 1];
                (&mut arm.runs, &mut arm.failures)
            };
            *runs += 1;
            *failures += u32::from(run.finite_value().is_none());
            self.runs += 1;
        }
    }

    pub(super) fn test_arms(&mut self, block: &RunBlock) {
        let (question, usual) = (self.policy.deciding_question(), self.baseline.usual_median());
        for arm in self.alive_arms().collect::<Vec<usize>>() {
            if let Some(outcome) = block.outcome_of(arm, usual) {
                self.outliers += u32::from(self.arms[arm - 1].add_outcome(&question, outcome, self.blocks));
            }
        }
        self.baseline.values.extend(block.runs.iter().filter(|run| run.arm == 0).filter_map(BlockRun::finite_value));
        self.close_block();
    }

    fn close_block(&mut self) {
        let better = self.close_evidence(|arm| arm.equal.above().current_wealth());
        let fails_more = self.close_evidence(|arm| arm.failing.current_wealth());
        let fails_little = self.close_evidence(|arm| arm.failing.tolerance_wealth());
        for (index, arm) in self.arms.iter_mut().enumerate() {
            arm.better_of_all = better[index];
            arm.fails_more_of_all = fails_more[index];
            arm.fails_little_of_all = fails_little[index];
        }
    }

    fn close_evidence(&self, evidence: impl Fn(&RaceArm) -> f64) -> Vec<f64> {
        closed_test(&self.arms.iter().map(evidence).collect::<Vec<f64>>())
    }

    /// Removes a live candidate because a guard is proven to be worse on it.
    pub fn bar_arm(&mut self, arm: usize) {
        if self.arm(arm).state == ArmState::Alive {
            self.take_out(arm, OutReason::GuardWorse);
            self.take_up_again();
        }
    }

    fn take_out(&mut self, arm: usize, why: OutReason) {
        self.arms[arm - 1].state = ArmState::Out { block: self.blocks, why };
    }

    /// Removes candidates that never worked, or that are proven to fail more often than the baseline.
    pub(super) fn drop_failed(&mut self) {
        let failed: Vec<usize> = self.alive_arms().filter(|&arm| self.has_failed(self.arm(arm))).collect();
        failed.into_iter().for_each(|arm| self.take_out(arm, OutReason::Failures));
    }

    /// A policy that allows a single failure, as for slots, protects users: it needs no proof.
    fn has_failed(&self, arm: &RaceArm) -> bool {
        let (most, of_baseline) = (self.policy.most_failures, self.baseline.failures);
        let never_worked = arm.failures == arm.runs && arm.failures >= most && arm.failures > of_baseline;
        let harms_users = most == 1 && arm.failures > 2 * of_baseline;
        never_worked || harms_users || arm.fails_more_of_all >= self.policy.needed_evidence()
    }

    /// Applies the rigorous rule: removes candidates that are proven not to be better by the margin.
    pub(super) fn drop_not_better(&mut self) {
        let enough = 1.0 / self.policy.error_rate;
        let dropped: Vec<usize> = self
            .alive_arms()
            .filter(|&arm| self.arm(arm).better_by_margin.below().current_wealth() >= enough && !self.is_gate_open(arm))
            .collect();
        dropped.into_iter().for_each(|arm| self.take_out(arm, OutReason::NotBetterByMargin));
    }

    /// Returns true if a gate asks whether a candidate is worse by the margin, and neither answer is proven.
    pub(super) fn is_gate_open(&self, arm: usize) -> bool {
        let (evidence, enough) = (&self.arm(arm).worse_by_margin, self.policy.needed_evidence());
        self.policy.gate_rule() == Some(GateRule::NotWorse)
            && evidence.above().current_wealth() < enough
            && evidence.below().current_wealth() < enough
    }

    /// Applies the greedy rule, while another arm is alive: removes arms three robust standard errors behind the
    /// leader, or below half the margin. A less restrictive arm must be behind by more than the margin, for it wins
    /// ties.
    fn drop_behind(&mut self) {
        let value =
            |race: &Self, arm: usize| race.arm(arm).estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.value);
        let mut order: Vec<usize> = self.alive_arms().collect();
        order.sort_by(|&a, &b| value(self, a).total_cmp(&value(self, b)).then(b.cmp(&a)));
        let Some(&leader) = order.last() else { return };
        let errors: Vec<f64> =
            order.iter().filter_map(|&arm| self.arm(arm).estimate).map(|found| found.error).collect();
        let least_error = median(&errors);
        let mut left = order.len();
        for arm in order {
            if left > 1 && self.is_behind(arm, leader, least_error) {
                self.take_out(arm, OutReason::BehindLeader);
                left -= 1;
            }
        }
    }

    /// Errors smaller than `least_error`, the median of all arms', are raised to it: few blocks may agree by chance.
    fn is_behind(&self, arm: usize, leader: usize, least_error: f64) -> bool {
        let margin = self.policy.margin_of(self.policy.what);
        let slack = if arm < leader { -margin } else { 0.0 };
        let first = match self.policy.what {
            QuestionKind::Typical => FIRST_GREEDY_BLOCK,
            QuestionKind::Mean | QuestionKind::Tail => FIRST_GREEDY_BLOCK_OF_RARE,
        };
        let is_below = |found: EffectEstimate, bound: f64| found.value + ERRORS * found.error.max(least_error) < bound;
        self.arm(arm).counted >= first
            && (self.arm(arm).estimate.is_some_and(|estimate| is_below(estimate, margin / 2.0))
                || (arm != leader && self.estimate_lead(arm, leader).is_some_and(|lead| is_below(lead, slack))))
    }

    /// Revives arms that were given up without proof, before any conclusion is drawn.
    fn take_up_again(&mut self) {
        if self.alive_arms().next().is_some() {
            return;
        }
        let given_up = |arm: &&mut RaceArm| matches!(arm.state, ArmState::Out { why: OutReason::BehindLeader, .. });
        for arm in self.arms.iter_mut().filter(given_up) {
            arm.state = ArmState::Alive;
            self.is_greedy = false;
        }
    }

    /// Estimates the advantage of one candidate over another, from the blocks that both were in.
    pub(super) fn estimate_lead(&self, arm: usize, other: usize) -> Option<EffectEstimate> {
        let (arm, other) = (self.arm(arm), self.arm(other));
        let both = |(block, outcome): (&u32, &BlockOutcome)| {
            let other = other.outcomes[other.at.binary_search(block).ok()?];
            Some(BlockOutcome { baseline: other.candidate, ..*outcome })
        };
        EffectEstimate::from_outcomes(
            &self.policy.deciding_question(),
            &arm.at.iter().zip(&arm.outcomes).filter_map(both).collect::<Vec<_>>(),
        )
    }
}

/// Computes the closed test: the evidence for an arm is the least mean over all sets of arms that contain it, which are
/// its own with the smallest of the others.
pub fn closed_test(evidence: &[f64]) -> Vec<f64> {
    let mut rising: Vec<(usize, f64)> = evidence.iter().copied().enumerate().collect();
    rising.sort_by(|one, other| one.1.total_cmp(&other.1));
    let least = |(index, own): (usize, &f64)| {
        let (mut sum, mut least) = (*own, *own);
        let others = rising.iter().filter(|(other, _)| *other != index);
        for (place, (_, other)) in others.enumerate() {
            sum += other;
            least = least.min(sum / (place + 2) as f64);
        }
        least
    };
    evidence.iter().enumerate().map(least).collect()
}

impl RaceBaseline {
    /// Returns true if it failed too often for a comparison.
    pub(super) fn has_failed(&self) -> bool {
        self.failures >= MOST_BASELINE_FAILURES && f64::from(self.failures) >= FAILING * f64::from(self.runs)
    }

    /// Returns the present median; `None` after few runs.
    fn usual_median(&self) -> Option<f64> {
        find_usual(&self.values)
    }
}

/// Returns the median of the baseline's values so far; `None` if they are few.
pub fn find_usual(values: &[f64]) -> Option<f64> {
    (values.len() >= FIRST_USUAL).then(|| median(values))
}

/// Returns true if a block has a run of every member. Other runs are allowed: experiments of earlier versions have the
/// baseline twice, and candidates that would be out by now.
pub(super) fn is_whole(members: &[usize], block: &RunBlock) -> bool {
    !members.is_empty() && members.iter().all(|member| block.runs.iter().any(|run| run.arm == *member))
}

/// Returns the arms in fresh, uniformly random order, which depends only on the seed and on the number of earlier
/// blocks.
pub(super) fn shuffle_arms(mut arms: Vec<usize>, seed: u64, blocks: u32) -> Vec<usize> {
    // Every block has a generator of its own; the seed is mixed first, so that neighbouring seeds share no block.
    let mixed = RandomGenerator::new(seed).next_bits();
    RandomGenerator::new(mixed.wrapping_add(u64::from(blocks))).shuffle(&mut arms);
    arms
}

impl RaceArm {
    fn new(policy: &JudgingPolicy) -> Self {
        let (question, margin) = (&policy.deciding_question(), policy.margin_of(policy.what));
        Self {
            state: ArmState::Alive,
            runs: 0,
            failures: 0,
            outcomes: Vec::new(),
            counted: 0,
            at: Vec::new(),
            equal: EffectEvidence::for_question(question, 0.0),
            better_by_margin: EffectEvidence::for_question(question, margin),
            worse_by_margin: EffectEvidence::for_question(question, -margin),
            better_of_all: 1.0,
            failing: FailureEvidence::new(policy),
            fails_more_of_all: 1.0,
            fails_little_of_all: 1.0,
            estimate: None,
        }
    }

    /// Takes a block's outcome into account; returns true if it was clamped.
    fn add_outcome(&mut self, question: &PlacementQuestion, outcome: BlockOutcome, block: u32) -> bool {
        self.better_by_margin.add_outcome(&outcome);
        self.worse_by_margin.add_outcome(&outcome);
        self.failing.add_outcome(&outcome);
        self.at.push(block);
        self.counted += usize::from(question.is_about(&outcome));
        self.outcomes.push(outcome);
        self.estimate = EffectEstimate::from_outcomes(question, &self.outcomes);
        self.equal.add_outcome(&outcome)
    }
}
