//! Carry-over: a difference of runs that follow a certain arm from runs that follow the others.
//!
//! Randomisation cures drift, but not an arm that slows down (or speeds up) the run after it. The next run was drawn,
//! too, so the runs after an arm are compared with the rest. Each run's outcome, without the means of its arm, its
//! block and its place in the block, is regressed on "follows this arm" without the same three means.

use super::standing::CarryOverEffect;
use super::{BlockRun, JudgingPolicy, QuestionKind};
use crate::stats::order::median;
use crate::stats::student::normal_deviate;

/// Minimum degrees of freedom.
const FEWEST: f64 = 10.0;
/// Number of sweeps over the three means.
const SWEEPS: u32 = 12;
/// Residuals are clamped at this many robust standard deviations.
const CLAMP: f64 = 3.0;

/// Minimum standard errors of a carry-over (more with several candidates); it also must be able to move an estimate by
/// this share of the margin.
pub(super) const ERRORS: f64 = 3.3;
/// Standard errors from which it is suspected, and a race with a winner goes on.
const SUSPECTED_ERRORS: f64 = 2.0;
const SHARE: f64 = 0.25;

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
    before: usize,
    x: f64,
}

/// Returns the arm with the strongest effect on the run that follows it; `None` before there are enough blocks.
pub(super) fn carry_over(blocks: &[OrderedBlock], candidates: usize) -> Option<CarryOverEffect> {
    carry_over_at(blocks, candidates, 1)
}

/// Returns the same for the run `lag` places later.
pub(super) fn carry_over_at(blocks: &[OrderedBlock], candidates: usize, lag: usize) -> Option<CarryOverEffect> {
    let (entries, counts) = group_entries(blocks, lag);
    let free = entries.len() as f64 - counts.iter().sum::<usize>() as f64;
    if free < FEWEST {
        return None;
    }
    let mut residuals: Vec<f64> = entries.iter().map(|entry| entry.x).collect();
    sweep_means(&entries, &counts, &mut residuals);
    clamp_values(&mut residuals);
    sweep_means(&entries, &counts, &mut residuals);
    (1..=candidates)
        .filter_map(|arm| estimate_after(arm, &entries, &counts, &residuals, free))
        .max_by(|a, b| a.standard_errors.abs().total_cmp(&b.standard_errors.abs()))
}

/// Returns true if a carry-over is suspected but not yet certain, so that more runs will show it.
pub(super) fn is_suspected(blocks: &[OrderedBlock], candidates: usize, policy: &JudgingPolicy) -> bool {
    carry_over(blocks, candidates).is_some_and(|found| {
        found.is_material(blocks, candidates, policy, SUSPECTED_ERRORS)
            && !found.counts_as_doubt(blocks, candidates, policy)
    })
}

impl CarryOverEffect {
    /// Returns true if it is a doubt.
    pub(super) fn counts_as_doubt(&self, blocks: &[OrderedBlock], candidates: usize, policy: &JudgingPolicy) -> bool {
        self.is_material(blocks, candidates, policy, ERRORS)
    }

    /// Returns true if it exceeds `errors` standard errors (more with several candidates) and could move an estimate by
    /// the allowed share of the margin. An arm never follows itself, so in blocks of `n` runs its advantage over the
    /// others is about 1/n of the effect.
    pub(super) fn is_material(
        &self,
        blocks: &[OrderedBlock],
        candidates: usize,
        policy: &JudgingPolicy,
        errors: f64,
    ) -> bool {
        let enough = (errors * errors + 4.0 * (candidates.max(1) as f64).ln()).sqrt();
        let runs: usize = blocks.iter().map(|block| block.runs.len()).sum();
        let bias = self.slower.abs() * blocks.len() as f64 / runs as f64;
        self.standard_errors.abs() >= enough && bias >= SHARE * policy.margin_of(QuestionKind::Typical)
    }
}

fn estimate_after(
    arm: usize,
    entries: &[GroupedRun],
    counts: &[usize; 3],
    residuals: &[f64],
    free: f64,
) -> Option<CarryOverEffect> {
    let mut follows: Vec<f64> = entries.iter().map(|entry| f64::from(u8::from(entry.before == arm))).collect();
    sweep_means(entries, counts, &mut follows);
    let weight: f64 = follows.iter().map(|value| value * value).sum();
    if weight < 1.0 {
        return None;
    }
    let slower = follows.iter().zip(residuals).map(|(follows, residual)| follows * residual).sum::<f64>() / weight;
    let rest = residuals.iter().zip(&follows).map(|(residual, follows)| residual - slower * follows);
    let error = (rest.map(|rest| rest * rest).sum::<f64>() / free / weight).sqrt();
    (error > 0.0).then(|| CarryOverEffect {
        after_arm: arm,
        slower,
        standard_errors: normal_deviate(slower / error, free),
    })
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
                entries.push(GroupedRun { groups, before, x });
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
