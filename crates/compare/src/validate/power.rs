//! One candidate: how often effects of several sizes are found, in how many runs, and whether the interval holds them.

use corewise_model::experiment::{Policy, Standing};
use corewise_model::simulate::noise::RunNoise;
use corewise_model::simulate::{self, Effects};

use super::{
    Bounds, gains, is_no_difference, is_small, is_undecided, is_unsound, noises, percent, repeat, repetitions, runs,
    winner,
};

/// The budget: 50 pairs.
const MOST_RUNS: u32 = 100;
/// The prototype's wins in percent and runs in the mean at +1, +3, +5 and +10 %, where it gives them.
const EXPECTED: [(&str, [(f64, f64); 4]); 4] = [
    ("quiet", [(9.0, 11.0), (87.0, 29.0), (100.0, 13.0), (100.0, 12.0)]),
    ("typical", [(7.0, 41.0), (82.0, 39.0), (100.0, 17.0), (100.0, 15.0)]),
    ("bimodal", [(7.0, 86.0), (64.0, 65.0), (98.0, 36.0), (100.0, 16.0)]),
    ("thermal", [(9.0, 30.0), (84.0, 36.0), (100.0, 17.0), (100.0, 15.0)]),
];

/// Prints the table.
pub fn table(share: f64, trace: &[f64], bounds: &mut Bounds) {
    let count = repetitions(2000.0, share);
    println!("\n## One candidate, at most {MOST_RUNS} runs: {count} experiments each\n");
    println!(
        "| noise | true | wins % | prototype | below the margin % | no difference % | undecided % | unsound % | runs, mean | \
         prototype | runs, median | interval holds it % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for noise in noises(trace) {
        for (place, size) in [1.0, 3.0, 5.0, 10.0].into_iter().enumerate() {
            let expected = EXPECTED.iter().find(|(word, _)| *word == noise.word()).map(|(_, figures)| figures[place]);
            row(count, &noise, size, expected, bounds);
        }
    }
}

fn row(count: u64, noise: &RunNoise, size: f64, expected: Option<(f64, f64)>, bounds: &mut Bounds) {
    let truth = gains(&[size])[0];
    let policy = Policy { most_runs: Some(MOST_RUNS), ..Policy::default() };
    let standings = repeat(count, |seed| simulate::experiment(&Effects::of(&[truth]), noise, seed, &policy));
    let wins = percent(&standings, |standing| winner(standing).is_some());
    let same = percent(&standings, is_no_difference);
    let (mean, median) = runs(&standings);
    let (expected_wins, expected_runs) =
        expected.map_or(("-".into(), "-".into()), |(wins, runs)| (wins.to_string(), runs.to_string()));
    let holds = percent(&standings, |standing| holds(standing, truth));
    println!(
        "| {} | +{size} % | {wins:.1} | {expected_wins} | {:.1} | {same:.1} | {:.1} | {:.2} | {mean:.0} | {expected_runs} | \
         {median:.0} | {holds:.1} |",
        noise.word(),
        percent(&standings, is_small),
        percent(&standings, is_undecided),
        percent(&standings, is_unsound),
    );
    bounds.at_least(&format!("intervals that hold the truth under {} noise", noise.word()), holds, 95.0);
    if *noise == RunNoise::Typical && size == 1.0 {
        bounds.at_least("a true 1 % called no material difference", same, 80.0);
    }
    if *noise == RunNoise::Typical && size == 5.0 {
        bounds.at_least("a true 5 % found", wins, 99.0);
        bounds.at_most("median of the runs for it", median, 20.0);
    }
}

fn holds(standing: &Standing, truth: f64) -> bool {
    standing.arms[1]
        .effect
        .is_none_or(|effect| effect.low.is_none_or(|low| low <= truth) && effect.high.is_none_or(|high| truth <= high))
}

/// An equal candidate that slows down whoever runs after it.
pub fn carry_over(share: f64) {
    let count = repetitions(1000.0, share);
    println!("\n## Carry-over: an equal candidate that slows the next run, typical noise: {count} experiments each\n");
    println!(
        "| candidates | carry-over | limit of runs | false win % | prototype | unsound % | no difference % | undecided % | runs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (candidates, size, expected) in
        [(1, 0.0, "0.2"), (1, 1.0, "0.8"), (1, 2.0, "3.4"), (1, 5.0, "51.8"), (3, 0.0, "-"), (3, 5.0, "-")]
    {
        let limit = if candidates == 1 { MOST_RUNS } else { 3 * MOST_RUNS };
        let policy = Policy { most_runs: Some(limit), ..Policy::default() };
        let effects = Effects { carry_over: f64::ln(1.0 + size / 100.0), ..Effects::of(&vec![0.0; candidates]) };
        let standings = repeat(count, |seed| simulate::experiment(&effects, &RunNoise::Typical, seed, &policy));
        println!(
            "| {candidates} | {size} % | {limit} | {:.1} | {expected} | {:.1} | {:.1} | {:.1} | {:.0} |",
            percent(&standings, |standing| winner(standing).is_some()),
            percent(&standings, is_unsound),
            percent(&standings, is_no_difference),
            percent(&standings, is_undecided),
            runs(&standings).0,
        );
    }
}
