//! Checks the statistics of `corewise try`, of surveys, of maps of links and of fleets by simulation, and prints the tables of docs/validation.md.

mod comparisons;
mod deceptive_worlds;
mod fleets;
mod lasting;
mod link_groups;
mod power;
mod questions;
mod race;
mod rest;
mod slots;
mod small_effects;
mod surveys;
mod threads;
mod unlimited_looks;
mod worlds;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use anyhow::{Result, ensure};
use corewise_statistics::experiment::{ExperimentStanding, Verdict};
use corewise_statistics::simulate::noise::RunNoise;

/// Runs all simulations, or the one of that name, each with a share of its repetitions; returns false if a bound is broken.
///
/// # Errors
/// If no simulation has the name.
pub fn run(share: f64, only: Option<&str>) -> Result<bool> {
    type Section<'a> = (&'a str, &'a dyn Fn(&mut ErrorBounds));
    let mut bounds = ErrorBounds { broken: Vec::new() };
    let trace = unlimited_looks::record_trace();
    let sections: [Section<'_>; 26] = [
        ("looking", &|bounds| unlimited_looks::print_table(share, &trace, bounds)),
        ("equal", &|bounds| race::equal_arms(share, &trace, bounds)),
        ("races", &|bounds| race::print_scaling(share, bounds)),
        ("cost", &|_| race::print_cost()),
        ("power", &|bounds| power::print_table(share, &trace, bounds)),
        ("small", &|bounds| small_effects::print_tables(share, bounds)),
        ("carry-over", &|_| power::carry_over(share)),
        ("confirm", &|bounds| power::check_confirmation(share, bounds)),
        ("lasting", &|bounds| lasting::print_table(share, bounds)),
        ("rest", &|bounds| rest::print_table(share, bounds)),
        ("slots", &|bounds| slots::print_tables(share, bounds)),
        ("spread", &|bounds| worlds::check_spread(share, bounds)),
        ("slow", &|bounds| worlds::slow_runs(share, bounds)),
        ("better", &|bounds| worlds::check_better(share, bounds)),
        ("failures", &|bounds| worlds::check_failures(share, bounds)),
        ("guards", &|bounds| worlds::check_guards(share, bounds)),
        ("guarded", &|bounds| deceptive_worlds::check_guards(share, bounds)),
        ("coarse", &|bounds| deceptive_worlds::check_coarse(share, bounds)),
        ("conflicts", &|bounds| deceptive_worlds::check_conflicts(share, bounds)),
        ("questions", &|bounds| questions::print_table(share, bounds)),
        ("threads", &|bounds| threads::print_tables(share, &trace, bounds)),
        ("law", &|bounds| threads::check_law(share, bounds)),
        ("surveys", &|bounds| surveys::print_tables(share, bounds)),
        ("compare", &|bounds| comparisons::print_tables(share, bounds)),
        ("link-groups", &|bounds| link_groups::print_tables(share, bounds)),
        ("fleets", &|bounds| fleets::print_tables(share, bounds)),
    ];
    let names = || sections.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    ensure!(only.is_none_or(|only| sections.iter().any(|(name, _)| *name == only)), "the simulations are {}", names());
    for (name, section) in &sections {
        if only.is_none_or(|only| only == *name) {
            section(&mut bounds);
        }
    }
    println!();
    for broken in &bounds.broken {
        println!("BROKEN: {broken}");
    }
    if bounds.broken.is_empty() {
        println!("All bounds hold.");
    }
    Ok(bounds.broken.is_empty())
}

/// Bounds that must hold.
struct ErrorBounds {
    broken: Vec<String>,
}

impl ErrorBounds {
    /// Checks that a percentage or a count is not above a bound.
    fn at_most(&mut self, what: &str, value: f64, bound: f64) {
        if value > bound {
            self.broken.push(format!("{what}: {value:.2}, not at most {bound}"));
        }
    }

    /// Checks that a value is not below a bound.
    fn at_least(&mut self, what: &str, value: f64, bound: f64) {
        if value < bound {
            self.broken.push(format!("{what}: {value:.2}, not at least {bound}"));
        }
    }
}

/// Returns the noise models and the measured trace.
fn noise_models(trace: &[f64]) -> Vec<RunNoise> {
    RunNoise::ALL.into_iter().chain([RunNoise::Trace(trace.to_vec())]).collect()
}

/// Returns a function's results for the seeds below `count`, in their order, computed on all cpus.
fn repeat_simulation<T: Send>(count: u64, simulate: impl Fn(u64) -> T + Sync) -> Vec<T> {
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

/// Returns a share of the repetitions, but at least 100.
fn count_repetitions(all: f64, share: f64) -> u64 {
    (all * share).max(100.0) as u64
}

/// Returns the percentage of items for which `holds` is true.
fn percent_of<T>(items: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    items.iter().filter(|item| holds(item)).count() as f64 * 100.0 / items.len() as f64
}

/// Returns mean and median of the runs that experiments took.
fn run_counts(standings: &[ExperimentStanding]) -> (f64, f64) {
    let runs: Vec<f64> = standings.iter().map(|standing| f64::from(standing.runs)).collect();
    (runs.iter().sum::<f64>() / runs.len() as f64, corewise_statistics::order::median(&runs))
}

fn is_no_difference(standing: &ExperimentStanding) -> bool {
    standing.verdict == Verdict::NoMaterialDifference
}

fn is_undecided(standing: &ExperimentStanding) -> bool {
    matches!(standing.verdict, Verdict::Undecided { .. })
}

fn is_unsound(standing: &ExperimentStanding) -> bool {
    matches!(standing.verdict, Verdict::Unsound { .. })
}

fn is_small(standing: &ExperimentStanding) -> bool {
    matches!(standing.verdict, Verdict::RealButBelowMargin { .. })
}

/// Returns true if a candidate is proven better, but neither that its gain reaches the margin nor that it does not.
fn is_better(standing: &ExperimentStanding) -> bool {
    matches!(standing.verdict, Verdict::Better { .. })
}

/// Returns true if what is proven of one candidate contradicts its true gain.
fn is_wrong(standing: &ExperimentStanding, truth: f64, margin: f64) -> bool {
    let says_better = find_winner(standing).is_some() || is_better(standing) || is_small(standing);
    let says_below = is_no_difference(standing) || is_small(standing);
    says_better && truth <= 0.0 || says_below && truth >= margin
}

fn find_winner(standing: &ExperimentStanding) -> Option<usize> {
    match standing.verdict {
        Verdict::Wins { arm } => Some(arm),
        _ => None,
    }
}

/// Converts gains in percent to differences of logarithms.
fn log_gains(percent: &[f64]) -> Vec<f64> {
    percent.iter().map(|percent| (1.0 + percent / 100.0).ln()).collect()
}
