//! Unlimited looking: the share of experiments in which the evidence ever reaches its threshold in 500 blocks of equal arms.

use std::time::Instant;

use corewise_machine::random::RandomGenerator;
use corewise_model::experiment::{BlockOutcome, EffectEvidence, JudgingPolicy};
use corewise_model::simulate::noise::RunNoise;
use corewise_model::simulate::{ProgramEffects, SimulatedTrials};

use super::{ErrorBounds, count_repetitions, noise_models, percent_of, repeat_simulation};

const BLOCKS: usize = 500;

/// Prints the table; no figure may exceed the promised error rate.
pub fn print_table(share: f64, trace: &[f64], bounds: &mut ErrorBounds) {
    let count = count_repetitions(10_000.0, share);
    println!(
        "## Unlimited looking: % of {count} experiments with equal arms that ever claim a difference in {BLOCKS} blocks\n"
    );
    println!("| noise | better | worse |");
    println!("|---|--:|--:|");
    for noise in noise_models(trace) {
        let claims = repeat_simulation(count, |seed| evidence_claims(&noise, seed));
        let found = [0, 1].map(|claim| percent_of(&claims, |claims: &[bool; 2]| claims[claim]));
        println!("| {} | {:.2} | {:.2} |", noise.word(), found[0], found[1]);
        found.iter().for_each(|found| bounds.at_most(&format!("claims under {} noise", noise.word()), *found, 5.0));
    }
}

/// Returns true if the evidence ever claimed: better, worse.
fn evidence_claims(noise: &RunNoise, seed: u64) -> [bool; 2] {
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.0]), noise, !seed);
    let mut order = RandomGenerator::new(seed);
    let mut evidence = EffectEvidence::new(0.0);
    let mut arms = [0, 1];
    let (mut better, mut worse) = (1.0_f64, 1.0_f64);
    for _ in 0..BLOCKS {
        order.shuffle(&mut arms);
        let block = trials.make_block(&arms);
        let of = |arm| block.runs.iter().find(|run| run.arm == arm).and_then(|run| run.x);
        evidence.add_outcome(&BlockOutcome::from_pair(of(1), of(0)));
        better = better.max(evidence.above().current_wealth());
        worse = worse.max(evidence.below().current_wealth());
    }
    [better, worse].map(|evidence| evidence >= JudgingPolicy::default().needed_evidence())
}

/// Times a fixed piece of work 2,500 times on this machine, as it is, and returns logarithms.
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
