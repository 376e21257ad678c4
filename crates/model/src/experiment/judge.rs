//! Judgement of a race: the verdict and each arm's part in it.

use super::carry_over::{carry_over, is_suspected};
use super::effect::{Estimate, effect, mean_costs};
use super::evidence::Evidence;
use super::question::What;
use super::race::{Arm, ERRORS, Race, closed};
use super::shape::modes;
use super::standing::{
    Answer, AnswerVerdict, ArmStanding, ArmState, ArmVerdict, CarryOver, Checks, Doubt, OutReason, Standing, Verdict,
};
use crate::stats::order::median;

/// Maximum number of runs in a forecast.
const MOST_PROMISED: f64 = 10_000.0;

impl Race {
    /// Returns true if nothing more can be gained: a winner is proven and no live rival may still beat it, no candidate
    /// is alive, the baseline keeps failing, or another block would exceed the policy's most runs.
    pub fn is_decided(&self) -> bool {
        self.is_over()
            || self.blocks >= self.policy.least_blocks
                && winner(self)
                    .is_some_and(|winner| !self.alive().any(|arm| self.is_rival(arm, winner)) && !self.may_carry_over())
    }

    /// Returns true if nothing more can be run: no candidate is alive, the baseline keeps failing, or another block
    /// would exceed the policy's most runs.
    pub fn is_over(&self) -> bool {
        let members = self.members();
        members.is_empty()
            || self.baseline.fails()
            || self.policy.most_runs.is_some_and(|most| self.runs as usize + members.len() > most as usize)
    }

    /// Returns the present winner: of the proven candidates within the margin of the best, the first.
    pub fn winner(&self) -> Option<usize> {
        winner(self)
    }

    /// Returns the present state. It searches for intervals, so it costs more than [`Race::add`].
    pub fn standing(&self) -> Standing {
        let checks = checks(self);
        let mut arms = vec![baseline(self)];
        let answers = answers(self);
        arms.extend(answers.into_iter().zip(1..).map(|(answers, arm)| candidate(self, arm, answers)));
        let contradicted_by = winner(self)
            .map_or_else(Vec::new, |winner| arms[winner].conflicts(&self.policy).map(|answer| answer.what).collect());
        let verdict =
            if checks.doubts.is_empty() { verdict(self) } else { Verdict::Unsound { why: checks.doubts.clone() } };
        Standing { verdict, contradicted_by, arms, guards: Vec::new(), checks, blocks: self.blocks, runs: self.runs }
    }

    /// Returns true if a carry-over is suspected: more runs will confirm or refute it.
    fn may_carry_over(&self) -> bool {
        is_suspected(&self.order, self.arms.len(), &self.policy)
    }

    /// Returns true if an arm that is alive and not proven may still be better than the winner by the margin, or, if it
    /// is less restrictive, as good within the margin.
    fn is_rival(&self, arm: usize, winner: usize) -> bool {
        let margin = self.policy.margin_of(self.policy.what);
        if arm == winner || self.arm(arm).better_of_all >= self.policy.enough() {
            return false;
        }
        let high = |estimate: Estimate| estimate.value + ERRORS * estimate.error;
        let may_reach = |needed: f64| self.lead(arm, winner).is_none_or(|lead| high(lead) >= needed);
        let may_win = self.arm(arm).estimate.is_none_or(|estimate| high(estimate) >= margin);
        may_reach(margin) || (arm < winner && may_win && may_reach(-margin))
    }
}

/// Returns the present winner: of the proven candidates within the margin of the best, the first.
pub(super) fn winner(race: &Race) -> Option<usize> {
    best(race, ArmVerdict::Wins)
}

/// Returns the first arm with the wanted verdict and an estimate within the margin of the best of these. Arms with a
/// worse guard are excluded.
fn best(race: &Race, wanted: ArmVerdict) -> Option<usize> {
    let estimate = |arm: usize| race.arm(arm).estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.value);
    let is_barred = |arm: &Arm| matches!(arm.state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let is_wanted = |arm: &Arm| arm_verdict(race, arm) == wanted && !is_barred(arm);
    let arms: Vec<usize> = (1..=race.arms.len()).filter(|&arm| is_wanted(race.arm(arm))).collect();
    let highest = arms.iter().map(|&arm| estimate(arm)).fold(f64::NEG_INFINITY, f64::max);
    arms.into_iter().find(|&arm| estimate(arm) >= highest - race.policy.margin_of(race.policy.what))
}

fn verdict(race: &Race) -> Verdict {
    if let Some(arm) = winner(race) {
        return Verdict::Wins { arm };
    }
    if race.alive().next().is_none() {
        if let Some(arm) = best(race, ArmVerdict::RealButBelowMargin) {
            return Verdict::RealButBelowMargin { arm };
        }
        // Arms given up without proof are alive again by now.
        let proven = |arm: &Arm| matches!(arm.state, ArmState::Out { why: OutReason::NotBetterByMargin, .. });
        if race.arms.iter().any(proven) {
            return Verdict::NoMaterialDifference;
        }
    }
    Verdict::Undecided { more_runs: more_runs(race) }
}

pub(super) fn arm_verdict(race: &Race, arm: &Arm) -> ArmVerdict {
    let enough = race.policy.enough();
    let not_better = arm.better_by_margin.below().now() >= enough;
    let not_worse = arm.worse_by_margin.above().now() >= enough;
    let proven = arm.better_of_all >= enough;
    let reaches = arm.estimate.is_some_and(|estimate| estimate.value >= race.policy.margin_of(race.policy.what));
    match () {
        () if matches!(arm.state, ArmState::Out { why: OutReason::Failures, .. }) => ArmVerdict::Failed,
        () if proven && not_better => ArmVerdict::RealButBelowMargin,
        () if proven && reaches => ArmVerdict::Wins,
        () if not_better && not_worse => ArmVerdict::NoMaterialDifference,
        () if arm.equal.below().now() >= enough => ArmVerdict::Worse,
        () if not_better => ArmVerdict::NotBetterByMargin,
        () => ArmVerdict::Undecided,
    }
}

/// Forecasts the number of runs that decide the race if the evidence keeps growing at its rate. Ends when an arm that
/// reaches the margin is proven better, or when all are proven not to be.
fn more_runs(race: &Race) -> Option<u32> {
    let enough = race.policy.enough();
    let margin = race.policy.margin_of(race.policy.what);
    let reaches = |arm: &Arm| arm.estimate.is_some_and(|estimate| estimate.value >= margin);
    let to_win = |arm: &Arm| more_blocks(arm, arm.equal.above().now(), enough * race.arms.len() as f64);
    let to_lose = |arm: &Arm| more_blocks(arm, arm.better_by_margin.below().now(), enough);
    let alive = || race.alive().map(|arm| race.arm(arm));
    let wins = alive().filter(|arm| reaches(arm)).filter_map(to_win).reduce(f64::min);
    let all_lose = || alive().map(to_lose).try_fold(0.0, |most: f64, blocks| Some(most.max(blocks?)));
    let blocks = wins.or_else(all_lose).filter(|_| race.alive().next().is_some())?;
    let runs = blocks.max(1.0).ceil() * race.members().len() as f64;
    (runs <= MOST_PROMISED).then_some(runs as u32)
}

/// Returns the number of further blocks for a wealth to grow from `now` to `needed`; `None` if it did not grow.
fn more_blocks(arm: &Arm, now: f64, needed: f64) -> Option<f64> {
    let growth = now.ln() / arm.counted as f64;
    (growth > 0.0 && growth.is_finite()).then(|| (needed.ln() - now.ln()) / growth)
}

fn checks(race: &Race) -> Checks {
    let carry_over = carry_over(&race.order, race.arms.len());
    let mut doubts = Vec::new();
    if race.baseline.fails() {
        doubts.push(Doubt::BaselineFails { failures: race.baseline.failures });
    }
    let counts = |found: &&CarryOver| found.counts(&race.order, race.arms.len(), &race.policy);
    doubts.extend(carry_over.as_ref().filter(counts).cloned().map(Doubt::CarryOver));
    Checks { carry_over, outliers: race.outliers, doubts }
}

/// Answers every question for each candidate, each with its own evidence.
fn answers(race: &Race) -> Vec<Vec<Answer>> {
    let mut answers = vec![Vec::new(); race.arms.len()];
    let enough = race.policy.enough();
    for what in What::ALL {
        let question = race.policy.asking(what);
        let equal = |arm: &Arm| {
            let mut evidence = Evidence::on(&question, 0.0);
            for outcome in &arm.outcomes {
                evidence.add(outcome);
            }
            evidence
        };
        let evidence: Vec<Evidence> = race.arms.iter().map(equal).collect();
        let better = closed(&evidence.iter().map(|evidence| evidence.above().now()).collect::<Vec<f64>>());
        for (index, arm) in race.arms.iter().enumerate() {
            let costs: Vec<[f64; 2]> = arm.outcomes.iter().filter_map(|outcome| question.costs(outcome)).collect();
            let (e_better, e_worse) = (better[index], evidence[index].below().now());
            answers[index].push(Answer {
                what,
                effect: effect(&question, &arm.outcomes, race.policy.error_rate),
                blocks: arm.outcomes.iter().filter(|outcome| question.is_about(outcome)).count() as u32,
                error: Estimate::on(&question, &arm.outcomes).map(|found| found.error),
                costs: (what != What::Typical && !costs.is_empty()).then(|| mean_costs(&costs)),
                e_better,
                e_worse,
                verdict: match () {
                    () if e_better >= enough => AnswerVerdict::Better,
                    () if e_worse >= enough => AnswerVerdict::Worse,
                    () => AnswerVerdict::Open,
                },
            });
        }
    }
    answers
}

fn baseline(race: &Race) -> ArmStanding {
    let values = &race.baseline.values;
    ArmStanding {
        arm: 0,
        runs: race.baseline.runs,
        failures: race.baseline.failures,
        median: (!values.is_empty()).then(|| median(values)),
        effect: None,
        e_better: 1.0,
        e_worse: 1.0,
        e_better_of_all: 1.0,
        e_not_better_by_margin: 1.0,
        e_not_worse_by_margin: 1.0,
        answers: Vec::new(),
        modes: modes(values),
        verdict: None,
        state: ArmState::Alive,
    }
}

fn candidate(race: &Race, number: usize, answers: Vec<Answer>) -> ArmStanding {
    let arm = race.arm(number);
    let values: Vec<f64> = arm.outcomes.iter().filter_map(|outcome| outcome.candidate).collect();
    ArmStanding {
        arm: number,
        runs: arm.runs,
        failures: arm.failures,
        median: (!values.is_empty()).then(|| median(&values)),
        effect: answers.iter().find(|answer| answer.what == race.policy.what).and_then(|answer| answer.effect),
        e_better: arm.equal.above().now(),
        e_worse: arm.equal.below().now(),
        e_better_of_all: arm.better_of_all,
        e_not_better_by_margin: arm.better_by_margin.below().now(),
        e_not_worse_by_margin: arm.worse_by_margin.above().now(),
        answers,
        modes: modes(&values),
        verdict: Some(arm_verdict(race, arm)),
        state: arm.state,
    }
}
