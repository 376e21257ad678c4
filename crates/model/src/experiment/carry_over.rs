//! Carry-over: whether runs that follow a certain arm differ from runs that follow the others.
//!
//! Randomisation cures drift, but not an arm that slows down (or speeds up) whoever runs next. Who that is was drawn, too,
//! so the runs after an arm are compared with the rest: each run's outcome without its arm's mean, its block's mean and
//! the mean of its place in the block, regressed on "follows this arm" without the same three means.

use super::race::Ordered;
use super::standing::CarryOver;
use crate::stats::order::median;

/// Fewer degrees of freedom than this tell nothing.
const FEWEST: f64 = 10.0;
/// How often the means are swept out, one after the other.
const SWEEPS: u32 = 12;
/// Residuals are clamped at this many robust standard deviations.
const CLAMP: f64 = 3.0;

/// A run with its groups: by arm, by block, and by place in blocks of the same length.
struct Entry {
    groups: [usize; 3],
    before: usize,
    x: f64,
}

/// The arm with the strongest effect on the run that follows it; absent before there are enough blocks.
pub(super) fn carry_over(blocks: &[Ordered], candidates: usize) -> Option<CarryOver> {
    let (entries, counts) = entries(blocks);
    let free = entries.len() as f64 - counts.iter().sum::<usize>() as f64;
    if free < FEWEST {
        return None;
    }
    let mut residuals: Vec<f64> = entries.iter().map(|entry| entry.x).collect();
    sweep(&entries, &counts, &mut residuals);
    clamp(&mut residuals);
    sweep(&entries, &counts, &mut residuals);
    (1..=candidates)
        .filter_map(|arm| after(arm, &entries, &counts, &residuals, free))
        .max_by(|a, b| a.standard_errors.abs().total_cmp(&b.standard_errors.abs()))
}

fn after(arm: usize, entries: &[Entry], counts: &[usize; 3], residuals: &[f64], free: f64) -> Option<CarryOver> {
    let mut follows: Vec<f64> = entries.iter().map(|entry| f64::from(u8::from(entry.before == arm))).collect();
    sweep(entries, counts, &mut follows);
    let weight: f64 = follows.iter().map(|value| value * value).sum();
    if weight < 1.0 {
        return None;
    }
    let slower = follows.iter().zip(residuals).map(|(follows, residual)| follows * residual).sum::<f64>() / weight;
    let rest = residuals.iter().zip(&follows).map(|(residual, follows)| residual - slower * follows);
    let error = (rest.map(|rest| rest * rest).sum::<f64>() / free / weight).sqrt();
    (error > 0.0).then(|| CarryOver { after_arm: arm, slower, standard_errors: normal(slower / error, free) })
}

/// Wallace's approximation: the standard normal deviate as improbable as Student's `t` with so many degrees of freedom.
fn normal(t: f64, free: f64) -> f64 {
    (free * (1.0 + t * t / free).ln()).sqrt().copysign(t) * (8.0 * free + 1.0) / (8.0 * free + 3.0)
}

/// The runs that did not fail and whose predecessor is known, and how many groups there are of each sort.
fn entries(blocks: &[Ordered]) -> (Vec<Entry>, [usize; 3]) {
    let mut entries = Vec::new();
    let (mut arms, mut places) = (Vec::new(), Vec::new());
    let index = |seen: &mut Vec<(usize, usize)>, key| {
        seen.iter().position(|other| *other == key).unwrap_or_else(|| {
            seen.push(key);
            seen.len() - 1
        })
    };
    for (number, block) in blocks.iter().enumerate() {
        let mut before = block.before;
        for (place, run) in block.runs.iter().enumerate() {
            if let (Some(before), Some(x)) = (before, run.value()) {
                let groups = [index(&mut arms, (run.arm, 0)), number, index(&mut places, (block.runs.len(), place))];
                entries.push(Entry { groups, before, x });
            }
            before = Some(run.arm);
        }
    }
    (entries, [arms.len(), blocks.len(), places.len()])
}

/// Takes the groups' means out of the values, one sort of groups after the other, again and again.
fn sweep(entries: &[Entry], counts: &[usize; 3], values: &mut [f64]) {
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

fn clamp(values: &mut [f64]) {
    let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let bound = CLAMP * 1.4826 * median(&sizes);
    values.iter_mut().for_each(|value| *value = value.clamp(-bound, bound));
}
