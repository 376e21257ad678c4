//! One candidate: how frequently effects of several sizes are found, the number of runs, and the coverage of the interval.

use corewise_machine::random::Random;
use corewise_model::experiment::{Block, Policy, Race, Run, Standing};
use corewise_model::simulate::noise::RunNoise;
use corewise_model::simulate::{self, Effects, Trials};
use corewise_model::trial::Stretch;

use super::{
    Bounds, gains, is_no_difference, is_small, is_undecided, is_unsound, noises, percent, repeat, repetitions, runs,
    winner,
};

/// The budget: 50 pairs.
const MOST_RUNS: u32 = 100;
/// Prints the table.
pub fn table(share: f64, trace: &[f64], bounds: &mut Bounds) {
    let count = repetitions(2000.0, share);
    println!("\n## One candidate, at most {MOST_RUNS} runs: {count} experiments each\n");
    println!(
        "| noise | true | wins % | below the margin % | no difference % | undecided % | unsound % | runs, mean | \
         runs, median | lower end holds % | upper end holds % |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for noise in noises(trace) {
        [1.0, 3.0, 5.0, 10.0].into_iter().for_each(|size| row(count, &noise, size, bounds));
    }
}

fn row(count: u64, noise: &RunNoise, size: f64, bounds: &mut Bounds) {
    let truth = gains(&[size])[0];
    let policy = Policy { most_runs: Some(MOST_RUNS), ..Policy::default() };
    let standings = repeat(count, |seed| simulate::experiment(&Effects::of(&[truth]), noise, seed, &policy));
    let wins = percent(&standings, |standing| winner(standing).is_some());
    let same = percent(&standings, is_no_difference);
    let (mean, median) = runs(&standings);
    let holds = [true, false].map(|lower| percent(&standings, |standing| holds(standing, truth, lower)));
    println!(
        "| {} | +{size} % | {wins:.1} | {:.1} | {same:.1} | {:.1} | {:.2} | {mean:.0} | {median:.0} | {:.1} | {:.1} |",
        noise.word(),
        percent(&standings, is_small),
        percent(&standings, is_undecided),
        percent(&standings, is_unsound),
        holds[0],
        holds[1],
    );
    holds
        .iter()
        .for_each(|held| bounds.at_least(&format!("bounds that hold under {} noise", noise.word()), *held, 95.0));
    if *noise == RunNoise::Typical && size == 1.0 {
        bounds.at_least("a true 1 % called no material difference", same, 80.0);
    }
    if *noise == RunNoise::Typical && size == 5.0 {
        bounds.at_least("a true 5 % found", wins, 99.0);
        bounds.at_most("median of the runs for it", median, 20.0);
    }
}

fn holds(standing: &Standing, truth: f64, lower: bool) -> bool {
    let end_holds = |effect: corewise_model::experiment::Effect| match lower {
        true => effect.low.is_none_or(|low| low <= truth),
        false => effect.high.is_none_or(|high| truth <= high),
    };
    standing.arms[1].effect.is_none_or(end_holds)
}

/// Simulates an equal candidate that slows down the next run.
pub fn carry_over(share: f64) {
    let count = repetitions(1000.0, share);
    println!("\n## Carry-over: an equal candidate that slows the next run, typical noise: {count} experiments each\n");
    println!(
        "| candidates | carry-over | limit of runs | false win % | unsound % | no difference % | undecided % | runs |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for (candidates, size) in [(1, 0.0), (1, 1.0), (1, 2.0), (1, 5.0), (3, 0.0), (3, 5.0)] {
        let limit = if candidates == 1 { MOST_RUNS } else { 3 * MOST_RUNS };
        let policy = Policy { most_runs: Some(limit), ..Policy::default() };
        let effects = Effects { carry_over: f64::ln(1.0 + size / 100.0), ..Effects::of(&vec![0.0; candidates]) };
        let standings = repeat(count, |seed| simulate::experiment(&effects, &RunNoise::Typical, seed, &policy));
        println!(
            "| {candidates} | {size} % | {limit} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} |",
            percent(&standings, |standing| winner(standing).is_some()),
            percent(&standings, is_unsound),
            percent(&standings, is_no_difference),
            percent(&standings, is_undecided),
            runs(&standings).0,
        );
    }
}

/// Simulates one candidate with little noise and much: the number of runs until it wins, without a limit that matters.
pub fn small_effects(share: f64, bounds: &mut Bounds) {
    const MOST: u32 = 6000;
    let count = repetitions(400.0, share);
    println!("\n## Small effects under white noise, at most {MOST} runs: {count} experiments each\n");
    println!("| candidates | true | noise | wins % | undecided % | runs, mean | runs, median |");
    println!("|---|---|---|--:|--:|--:|--:|");
    for (candidates, size, noise) in
        [(1, 3.0, 1.2), (1, 3.0, 5.0), (1, 3.0, 10.0), (1, 5.0, 5.0), (1, 10.0, 10.0), (7, 5.0, 1.2)]
    {
        let policy = Policy { margin: 0.0, most_runs: Some(MOST), ..Policy::default() };
        let mut sizes = vec![0.0; candidates];
        sizes[0] = size;
        let white = |seed: u64| {
            let mut random = Random::new(seed);
            RunNoise::Trace((0..10_007).map(|_| noise / 100.0 * random.normal()).collect())
        };
        let effects = Effects::of(&gains(&sizes));
        let standings = repeat(count, |seed| simulate::experiment(&effects, &white(seed), seed, &policy));
        let (wins, (mean, median)) = (percent(&standings, |standing| winner(standing) == Some(1)), runs(&standings));
        let undecided = percent(&standings, is_undecided);
        println!("| {candidates} | +{size} % | {noise} % | {wins:.1} | {undecided:.1} | {mean:.0} | {median:.0} |");
        bounds.at_least(&format!("+{size} % found at {noise} % noise"), wins, 90.0);
    }
}

/// Simulates an equal candidate that slows the runs after it, wearing off, so that it is much slower if it runs alone. Compares the verdict
/// in blocks with that of the winners in stretches.
pub fn confirmed(share: f64, bounds: &mut Bounds) {
    let count = repetitions(1000.0, share);
    println!("\n## Confirmed in stretches of 20 runs, typical noise: {count} experiments each\n");
    println!(
        "| true gain | slows the next run by | left after each run | alone it is | wins in blocks % | wins and is confirmed % |"
    );
    println!("|---|---|---|---|--:|--:|");
    for (gain, carried, left) in
        [(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (0.0, 5.0, 0.0), (0.0, 5.0, 0.5), (0.0, 5.0, 0.8), (0.0, 2.0, 0.9)]
    {
        let carry_over = f64::ln(1.0 + carried / 100.0);
        let effects = Effects { carry_over, carry_over_left: left, ..Effects::of(&gains(&[gain])) };
        let policy = Policy { most_runs: Some(MOST_RUNS), ..Policy::default() };
        let found = repeat(count, |seed| {
            let wins = winner(&simulate::experiment(&effects, &RunNoise::Typical, seed, &policy)).is_some();
            [wins, wins && is_confirmed(&effects, !seed)]
        });
        let [wins, confirmed] = [0, 1].map(|place| percent(&found, |found: &[bool; 2]| found[place]));
        let alone = 100.0 * ((carry_over / (1.0 - left) - f64::ln(1.0 + gain / 100.0)).exp() - 1.0);
        println!("| +{gain} % | {carried} % | {left} | {alone:+.0} % slower | {wins:.1} | {confirmed:.1} |");
        match gain > 0.0 {
            true => bounds.at_least("a true winner is confirmed", confirmed, 90.0),
            false => bounds.at_most(&format!("a false winner is confirmed, {carried} % left {left}"), confirmed, 5.0),
        }
    }
}

fn is_confirmed(effects: &Effects, seed: u64) -> bool {
    let Stretch { runs, skipped, .. } = Stretch::of_runs(1.0, None);
    let mut trials = Trials::new(effects, &RunNoise::Typical, !seed);
    let mut race = Race::new(1, &Policy { most_runs: Some(2 * 60), ..Policy::default() });
    while !race.is_decided() {
        let mut stretch = |arm: usize| {
            let values: Vec<f64> = (0..runs).filter_map(|_| trials.run(arm).x).map(f64::exp).collect();
            let counted = &values[skipped as usize..];
            Run { arm, x: Some((counted.iter().sum::<f64>() / counted.len() as f64).ln()) }
        };
        let runs = race.next_block(seed).into_iter().map(&mut stretch).collect();
        race.add(&Block { runs });
    }
    winner(&race.standing()).is_some()
}
