//! One candidate: how frequently effects of several sizes are found, the number of runs, and the coverage of the interval.

use corewise_model::trial::{ConfirmationStretch, StretchLength};
use corewise_statistics::experiment::{BlockRun, ExperimentStanding, JudgingPolicy, PlacementRace, RunBlock};
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials, run_experiment};

use super::{
    ErrorBounds, count_repetitions, find_winner, is_better, is_no_difference, is_small, is_undecided, is_unsound,
    is_wrong, log_gains, noise_models, percent_of, repeat_simulation, run_counts,
};

/// The budget: 50 pairs.
const MOST_RUNS: u32 = 100;
/// Prints the table.
pub fn print_table(share: f64, trace: &[f64], bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    println!("\n## One candidate, at most {MOST_RUNS} runs: {count} experiments each\n");
    println!(
        "| noise | true | wins % | better % | below the margin % | no difference % | undecided % | unsound % | wrong % | \
         runs, mean | runs, median | lower end holds % | upper end holds % |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for noise in noise_models(trace) {
        [1.0, 3.0, 5.0, 10.0].into_iter().for_each(|size| print_row(count, &noise, size, bounds));
    }
}

fn print_row(count: u64, noise: &RunNoise, size: f64, bounds: &mut ErrorBounds) {
    let truth = log_gains(&[size])[0];
    let policy = JudgingPolicy { most_runs: Some(MOST_RUNS), ..JudgingPolicy::default() };
    let standings =
        repeat_simulation(count, |seed| run_experiment(&ProgramEffects::from_gains(&[truth]), noise, seed, &policy));
    let wins = percent_of(&standings, |standing| find_winner(standing).is_some());
    let same = percent_of(&standings, is_no_difference);
    let wrong = percent_of(&standings, |standing| is_wrong(standing, truth, policy.margin_ln()));
    let (mean, median) = run_counts(&standings);
    let holds = [true, false].map(|lower| percent_of(&standings, |standing| interval_holds(standing, truth, lower)));
    println!(
        "| {} | +{size} % | {wins:.1} | {:.1} | {:.1} | {same:.1} | {:.1} | {:.2} | {wrong:.2} | {mean:.0} | {median:.0} | \
         {:.1} | {:.1} |",
        noise.word(),
        percent_of(&standings, is_better),
        percent_of(&standings, is_small),
        percent_of(&standings, is_undecided),
        percent_of(&standings, is_unsound),
        holds[0],
        holds[1],
    );
    holds
        .iter()
        .for_each(|held| bounds.at_least(&format!("bounds that hold under {} noise", noise.word()), *held, 95.0));
    bounds.at_most(&format!("wrong proofs about +{size} % under {} noise", noise.word()), wrong, 5.0);
    if *noise == RunNoise::Typical && size == 1.0 {
        bounds.at_least("a true 1 % called no material difference", same, 80.0);
    }
    if *noise == RunNoise::Typical && size == 5.0 {
        bounds.at_least("a true 5 % found", wins, 99.0);
        bounds.at_most("median of the runs for it", median, 20.0);
    }
}

fn interval_holds(standing: &ExperimentStanding, truth: f64, lower: bool) -> bool {
    let end_holds = |effect: corewise_statistics::experiment::BaselineEffect| match lower {
        true => effect.low.is_none_or(|low| low <= truth),
        false => effect.high.is_none_or(|high| truth <= high),
    };
    standing.arms[1].effect.is_none_or(end_holds)
}

/// Simulates an equal candidate that slows down the next run.
pub fn carry_over(share: f64) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Carry-over: an equal candidate that slows the next run, typical noise: {count} experiments each\n");
    println!(
        "| candidates | carry-over | limit of runs | false win % | unsound % | no difference % | undecided % | runs |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for (candidates, size) in [(1, 0.0), (1, 1.0), (1, 2.0), (1, 5.0), (3, 0.0), (3, 5.0)] {
        let limit = if candidates == 1 { MOST_RUNS } else { 3 * MOST_RUNS };
        let policy = JudgingPolicy { most_runs: Some(limit), ..JudgingPolicy::default() };
        let effects = ProgramEffects {
            carry_over: f64::ln(1.0 + size / 100.0),
            ..ProgramEffects::from_gains(&vec![0.0; candidates])
        };
        let standings = repeat_simulation(count, |seed| run_experiment(&effects, &RunNoise::Typical, seed, &policy));
        println!(
            "| {candidates} | {size} % | {limit} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} |",
            percent_of(&standings, |standing| find_winner(standing).is_some()),
            percent_of(&standings, is_unsound),
            percent_of(&standings, is_no_difference),
            percent_of(&standings, is_undecided),
            run_counts(&standings).0,
        );
    }
}

/// Simulates an equal candidate that slows the runs after it, wearing off, so that it is much slower if it runs alone. Compares the verdict
/// in blocks with that of the winners in stretches.
pub fn check_confirmation(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## Confirmed in stretches of 20 runs, typical noise: {count} experiments each\n");
    println!(
        "| true gain | slows the next run by | left after each run | alone it is | wins in blocks % | wins and is confirmed % |"
    );
    println!("|---|---|---|---|--:|--:|");
    for (gain, carried, left) in
        [(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (0.0, 5.0, 0.0), (0.0, 5.0, 0.5), (0.0, 5.0, 0.8), (0.0, 2.0, 0.9)]
    {
        let carry_over = f64::ln(1.0 + carried / 100.0);
        let effects =
            ProgramEffects { carry_over, carry_over_left: left, ..ProgramEffects::from_gains(&log_gains(&[gain])) };
        let policy = JudgingPolicy { most_runs: Some(MOST_RUNS), ..JudgingPolicy::default() };
        let found = repeat_simulation(count, |seed| {
            let wins = find_winner(&run_experiment(&effects, &RunNoise::Typical, seed, &policy)).is_some();
            [wins, wins && is_confirmed(&effects, !seed)]
        });
        let [wins, confirmed] = [0, 1].map(|place| percent_of(&found, |found: &[bool; 2]| found[place]));
        let alone = 100.0 * ((carry_over / (1.0 - left) - f64::ln(1.0 + gain / 100.0)).exp() - 1.0);
        println!("| +{gain} % | {carried} % | {left} | {alone:+.0} % slower | {wins:.1} | {confirmed:.1} |");
        match gain > 0.0 {
            true => bounds.at_least("a true winner is confirmed", confirmed, 90.0),
            false => bounds.at_most(&format!("a false winner is confirmed, {carried} % left {left}"), confirmed, 5.0),
        }
    }
}

fn is_confirmed(effects: &ProgramEffects, seed: u64) -> bool {
    let ConfirmationStretch { runs, skipped, .. } = ConfirmationStretch::of_runs(StretchLength::Long, 1.0);
    let mut trials = SimulatedTrials::new(effects, &RunNoise::Typical, !seed);
    let mut race = PlacementRace::new(1, &JudgingPolicy { most_runs: Some(2 * 60), ..JudgingPolicy::default() });
    while !race.is_decided() {
        let mut stretch = |arm: usize| {
            let values: Vec<f64> = (0..runs).filter_map(|_| trials.run(arm).x).map(f64::exp).collect();
            let counted = &values[skipped as usize..];
            BlockRun { arm, x: Some((counted.iter().sum::<f64>() / counted.len() as f64).ln()) }
        };
        let runs = race.next_block(seed).into_iter().map(&mut stretch).collect();
        race.add_block(&RunBlock { runs });
    }
    find_winner(&race.current_standing()).is_some()
}
