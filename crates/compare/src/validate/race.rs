//! Races of several arms: equal ones, and ones with a better arm, up to 23 candidates.

use std::time::Instant;

use corewise_machine::random::RandomGenerator;
use corewise_statistics::experiment::{ExperimentStanding, JudgingPolicy, PlacementRace};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials, run_experiment};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_no_difference, is_undecided, is_unsound, log_gains, noise_models,
    percent_of, repeat_simulation, run_counts,
};

/// Returns the budget of the simulations: 60 blocks before any arm is dropped.
fn race_policy(candidates: usize) -> JudgingPolicy {
    JudgingPolicy { most_runs: Some(60 * (candidates + 1) as u32), ..JudgingPolicy::default() }
}

fn simulate_experiments(count: u64, percent: &[f64], noise: &RunNoise) -> Vec<ExperimentStanding> {
    let (effects, policy) = (ProgramEffects::from_gains(&log_gains(percent)), race_policy(percent.len()));
    repeat_simulation(count, |seed| run_experiment(&effects, noise, seed, &policy))
}

/// Simulates eight equal arms (the baseline and seven candidates) under every noise.
pub fn equal_arms(share: f64, trace: &[f64], bounds: &mut ErrorBounds) {
    let count = count_repetitions(4000.0, share);
    println!("\n## Eight equal arms: {count} experiments each\n");
    println!("| noise | false win % | runs, mean | no difference % | undecided % | unsound % |");
    println!("|---|--:|--:|--:|--:|--:|");
    for noise in noise_models(trace) {
        let standings = simulate_experiments(count, &[0.0; 7], &noise);
        let wins = percent_of(&standings, |standing| find_winner(standing).is_some());
        println!(
            "| {} | {wins:.2} | {:.0} | {:.1} | {:.1} | {:.2} |",
            noise.word(),
            run_counts(&standings).0,
            percent_of(&standings, is_no_difference),
            percent_of(&standings, is_undecided),
            percent_of(&standings, is_unsound),
        );
        bounds.at_most(&format!("false winners among 8 equal arms under {} noise", noise.word()), wins, 5.0);
    }
}

/// Races under typical noise, by the true gains in percent.
const RACES: [(&str, &[f64]); 10] = [
    ("1 equal", &[0.0]),
    ("1, +5 %", &[5.0]),
    ("3 equal", &[0.0; 3]),
    ("3, one +5 %", &[5.0, 0.0, 0.0]),
    ("7, one +5 %", &[5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("7: +5 0 0 -2 -5 -10 -30", &[5.0, 0.0, 0.0, -2.0, -5.0, -10.0, -30.0]),
    ("7: +10 +4 0 -2 -5 -10 -30", &[10.0, 4.0, 0.0, -2.0, -5.0, -10.0, -30.0]),
    ("15, one +5 %", &[5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("15 equal", &[0.0; 15]),
    ("23 equal", &[0.0; 23]),
];

/// Measures how the runs grow with the number of candidates.
pub fn print_scaling(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    println!("\n## Races under typical noise: {count} experiments each\n");
    println!("| candidates | true win % | wrong win % | runs, mean | runs, median | undecided % | unsound % |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (name, percents) in RACES {
        let standings = simulate_experiments(count, percents, &RunNoise::Typical);
        let wins = percent_of(&standings, |standing| find_winner(standing).is_some_and(|arm| percents[arm - 1] > 2.9));
        let wrong =
            percent_of(&standings, |standing| find_winner(standing).is_some_and(|arm| percents[arm - 1] <= 2.9));
        let (mean, median) = run_counts(&standings);
        println!(
            "| {name} | {wins:.1} | {wrong:.2} | {mean:.0} | {median:.0} | {:.1} | {:.2} |",
            percent_of(&standings, is_undecided),
            percent_of(&standings, is_unsound),
        );
        bounds.at_most(&format!("wrong winners of {name}"), wrong, 5.0);
        if percents.contains(&5.0) {
            bounds.at_least(&format!("true winners of {name}"), wins, 99.0);
        }
        match name {
            "1, +5 %" => bounds.at_most("median of the runs, one candidate with +5 %", median, 20.0),
            "7, one +5 %" => bounds.at_most("median of the runs, eight arms with one +5 %", median, 60.0),
            _ => {}
        }
    }
}

/// Measures the cost of judging: twelve candidates that stay alive for 300 blocks, with a verdict after the last.
pub fn print_cost() {
    let mut random = RandomGenerator::new(1);
    // Noise so large that no difference is ever proven.
    let wild = RunNoise::Trace((0..10_007).map(|_| 4.0 * random.next_normal()).collect());
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&[0.0; 12]), &wild, 1);
    let mut race = PlacementRace::new(12, &JudgingPolicy { margin: 0.0, error_rate: 1e-9, ..JudgingPolicy::default() });
    let mut runs = 0;
    let start = Instant::now();
    for _ in 0..300 {
        let arms = race.next_block(1);
        runs += arms.len();
        race.add_block(&trials.make_block(&arms));
    }
    let blocks = start.elapsed();
    let start = Instant::now();
    let alive = race.current_standing().arms.len();
    println!(
        "\n{runs} runs of {alive} arms in 300 blocks: {blocks:.0?} for all blocks, {:.0?} for the standing.",
        start.elapsed()
    );
}
