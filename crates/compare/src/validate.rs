//! Checks the statistics of `corewise try` by simulation, and prints the tables of docs/statistics.md.

mod looking;
mod power;
mod race;
mod rest;
mod threads;
mod worlds;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use corewise_model::experiment::{Standing, Verdict};
use corewise_model::simulate::noise::RunNoise;

/// Runs all simulations, each with a share of its repetitions; false where a bound is broken.
pub fn run(share: f64) -> bool {
    let mut bounds = Bounds { broken: Vec::new() };
    let trace = looking::record_trace();
    looking::table(share, &trace, &mut bounds);
    race::equal_arms(share, &trace, &mut bounds);
    race::scaling(share, &mut bounds);
    race::cost();
    power::table(share, &trace, &mut bounds);
    power::small_effects(share, &mut bounds);
    power::carry_over(share);
    rest::table(share, &mut bounds);
    worlds::spread(share, &mut bounds);
    worlds::slow_runs(share, &mut bounds);
    worlds::guards(share, &mut bounds);
    threads::tables(share, &trace, &mut bounds);
    threads::law(share, &mut bounds);
    println!();
    for broken in &bounds.broken {
        println!("BROKEN: {broken}");
    }
    if bounds.broken.is_empty() {
        println!("All bounds hold.");
    }
    bounds.broken.is_empty()
}

/// What must hold.
struct Bounds {
    broken: Vec<String>,
}

impl Bounds {
    /// A percentage, or a count, that must not be above a bound.
    fn at_most(&mut self, what: &str, value: f64, bound: f64) {
        if value > bound {
            self.broken.push(format!("{what}: {value:.2}, not at most {bound}"));
        }
    }

    /// One that must not be below.
    fn at_least(&mut self, what: &str, value: f64, bound: f64) {
        if value < bound {
            self.broken.push(format!("{what}: {value:.2}, not at least {bound}"));
        }
    }
}

/// The noise models and the measured trace.
fn noises(trace: &[f64]) -> Vec<RunNoise> {
    RunNoise::ALL.into_iter().chain([RunNoise::Trace(trace.to_vec())]).collect()
}

/// A function's results for the seeds below `count`, in their order, computed on all cpus.
fn repeat<T: Send>(count: u64, simulate: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count || sender.send((seed, simulate(seed))).is_err() {
                        break;
                    }
                }
            });
        }
    });
    drop(sender);
    let mut results: Vec<(u64, T)> = receiver.into_iter().collect();
    results.sort_by_key(|(seed, _)| *seed);
    results.into_iter().map(|(_, result)| result).collect()
}

/// So many repetitions, and never fewer than 100.
fn repetitions(all: f64, share: f64) -> u64 {
    (all * share).max(100.0) as u64
}

/// The percentage of items of which something holds.
fn percent<T>(items: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    items.iter().filter(|item| holds(item)).count() as f64 * 100.0 / items.len() as f64
}

/// Mean and median of the runs that experiments took.
fn runs(standings: &[Standing]) -> (f64, f64) {
    let runs: Vec<f64> = standings.iter().map(|standing| f64::from(standing.runs)).collect();
    (runs.iter().sum::<f64>() / runs.len() as f64, corewise_model::stats::order::median(&runs))
}

fn is_no_difference(standing: &Standing) -> bool {
    standing.verdict == Verdict::NoMaterialDifference
}

fn is_undecided(standing: &Standing) -> bool {
    matches!(standing.verdict, Verdict::Undecided { .. })
}

fn is_unsound(standing: &Standing) -> bool {
    matches!(standing.verdict, Verdict::Unsound { .. })
}

fn is_small(standing: &Standing) -> bool {
    matches!(standing.verdict, Verdict::RealButBelowMargin { .. })
}

/// The arm that wins.
fn winner(standing: &Standing) -> Option<usize> {
    match standing.verdict {
        Verdict::Wins { arm } => Some(arm),
        _ => None,
    }
}

/// Gains in percent as differences of logarithms.
fn gains(percent: &[f64]) -> Vec<f64> {
    percent.iter().map(|percent| (1.0 + percent / 100.0).ln()).collect()
}
