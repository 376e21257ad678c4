//! Prints how the workloads scale from one thread to two, and what they add to a plain loop over the same crates: the median of the ratio
//! within a round, and its quartiles. In a round all take turns, so that a change of the machine meets all of them.
//!
//! `side_by_side [ROUNDS]` (10), on a machine with two cpus that is left alone.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use corewise_model::stats::order::{median, quantile};
use corewise_work::pipeline::{self, Input, straight};
use corewise_work::raymesh::{self, reference::Reference};
use corewise_work::{Company, Error, Report, Settings, Size, euler, image, particles, render};

/// Of the size of most, with which a run takes about a second on one cpu.
const SHARE: f64 = 0.3;
/// Of the pipeline's size.
const PIPELINE_SHARE: f64 = 0.2;

/// Gives a rate, of which more is better.
type Rate<'a> = &'a dyn Fn() -> Result<f64, Error>;

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(10);
    match measure(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("side_by_side: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rounds: usize) -> Result<(), Error> {
    let walks =
        |threads| first(threads, |settings, company| particles::run(settings, &particles::Options::default(), company));
    let rays =
        |threads| first(threads, |settings, company| raymesh::run(settings, &raymesh::Options::default(), company));
    let gas = |threads| first(threads, |settings, company| euler::run(settings, &euler::Options::default(), company));
    let images =
        |threads| first(threads, |settings, company| image::run(settings, &image::Options::default(), company));
    let paths =
        |threads| first(threads, |settings, company| render::run(settings, &render::Options::default(), company));
    let alone = Settings { size: Size::Share(SHARE), ..Settings::new(1) };
    let reference = Reference::new(&alone, &raymesh::Options::default())?;
    let input = Input::generated(1);
    let (lines, _) = pipeline::lines_of(Size::Share(PIPELINE_SHARE), &input)?;
    let messages = |threads| {
        let settings = Settings { size: Size::Share(PIPELINE_SHARE), ..Settings::new(threads) };
        first_of(&settings, |settings, company| pipeline::run(settings, &pipeline::Options::default(), company))
    };
    let capacity = pipeline::Options::default().capacity;
    let straight = |lanes| Ok(straight::lanes(&input, lines, lanes, capacity).megabytes_per_second());
    let ratios: [(&str, Rate<'_>, Rate<'_>); 8] = [
        ("particles, 2 threads to 1", &|| walks(2), &|| walks(1)),
        ("raymesh, 2 threads to 1", &|| rays(2), &|| rays(1)),
        ("euler, 2 threads to 1", &|| gas(2), &|| gas(1)),
        ("image, 2 threads to 1", &|| images(2), &|| images(1)),
        ("render, 2 threads to 1", &|| paths(2), &|| paths(1)),
        ("raymesh with 1 thread to the hierarchy's own loop", &|| rays(1), &|| Ok(reference.rays_per_second())),
        ("pipeline with 3 threads to the same written straight", &|| messages(3), &|| straight(1)),
        ("pipeline with 6 threads to the same written straight", &|| messages(6), &|| straight(2)),
    ];
    let mut found = vec![Vec::new(); ratios.len()];
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for turn in 0..ratios.len() {
            let ratio = (round + turn) % ratios.len();
            let (_, of, to) = ratios[ratio];
            // Either is first in every second round.
            let (of, to) = if round % 2 == 0 { (of()?, to()?) } else { swap((to()?, of()?)) };
            found[ratio].push((of, to));
        }
    }
    println!("| ratio | median | quartiles | of | to |\n|---|---:|---:|---:|---:|");
    for ((name, ..), found) in ratios.iter().zip(&found) {
        let within: Vec<f64> = found.iter().map(|(of, to)| of / to).collect();
        let (of, to): (Vec<f64>, Vec<f64>) = found.iter().copied().unzip();
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|at| quantile(&within, at));
        println!("| {name} | {middle:.2} | {low:.2} to {high:.2} | {:.4e} | {:.4e} |", median(&of), median(&to));
    }
    Ok(())
}

fn swap((to, of): (f64, f64)) -> (f64, f64) {
    (of, to)
}

fn first(threads: usize, run: impl Fn(&Settings, &mut Company<'_>) -> Result<Report, Error>) -> Result<f64, Error> {
    first_of(&Settings { size: Size::Share(SHARE), ..Settings::new(threads) }, run)
}

/// The first metric of a workload: its rate.
fn first_of(
    settings: &Settings,
    run: impl Fn(&Settings, &mut Company<'_>) -> Result<Report, Error>,
) -> Result<f64, Error> {
    let stop = AtomicBool::new(false);
    let mut company = Company { stop: &stop, progress: &mut |_| {} };
    Ok(run(settings, &mut company)?.metrics.first().map_or(f64::NAN, |metric| metric.value))
}
