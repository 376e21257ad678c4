//! Carry-over: a difference of runs that follow a certain arm from runs that follow the others.
//!
//! Randomisation cures drift, but not an arm that slows down (or speeds up) the run after it. The next run was drawn,
//! too, so the runs after an arm are compared with the rest: all runs after a candidate, the runs of one arm after
//! another, and the baseline's runs after any candidate. Each run's outcome, without the means of its arm, its block and
//! its place in the block, is regressed on "is such a run" without the same three means.

#[cfg(test)]
mod tests;

use super::standing::{CarryOverCheck, CarryOverEffect};
use super::{BlockRun, JudgingPolicy, QuestionKind};
use crate::order::median;
use crate::student::{normal_deviate, t_value};

/// Minimum degrees of freedom.
const FEWEST: f64 = 10.0;
/// Minimum number of runs of an arm that follow another one, and that do not.
const FEWEST_FOLLOWING: usize = 4;
/// Number of sweeps over the three means.
const SWEEPS: u32 = 12;
/// Residuals are clamped at this many robust standard deviations.
const CLAMP: f64 = 3.0;

/// Minimum standard errors of a carry-over (more with several tests); it also must be able to move an estimate by this
/// share of the margin.
const ERRORS: f64 = 3.3;
/// Standard errors from which it is suspected, and a race with a winner goes on.
const SUSPECTED_ERRORS: f64 = 2.0;
const SHARE: f64 = 0.25;
/// Standard errors beyond the threshold at which 5 of 6 carry-overs are found: clamped residuals show them smaller than they are.
const ERRORS_TO_BE_SEEN: f64 = 3.0;

/// A whole block as it ran.
#[derive(Clone, Debug)]
pub(super) struct OrderedBlock {
    /// The arm that ran just before; `None` if unknown.
    pub(super) before: Option<usize>,
    pub(super) runs: Vec<BlockRun>,
}

/// A run with its groups: by arm, by block, and by place in blocks of the same length.
struct GroupedRun {
    groups: [usize; 3],
    arm: usize,
    before: usize,
    x: f64,
}

/// Runs that are compared with the other runs of the same arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FollowingRuns {
    /// All runs after a candidate.
    AllAfter(usize),
    /// The baseline's runs after a candidate.
    BaselineAfter(usize),
    /// A candidate's runs after the baseline.
    AfterBaseline(usize),
    /// The baseline's runs after any candidate.
    BaselineAfterAny,
}

/// A carry-over that was estimated.
struct TestedEffect {
    effect: CarryOverEffect,
    runs: FollowingRuns,
    /// Standard error of the slowdown, and its degrees of freedom.
    error: f64,
    free: f64,
    /// Share of the slowdown by which an arm is misjudged.
    share: f64,
    /// Number of tests among which it may be the largest by chance.
    family: usize,
}

/// The result of looking for carry-over at one lag.
pub(super) struct CarryOverSearch {
    tested: Vec<TestedEffect>,
}

impl FollowingRuns {
    /// Lists all that is tested. With one candidate, "after any candidate" is "after the candidate".
    fn list_tests(candidates: usize) -> Vec<Self> {
        let each = |of: fn(usize) -> Self| (1..=candidates).map(of);
        let any = (candidates > 1).then_some(Self::BaselineAfterAny);
        each(Self::AllAfter).chain(each(Self::BaselineAfter)).chain(each(Self::AfterBaseline)).chain(any).collect()
    }

    /// Returns true for the test that shows whether the baseline suffers from candidates.
    fn is_of_baseline(self, candidates: usize) -> bool {
        self == Self::BaselineAfterAny || candidates == 1 && self == Self::BaselineAfter(1)
    }

    /// Returns the arm of the runs, and the arm before them; `None` for all arms, and for any other arm.
    fn arms(self) -> (Option<usize>, Option<usize>) {
        match self {
            Self::AllAfter(arm) => (None, Some(arm)),
            Self::BaselineAfter(arm) => (Some(0), Some(arm)),
            Self::AfterBaseline(arm) => (Some(arm), Some(0)),
            Self::BaselineAfterAny => (Some(0), None),
        }
    }

    fn includes(self, run: &GroupedRun) -> bool {
        let (of, after) = self.arms();
        of.is_none_or(|arm| run.arm == arm) && after.map_or(run.before != run.arm, |arm| run.before == arm)
    }
}

impl CarryOverSearch {
    /// Looks at the next run after each.
    pub(super) fn new(blocks: &[OrderedBlock], candidates: usize) -> Self {
        Self::with_lag(blocks, candidates, 1, 1)
    }

    /// Looks at the run `lag` places later; one of `looks` such searches.
    pub(super) fn with_lag(blocks: &[OrderedBlock], candidates: usize, lag: usize, looks: usize) -> Self {
        let (entries, counts) = group_entries(blocks, lag);
        let free = entries.len() as f64 - counts.iter().sum::<usize>() as f64;
        if free < FEWEST {
            return Self { tested: Vec::new() };
        }
        let mut residuals: Vec<f64> = entries.iter().map(|entry| entry.x).collect();
        sweep_means(&entries, &counts, &mut residuals);
        clamp_values(&mut residuals);
        sweep_means(&entries, &counts, &mut residuals);
        let tests = FollowingRuns::list_tests(candidates);
        let pairs = tests.len() * looks;
        let family = |runs: FollowingRuns| match runs {
            FollowingRuns::AllAfter(_) => candidates * looks,
            _ => pairs,
        };
        let share_of_all = blocks.len() as f64 / blocks.iter().map(|block| block.runs.len()).sum::<usize>() as f64;
        let estimate = |runs: FollowingRuns| {
            let share = match runs {
                FollowingRuns::AllAfter(_) => share_of_all,
                _ => share_of_pair(runs, &entries)?,
            };
            let (effect, error) = estimate_after(runs, &entries, &counts, &residuals, free)?;
            Some(TestedEffect { effect, runs, error, free, share, family: family(runs) })
        };
        Self { tested: tests.into_iter().filter_map(estimate).collect() }
    }

    /// Returns the strongest effect, relative to its threshold.
    fn strongest(&self) -> Option<&TestedEffect> {
        self.tested.iter().max_by(|one, other| one.strength().total_cmp(&other.strength()))
    }

    /// Returns the strongest effect that is material at `errors` standard errors.
    fn find_material(&self, policy: &JudgingPolicy, errors: f64) -> Option<CarryOverEffect> {
        let material = self.tested.iter().filter(|tested| tested.is_material(policy, errors));
        let strongest = material.max_by(|one, other| one.strength().total_cmp(&other.strength()));
        strongest.map(|tested| tested.effect.clone())
    }

    /// Returns the effect that is a doubt.
    pub(super) fn find_doubt(&self, policy: &JudgingPolicy) -> Option<CarryOverEffect> {
        self.find_material(policy, ERRORS)
    }

    /// Returns true if a carry-over is suspected but not yet certain, so that more runs will show it.
    pub(super) fn is_suspected(&self, policy: &JudgingPolicy) -> bool {
        self.find_doubt(policy).is_none() && self.find_material(policy, SUSPECTED_ERRORS).is_some()
    }

    /// Returns the result for the reader.
    pub(super) fn summarize(&self, candidates: usize, policy: &JudgingPolicy) -> CarryOverCheck {
        if let Some(strongest) = self.find_doubt(policy) {
            return CarryOverCheck::Found { strongest };
        }
        if let Some(strongest) = self.find_material(policy, SUSPECTED_ERRORS) {
            return CarryOverCheck::Suspected { strongest };
        }
        let of_baseline = self.tested.iter().find(|tested| tested.runs.is_of_baseline(candidates));
        let (Some(of_baseline), Some(strongest)) = (of_baseline, self.strongest()) else {
            return CarryOverCheck::NotChecked;
        };
        CarryOverCheck::NotFound { strongest: strongest.effect.clone(), visible: of_baseline.visible_size() }
    }
}

impl TestedEffect {
    /// Returns the standard errors that its family of tests needs.
    fn needed_errors(&self, errors: f64) -> f64 {
        (errors * errors + 4.0 * (self.family.max(1) as f64).ln()).sqrt()
    }

    /// Returns the slowdown that would be found in 5 of 6 experiments.
    fn visible_size(&self) -> f64 {
        (t_value(self.needed_errors(ERRORS), self.free) + ERRORS_TO_BE_SEEN) * self.error
    }

    fn strength(&self) -> f64 {
        self.effect.standard_errors.abs() / self.needed_errors(ERRORS)
    }

    /// Returns true if it exceeds `errors` standard errors (more with several tests) and could move an estimate by the
    /// allowed share of the margin.
    fn is_material(&self, policy: &JudgingPolicy, errors: f64) -> bool {
        self.effect.standard_errors.abs() >= self.needed_errors(errors)
            && self.effect.slower.abs() * self.share >= SHARE * policy.margin_of(QuestionKind::Typical)
    }
}

/// Returns the share of an arm's runs that follow the other arm; `None` if there are too few of them, or of the rest.
/// (A candidate never follows itself within a block, so in blocks of `n` runs "all after it" counts as 1/n.)
fn share_of_pair(runs: FollowingRuns, entries: &[GroupedRun]) -> Option<f64> {
    let of_arm = || entries.iter().filter(|entry| Some(entry.arm) == runs.arms().0);
    let (all, following) = (of_arm().count(), of_arm().filter(|entry| runs.includes(entry)).count());
    (following >= FEWEST_FOLLOWING && all - following >= FEWEST_FOLLOWING).then(|| following as f64 / all as f64)
}

/// Returns the slowdown of some runs, and its standard error.
fn estimate_after(
    runs: FollowingRuns,
    entries: &[GroupedRun],
    counts: &[usize; 3],
    residuals: &[f64],
    free: f64,
) -> Option<(CarryOverEffect, f64)> {
    let mut follows: Vec<f64> = entries.iter().map(|entry| f64::from(u8::from(runs.includes(entry)))).collect();
    sweep_means(entries, counts, &mut follows);
    let weight: f64 = follows.iter().map(|value| value * value).sum();
    if weight < 1.0 {
        return None;
    }
    let slower = follows.iter().zip(residuals).map(|(follows, residual)| follows * residual).sum::<f64>() / weight;
    let rest = residuals.iter().zip(&follows).map(|(residual, follows)| residual - slower * follows);
    let error = (rest.map(|rest| rest * rest).sum::<f64>() / free / weight).sqrt();
    let (of_arm, after_arm) = runs.arms();
    let standard_errors = normal_deviate(slower / error, free);
    (error > 0.0).then_some((CarryOverEffect { of_arm, after_arm, slower, standard_errors }, error))
}

/// Returns the successful runs with a known predecessor, and the number of groups of each sort.
fn group_entries(blocks: &[OrderedBlock], lag: usize) -> (Vec<GroupedRun>, [usize; 3]) {
    let mut entries = Vec::new();
    let mut history: Vec<usize> = Vec::new();
    let (mut arms, mut places) = (Vec::new(), Vec::new());
    let index = |seen: &mut Vec<(usize, usize)>, key| {
        seen.iter().position(|other| *other == key).unwrap_or_else(|| {
            seen.push(key);
            seen.len() - 1
        })
    };
    for (number, block) in blocks.iter().enumerate() {
        // Some blocks are missing in between.
        if history.last().copied() != block.before {
            history.clear();
            history.extend(block.before);
        }
        for (place, run) in block.runs.iter().enumerate() {
            let before = history.len().checked_sub(lag).map(|at| history[at]);
            if let (Some(before), Some(x)) = (before, run.finite_value()) {
                let groups = [index(&mut arms, (run.arm, 0)), number, index(&mut places, (block.runs.len(), place))];
                entries.push(GroupedRun { groups, arm: run.arm, before, x });
            }
            history.push(run.arm);
        }
    }
    (entries, [arms.len(), blocks.len(), places.len()])
}

/// Subtracts the groups' means from the values, one sort of groups after the other, repeatedly.
fn sweep_means(entries: &[GroupedRun], counts: &[usize; 3], values: &mut [f64]) {
    for _ in 0..SWEEPS {
        for (sort, &count) in counts.iter().enumerate() {
            let mut sums = vec![(0.0, 0.0); count];
            for (entry, value) in entries.iter().zip(values.iter()) {
                let (sum, number) = &mut sums[entry.groups[sort]];
                *sum += value;
                *number += 1.0;
            }
            for (entry, value) in entries.iter().zip(values.iter_mut()) {
                let (sum, number) = sums[entry.groups[sort]];
                *value -= sum / number;
            }
        }
    }
}

fn clamp_values(values: &mut [f64]) {
    let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let bound = CLAMP * 1.4826 * median(&sizes);
    values.iter_mut().for_each(|value| *value = value.clamp(-bound, bound));
}
