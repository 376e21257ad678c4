//! Judgement of a race: the verdict and each arm's part in it.

use super::GateRule;
use super::carry_over::CarryOverSearch;
use super::effect::{EffectEstimate, estimate_effect, mean_costs};
use super::evidence::EffectEvidence;
use super::paired::PairedRuns;
use super::partial::observe_partial_gain;
use super::question::QuestionKind;
use super::race::{ERRORS, PlacementRace, RaceArm, closed_test};
use super::shape::count_modes;
use super::standing::{
    AnswerVerdict, ArmStanding, ArmState, ArmVerdict, ExperimentChecks, ExperimentDoubt, ExperimentStanding, OutReason,
    QuestionAnswer, Verdict,
};
use crate::order::median;

/// Maximum number of runs in a forecast.
const MOST_PROMISED: f64 = 10_000.0;

impl PlacementRace {
    /// Returns true if nothing more can be gained: a winner is proven and no live rival may still beat it, no candidate
    /// is alive, the baseline keeps failing, or another block would exceed the policy's most runs. With a gate against worse candidates:
    /// if that is proven for each, or not.
    pub fn is_decided(&self) -> bool {
        let has_answer = || match (self.policy.gate_rule(), proven_winner(self)) {
            (Some(GateRule::NotWorse), _) => !self.alive_arms().any(|arm| self.is_gate_open(arm)),
            (_, winner) => winner.is_some_and(|winner| !self.alive_arms().any(|arm| self.is_rival(arm, winner))),
        };
        self.is_over() || self.blocks >= self.policy.least_blocks && has_answer() && !self.may_carry_over()
    }

    /// Returns true if nothing more can be run: no candidate is alive, the baseline keeps failing, or another block
    /// would exceed the policy's most runs.
    pub fn is_over(&self) -> bool {
        let members = self.next_members();
        members.is_empty()
            || self.baseline.has_failed()
            || self.policy.most_runs.is_some_and(|most| self.runs as usize + members.len() > most as usize)
    }

    /// Returns the present winner: of the proven candidates within the margin of the best, the first.
    pub fn find_winner(&self) -> Option<usize> {
        proven_winner(self)
    }

    /// Returns the present state. It searches for intervals, so it costs more than [`PlacementRace::add_outcome`].
    pub fn current_standing(&self) -> ExperimentStanding {
        let checks = run_checks(self);
        let mut arms = vec![baseline_standing(self)];
        let answers = answer_questions(self);
        arms.extend(answers.into_iter().zip(1..).map(|(answers, arm)| candidate_standing(self, arm, answers)));
        let better = proven_winner(self).or_else(|| best_within_margin(self, ArmVerdict::Better));
        let contradicted_by = better.map_or_else(Vec::new, |better| {
            arms[better].conflicting_answers(&self.policy).map(|answer| answer.what).collect()
        });
        let verdict =
            if checks.doubts.is_empty() { race_verdict(self) } else { Verdict::Unsound { why: checks.doubts.clone() } };
        ExperimentStanding {
            verdict,
            contradicted_by,
            open_points: Vec::new(),
            arms,
            guards: Vec::new(),
            checks,
            blocks: self.blocks,
            runs: self.runs,
        }
    }

    /// Returns true if a carry-over is suspected: more runs will confirm or refute it.
    fn may_carry_over(&self) -> bool {
        CarryOverSearch::new(&self.order, self.arms.len()).is_suspected(&self.policy)
    }

    /// Returns true if an arm that is alive and not proven may still be better than the winner by the margin, or, if it
    /// is less restrictive, as good within the margin.
    fn is_rival(&self, arm: usize, winner: usize) -> bool {
        let margin = self.policy.margin_of(self.policy.what);
        if arm == winner || self.arm(arm).better_of_all >= self.policy.needed_evidence() {
            return false;
        }
        let high = |estimate: EffectEstimate| estimate.value + ERRORS * estimate.error;
        let may_reach = |needed: f64| self.estimate_lead(arm, winner).is_none_or(|lead| high(lead) >= needed);
        let may_win = self.arm(arm).estimate.is_none_or(|estimate| high(estimate) >= margin);
        may_reach(margin) || (arm < winner && may_win && may_reach(-margin))
    }
}

/// Returns the present winner: of the proven candidates within the margin of the best, the first.
pub(super) fn proven_winner(race: &PlacementRace) -> Option<usize> {
    best_within_margin(race, ArmVerdict::Wins)
}

/// Returns the first arm with the wanted verdict and an estimate within the margin of the best of these. Arms with a
/// worse guard are excluded.
fn best_within_margin(race: &PlacementRace, wanted: ArmVerdict) -> Option<usize> {
    let estimate = |arm: usize| race.arm(arm).estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.value);
    let is_barred = |arm: &RaceArm| matches!(arm.state, ArmState::Out { why: OutReason::GuardWorse, .. });
    let is_wanted = |arm: &RaceArm| arm_verdict(race, arm) == wanted && !is_barred(arm);
    let arms: Vec<usize> = (1..=race.arms.len()).filter(|&arm| is_wanted(race.arm(arm))).collect();
    let highest = arms.iter().map(|&arm| estimate(arm)).fold(f64::NEG_INFINITY, f64::max);
    arms.into_iter().find(|&arm| estimate(arm) >= highest - race.policy.margin_of(race.policy.what))
}

/// Returns the answer of a race without doubts.
pub(super) fn race_verdict(race: &PlacementRace) -> Verdict {
    if let Some(arm) = proven_winner(race) {
        return Verdict::Wins { arm };
    }
    if race.alive_arms().next().is_none() {
        if let Some(arm) = best_within_margin(race, ArmVerdict::RealButBelowMargin) {
            return Verdict::RealButBelowMargin { arm };
        }
        // Arms given up without proof are alive again by now.
        let proven = |arm: &RaceArm| matches!(arm.state, ArmState::Out { why: OutReason::NotBetterByMargin, .. });
        if race.arms.iter().any(proven) {
            return Verdict::NoMaterialDifference;
        }
    }
    match best_within_margin(race, ArmVerdict::Better) {
        Some(arm) => Verdict::Better { arm, more_runs: runs_to_size(race, arm) },
        None => Verdict::Undecided { more_runs: more_runs(race) },
    }
}

pub(super) fn arm_verdict(race: &PlacementRace, arm: &RaceArm) -> ArmVerdict {
    let enough = race.policy.needed_evidence();
    let not_better = arm.better_by_margin.below().current_wealth() >= enough;
    let not_worse = arm.worse_by_margin.above().current_wealth() >= enough;
    let proven = arm.better_of_all >= enough;
    let reaches = arm.estimate.is_some_and(|estimate| estimate.value >= race.policy.margin_of(race.policy.what));
    match () {
        () if matches!(arm.state, ArmState::Out { why: OutReason::Failures, .. }) => ArmVerdict::Failed,
        () if proven && not_better => ArmVerdict::RealButBelowMargin,
        () if proven && may_fail_more(race, arm) => ArmVerdict::FailsMore,
        () if proven && reaches => ArmVerdict::Wins,
        () if proven => ArmVerdict::Better,
        () if not_better && not_worse => ArmVerdict::NoMaterialDifference,
        () if arm.equal.below().current_wealth() >= enough => ArmVerdict::Worse,
        () if not_better => ArmVerdict::NotBetterByMargin,
        () => ArmVerdict::Undecided,
    }
}

/// Returns true if an arm failed more often than the baseline, and is not proven to do so by less than the margin of
/// guards.
fn may_fail_more(race: &PlacementRace, arm: &RaceArm) -> bool {
    arm.failing.is_more() && arm.fails_little_of_all < race.policy.needed_evidence()
}

/// Forecasts the number of runs that decide the race if the evidence keeps growing at its rate. Ends when an arm that
/// reaches the margin is proven better, or when all are proven not to be.
fn more_runs(race: &PlacementRace) -> Option<u32> {
    let enough = race.policy.needed_evidence();
    let margin = race.policy.margin_of(race.policy.what);
    let reaches =
        |arm: &RaceArm| arm.estimate.is_some_and(|estimate| estimate.value >= margin) && !may_fail_more(race, arm);
    let to_win = |arm: &RaceArm| more_blocks(arm, arm.equal.above().current_wealth(), enough * race.arms.len() as f64);
    let to_lose = |arm: &RaceArm| more_blocks(arm, arm.better_by_margin.below().current_wealth(), enough);
    let alive = || race.alive_arms().map(|arm| race.arm(arm));
    let wins = alive().filter(|arm| reaches(arm)).filter_map(to_win).reduce(f64::min);
    let all_lose = || alive().map(to_lose).try_fold(0.0, |most: f64, blocks| Some(most.max(blocks?)));
    promise_runs(race, wins.or_else(all_lose).filter(|_| race.alive_arms().next().is_some())?)
}

/// Forecasts the number of runs that tell if an arm that is proven better is better by the margin, likewise.
fn runs_to_size(race: &PlacementRace, arm: usize) -> Option<u32> {
    let arm = race.arm(arm);
    let now = arm.better_by_margin.below().current_wealth();
    promise_runs(race, more_blocks(arm, now, race.policy.needed_evidence()).filter(|_| arm.state == ArmState::Alive)?)
}

/// Returns the runs of this number of blocks; `None` if they are too many for a forecast.
fn promise_runs(race: &PlacementRace, blocks: f64) -> Option<u32> {
    let runs = blocks.max(1.0).ceil() * race.next_members().len() as f64;
    (runs <= MOST_PROMISED).then_some(runs as u32)
}

/// Returns the number of further blocks for a wealth to grow from `now` to `needed`; `None` if it did not grow.
fn more_blocks(arm: &RaceArm, now: f64, needed: f64) -> Option<f64> {
    let growth = now.ln() / arm.counted as f64;
    (growth > 0.0 && growth.is_finite()).then(|| (needed.ln() - now.ln()) / growth)
}

fn run_checks(race: &PlacementRace) -> ExperimentChecks {
    let search = CarryOverSearch::new(&race.order, race.arms.len());
    let mut doubts = Vec::new();
    if race.baseline.has_failed() {
        doubts.push(ExperimentDoubt::BaselineFails { failures: race.baseline.failures });
    }
    doubts.extend(search.find_doubt(&race.policy).map(ExperimentDoubt::CarryOver));
    let carry_over = search.summarize(race.arms.len(), &race.policy);
    ExperimentChecks { carry_over, outliers: race.outliers, doubts }
}

/// Answers every question for each candidate, each with its own evidence.
fn answer_questions(race: &PlacementRace) -> Vec<Vec<QuestionAnswer>> {
    let mut answers = vec![Vec::new(); race.arms.len()];
    let enough = race.policy.needed_evidence();
    for what in QuestionKind::ALL {
        let question = race.policy.question_about(what);
        let equal = |arm: &RaceArm| {
            let mut evidence = EffectEvidence::for_question(&question, 0.0);
            for outcome in &arm.outcomes {
                evidence.add_outcome(outcome);
            }
            evidence
        };
        let evidence: Vec<EffectEvidence> = race.arms.iter().map(equal).collect();
        let better =
            closed_test(&evidence.iter().map(|evidence| evidence.above().current_wealth()).collect::<Vec<f64>>());
        for (index, arm) in race.arms.iter().enumerate() {
            let costs: Vec<[f64; 2]> =
                arm.outcomes.iter().filter_map(|outcome| question.block_costs(outcome)).collect();
            let (e_better, e_worse) = (better[index], evidence[index].below().current_wealth());
            answers[index].push(QuestionAnswer {
                what,
                effect: estimate_effect(&question, &arm.outcomes, race.policy.error_rate),
                blocks: arm.outcomes.iter().filter(|outcome| question.is_about(outcome)).count() as u32,
                error: EffectEstimate::from_outcomes(&question, &arm.outcomes).map(|found| found.error),
                costs: (what != QuestionKind::Typical && !costs.is_empty()).then(|| mean_costs(&costs)),
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

fn baseline_standing(race: &PlacementRace) -> ArmStanding {
    let values = &race.baseline.values;
    ArmStanding {
        arm: 0,
        runs: race.baseline.runs,
        failures: race.baseline.failures,
        paired_failures: [0; 2],
        e_fails_more: 1.0,
        e_fails_little: 1.0,
        median: (!values.is_empty()).then(|| median(values)),
        effect: None,
        e_better: 1.0,
        e_worse: 1.0,
        e_better_of_all: 1.0,
        e_not_better_by_margin: 1.0,
        e_not_worse_by_margin: 1.0,
        answers: Vec::new(),
        paired: None,
        partial: None,
        modes: count_modes(values),
        verdict: None,
        state: ArmState::Alive,
    }
}

fn candidate_standing(race: &PlacementRace, number: usize, answers: Vec<QuestionAnswer>) -> ArmStanding {
    let arm = race.arm(number);
    let values: Vec<f64> = arm.outcomes.iter().filter_map(|outcome| outcome.candidate).collect();
    ArmStanding {
        arm: number,
        runs: arm.runs,
        failures: arm.failures,
        paired_failures: arm.failing.counts,
        e_fails_more: arm.fails_more_of_all,
        e_fails_little: arm.fails_little_of_all,
        median: (!values.is_empty()).then(|| median(&values)),
        effect: answers.iter().find(|answer| answer.what == race.policy.what).and_then(|answer| answer.effect),
        e_better: arm.equal.above().current_wealth(),
        e_worse: arm.equal.below().current_wealth(),
        e_better_of_all: arm.better_of_all,
        e_not_better_by_margin: arm.better_by_margin.below().current_wealth(),
        e_not_worse_by_margin: arm.worse_by_margin.above().current_wealth(),
        answers,
        paired: Some(PairedRuns::from_outcomes(&arm.outcomes, race.policy.slow)),
        partial: observe_partial_gain(&arm.outcomes),
        modes: count_modes(&values),
        verdict: Some(arm_verdict(race, arm)),
        state: arm.state,
    }
}
