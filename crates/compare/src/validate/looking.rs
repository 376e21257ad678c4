//! Unlimited looking: how often the evidence ever reaches its threshold in 500 blocks of equal arms.

use std::time::Instant;

use corewise_model::experiment::{Evidence, Outcome};
use corewise_model::simulate::noise::RunNoise;
use corewise_model::simulate::{Effects, Trials};
use corewise_model::stats::random::Random;

use super::{Bounds, noises, percent, repeat, repetitions};

/// The prototype's figures: both directions, better at 1 in 40, better at 1 in 20, with one run of the baseline and with two.
const EXPECTED: [[f64; 6]; 8] = [
    [3.68, 1.74, 3.71, 3.77, 1.79, 3.64],
    [3.62, 1.89, 3.94, 3.40, 1.78, 3.85],
    [3.72, 2.01, 3.95, 3.90, 2.10, 3.83],
    [4.29, 2.07, 4.18, 3.47, 1.77, 3.51],
    [3.82, 1.86, 3.94, 3.45, 1.90, 3.56],
    [3.82, 1.94, 3.81, 3.39, 1.85, 3.94],
    [3.98, 2.10, 4.15, 3.23, 1.71, 3.52],
    [3.89, 1.93, 3.73, 3.68, 1.79, 3.66],
];
const BLOCKS: usize = 500;

/// Prints the table; no figure may exceed what was promised.
pub fn table(share: f64, trace: &[f64], bounds: &mut Bounds) {
    let count = repetitions(10_000.0, share);
    println!(
        "## Unlimited looking: % of {count} experiments with equal arms that ever claim a difference in {BLOCKS} blocks\n"
    );
    println!("| noise | m | either | prototype | better, 2/a | prototype | better, 1/a | prototype |");
    println!("|---|---|---|---|---|---|---|---|");
    for (index, noise) in noises(trace).iter().enumerate() {
        for baselines in [1, 2] {
            let claims = repeat(count, |seed| claims(noise, baselines, seed));
            let found: Vec<f64> = (0..3).map(|claim| percent(&claims, |claims| claims[claim])).collect();
            let expected = EXPECTED.get(index).map(|row| &row[3 * (baselines - 1)..]);
            let expected = |claim: usize| expected.map_or("-".into(), |row| format!("{:.2}", row[claim]));
            let cells: Vec<String> = (0..3).map(|claim| format!("{:.2} | {}", found[claim], expected(claim))).collect();
            println!("| {} | {baselines} | {} |", noise.word(), cells.join(" | "));
            for (claim, bound) in [(0, 5.0), (1, 2.5), (2, 5.0)] {
                bounds.at_most(&format!("claims under {} noise, m = {baselines}", noise.word()), found[claim], bound);
            }
        }
    }
}

/// Whether the evidence ever said: different, better at half the error rate, better at the whole.
fn claims(noise: &RunNoise, baselines: usize, seed: u64) -> [bool; 3] {
    let mut trials = Trials::new(&Effects::of(&[0.0]), noise, !seed);
    let mut order = Random::new(seed);
    let mut evidence = Evidence::new(0.0);
    let mut arms = vec![0; baselines];
    arms.push(1);
    let (mut better, mut worse) = (1.0_f64, 1.0_f64);
    for _ in 0..BLOCKS {
        order.shuffle(&mut arms);
        let block = trials.block(&arms);
        let candidate = block.runs.iter().find(|run| run.arm == 1).and_then(|run| run.x);
        let baselines: Vec<Option<f64>> = block.runs.iter().filter(|run| run.arm == 0).map(|run| run.x).collect();
        evidence.add(&Outcome::new(candidate, &baselines));
        better = better.max(evidence.above().now());
        worse = worse.max(evidence.below().now());
    }
    [better >= 40.0 || worse >= 40.0, better >= 40.0, better >= 20.0]
}

/// Times a fixed piece of work 2,500 times on this machine, as it is, and takes logarithms.
pub fn record_trace() -> Vec<f64> {
    let mut sum = 0_u64;
    let trace = (0..2500).map(|_| {
        let start = Instant::now();
        for step in 0..400_000_u64 {
            sum = std::hint::black_box(sum.rotate_left(5) ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        start.elapsed().as_secs_f64().ln()
    });
    trace.collect()
}
