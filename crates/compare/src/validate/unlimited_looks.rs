//! Unlimited looking: the share of experiments in which the evidence ever reaches its threshold in 500 blocks of equal arms.

use std::time::Instant;

use corewise_machine::random::RandomGenerator;
use corewise_statistics::experiment::{BlockOutcome, EffectEvidence, ExpectedNoise, JudgingPolicy, PlacementRace};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};

use super::{ErrorBounds, count_repetitions, noise_models, percent_of, repeat_simulation};

const BLOCKS: usize = 500;

/// Prints the table; no figure may exceed the promised error rate.
pub fn print_table(share: f64, trace: &[f64], bounds: &mut ErrorBounds) {
    let count = count_repetitions(10_000.0, share);
    println!(
        "## Unlimited looking: % of {count} experiments with equal arms that ever claim a difference in {BLOCKS} blocks\n"
    );
    println!("The expected noise is a multiple of that of an earlier experiment.\n");
    println!("| noise | expected | better | worse |");
    println!("|---|---|--:|--:|");
    let expectations = [("none", None), ("0.1x", Some(0.1)), ("1x", Some(1.0)), ("10x", Some(10.0))];
    let rows = noise_models(trace).into_iter().flat_map(|noise| expectations.map(|expected| (noise.clone(), expected)));
    for (noise, (word, times)) in rows {
        let expected_noise = times.map(|times| expect_noise(times, &noise));
        let policy = JudgingPolicy { expected_noise, ..JudgingPolicy::default() };
        let claims = repeat_simulation(count, |seed| evidence_claims(&noise, &policy, seed));
        let found = [0, 1].map(|claim| percent_of(&claims, |claims: &[bool; 2]| claims[claim]));
        println!("| {} | {word} | {:.2} | {:.2} |", noise.word(), found[0], found[1]);
        found.iter().for_each(|found| bounds.at_most(&format!("claims under {} noise", noise.word()), *found, 5.0));
    }
}

/// Returns a multiple of the noise that an experiment of forty blocks measures.
fn expect_noise(times: f64, noise: &RunNoise) -> ExpectedNoise {
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.02]), noise, 5);
    let mut race = PlacementRace::new(1, &JudgingPolicy { least_blocks: 40, ..JudgingPolicy::default() });
    (0..40).for_each(|_| race.add_block(&trials.make_block(&race.next_block(5))));
    ExpectedNoise { gain_deviation: times * race.measure_gain_noise().unwrap_or_default(), experiment: None }
}

/// Returns true if the evidence ever claimed: better, worse.
fn evidence_claims(noise: &RunNoise, policy: &JudgingPolicy, seed: u64) -> [bool; 2] {
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.0]), noise, !seed);
    let mut order = RandomGenerator::new(seed);
    let mut evidence = EffectEvidence::for_policy(policy, 0.0);
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
