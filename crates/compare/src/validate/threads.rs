//! Numbers of threads: equal cells, and a program that follows the law of scalability, with one number at which pinning is better.

use corewise_machine::random::RandomGenerator;
use corewise_statistics::experiment::{
    ArmVerdict, JudgingPolicy, LawFit, ScalingLaw, ThreadsCell, ThreadsRace, ThreadsStanding, ValueInterval, Verdict,
    arrange_cells,
};
use corewise_statistics::order::median;
use corewise_statistics::simulate::noise::RunNoise;
use corewise_statistics::simulate::{ProgramEffects, SimulatedTrials};

use super::{ErrorBounds, count_repetitions, noise_models, percent_of, repeat_simulation};

const CPUS: u32 = 8;
const COUNTS: [u32; 4] = [1, 2, 4, 8];
/// True parameters of the law.
const CONTENTION: f64 = 0.05;
const COHERENCY: f64 = 0.004;
/// The number at which pinning is better, by 5 %.
const BETTER: u32 = 4;

struct ThreadsOutcome {
    standing: ThreadsStanding,
    law: Option<LawFit>,
}

/// Simulates an experiment with all numbers both ways; `does` is a cell's throughput as a logarithm.
fn simulate_experiment(does: fn(ThreadsCell) -> f64, noise: &RunNoise, seed: u64, is_fitted: bool) -> ThreadsOutcome {
    let mut cells: Vec<ThreadsCell> =
        COUNTS.iter().flat_map(|&threads| [false, true].map(|pinned| ThreadsCell { threads, pinned })).collect();
    arrange_cells(&mut cells, CPUS);
    // 60 blocks before any cell is dropped.
    let policy = JudgingPolicy { most_runs: Some(60 * 8), ..JudgingPolicy::default() };
    let gains: Vec<f64> = cells[1..].iter().map(|cell| does(*cell) - does(cells[0])).collect();
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&gains), noise, !seed);
    let mut threads = ThreadsRace::new(&cells, CPUS, &policy);
    while !threads.is_decided() {
        let arms = threads.next_block(seed);
        threads.add_block(&trials.make_block(&arms));
    }
    ThreadsOutcome { standing: threads.current_standing(), law: is_fitted.then(|| threads.fit_law()) }
}

fn equal_gain(_: ThreadsCell) -> f64 {
    0.0
}

fn lawful_gain(cell: ThreadsCell) -> f64 {
    let n = f64::from(cell.threads);
    let pinned = if cell.pinned && cell.threads == BETTER { 1.05_f64.ln() } else { 0.0 };
    (n / (1.0 + CONTENTION * (n - 1.0) + COHERENCY * n * (n - 1.0))).ln() + pinned
}

/// Returns true if a difference between pinned and not is claimed at a number selected by `at`.
fn claims_difference(made: &ThreadsOutcome, at: impl Fn(u32) -> bool) -> bool {
    let proven = |verdict| matches!(verdict, ArmVerdict::Wins | ArmVerdict::RealButBelowMargin | ArmVerdict::Worse);
    let is_claimed =
        |standing: &corewise_statistics::experiment::ExperimentStanding| standing.arms[1].verdict.is_some_and(proven);
    made.standing.pinned.iter().any(|pinned| at(pinned.threads) && is_claimed(&pinned.standing))
}

fn count_wins(made: &ThreadsOutcome) -> bool {
    made.standing.counts.as_ref().is_some_and(|counts| matches!(counts.standing.verdict, Verdict::Wins { .. }))
}

fn interval_holds(
    made: &ThreadsOutcome,
    of: fn(&corewise_statistics::experiment::ScalingLaw) -> ValueInterval,
    truth: f64,
) -> bool {
    matches!(&made.law, Some(LawFit::Fitted(law)) if of(law).low <= truth && truth <= of(law).high)
}

/// Fits the law to a program that follows it, except for luck of each number that is the same in every run, after `blocks` whole blocks.
fn law_with_luck(counts: &[u32], noise: &RunNoise, blocks: u32, luck: f64, seed: u64) -> Option<ScalingLaw> {
    let mut cells: Vec<ThreadsCell> = counts.iter().map(|&threads| ThreadsCell { threads, pinned: false }).collect();
    let cpus = *counts.last()?;
    arrange_cells(&mut cells, cpus);
    let policy = JudgingPolicy {
        least_blocks: blocks,
        most_runs: Some(blocks * cells.len() as u32),
        ..JudgingPolicy::default()
    };
    let mut random = RandomGenerator::new(seed ^ 0x5bd1_e995);
    let does: Vec<f64> = cells.iter().map(|cell| lawful_gain(*cell) + luck * random.next_normal()).collect();
    let gains: Vec<f64> = does[1..].iter().map(|of_cell| of_cell - does[0]).collect();
    let mut trials = SimulatedTrials::new(&ProgramEffects::from_gains(&gains), noise, !seed);
    let mut threads = ThreadsRace::new(&cells, cpus, &policy);
    while !threads.is_decided() {
        let arms = threads.next_block(seed);
        threads.add_block(&trials.make_block(&arms));
    }
    match threads.fit_law() {
        LawFit::Fitted(law) => Some(law),
        _ => None,
    }
}

/// Measures the coverage of the law's intervals.
pub fn check_law(share: f64, bounds: &mut ErrorBounds) {
    let count = count_repetitions(1000.0, share);
    println!("\n## The law's intervals, with and without luck of each number: {count} experiments each\n");
    println!("| noise | numbers | blocks | luck | s in its interval % | k % | width of s, median |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for noise in [RunNoise::Quiet, RunNoise::Typical, RunNoise::Bimodal] {
        for counts in [&[1, 2, 4, 8][..], &[1, 2, 3, 4, 6, 8]] {
            for (blocks, luck) in [(8, 0.0), (8, 0.03), (30, 0.0), (30, 0.03)] {
                let laws = repeat_simulation(count, |seed| law_with_luck(counts, &noise, blocks, luck, seed));
                let held = |of: fn(&ScalingLaw) -> ValueInterval, truth: f64| {
                    let holds = |law: &ScalingLaw| of(law).low <= truth && truth <= of(law).high;
                    percent_of(&laws, |law| law.as_ref().is_some_and(holds))
                };
                let held = [held(|law| law.contention, CONTENTION), held(|law| law.coherency, COHERENCY)];
                let widths: Vec<f64> =
                    laws.iter().flatten().map(|law| law.contention.high - law.contention.low).collect();
                println!(
                    "| {} | {} | {blocks} | {:.0} % | {:.1} | {:.1} | {:.1} % |",
                    noise.word(),
                    counts.len(),
                    100.0 * luck,
                    held[0],
                    held[1],
                    100.0 * median(&widths),
                );
                // Of 1,000 experiments 95 % are known to within 1.4; of fewer less well.
                let least = 95.0 - 3.0 * (95.0 * 5.0 / count as f64).sqrt();
                let what = format!("{} noise, {} numbers, {blocks} blocks, luck {luck}", noise.word(), counts.len());
                held.iter()
                    .for_each(|held| bounds.at_least(&format!("law in its interval, {what}"), *held, least.max(93.0)));
            }
        }
    }
}

/// Prints both tables.
pub fn print_tables(share: f64, trace: &[f64], bounds: &mut ErrorBounds) {
    let count = count_repetitions(2000.0, share);
    // Each resamples its blocks a thousand times.
    let lawful_count = count_repetitions(400.0, share);
    println!(
        "\n## Numbers of threads: 1, 2, 4 and 8, both ways: {count} experiments with equal cells, {lawful_count} with a law\n"
    );
    println!(
        "| noise | equal: pinned differs % | equal: a number wins % | runs, mean | median | +5 % pinned at 4: found % | elsewhere % | a number wins % | s in its interval % | k % |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for noise in noise_models(trace) {
        let equal = repeat_simulation(count, |seed| simulate_experiment(equal_gain, &noise, seed, false));
        let lawful = repeat_simulation(lawful_count, |seed| simulate_experiment(lawful_gain, &noise, seed, true));
        let runs: Vec<f64> = equal.iter().map(|made| f64::from(made.standing.runs)).collect();
        let (false_pinned, false_counts) =
            (percent_of(&equal, |made| claims_difference(made, |_| true)), percent_of(&equal, count_wins));
        println!(
            "| {} | {false_pinned:.2} | {false_counts:.2} | {:.0} | {:.0} | {:.1} | {:.2} | {:.2} | {:.1} | {:.1} |",
            noise.word(),
            runs.iter().sum::<f64>() / runs.len() as f64,
            median(&runs),
            percent_of(&lawful, |made| claims_difference(made, |threads| threads == BETTER)),
            percent_of(&lawful, |made| claims_difference(made, |threads| threads != BETTER)),
            percent_of(&lawful, count_wins),
            percent_of(&lawful, |made| interval_holds(made, |law| law.contention, CONTENTION)),
            percent_of(&lawful, |made| interval_holds(made, |law| law.coherency, COHERENCY)),
        );
        bounds.at_most(&format!("false claims about pinning under {} noise", noise.word()), false_pinned, 5.0);
        bounds.at_most(&format!("false claims about numbers under {} noise", noise.word()), false_counts, 5.0);
    }
}
