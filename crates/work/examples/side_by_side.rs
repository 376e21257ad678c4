//! Prints how the workloads scale from one thread to two, and what they add to a plain loop over the same crates: the median of the ratio
//! within a round, and its quartiles. In a round all take turns, so that a change of the machine meets all of them.
//!
//! `side_by_side [ROUNDS]` (10), on a machine with two cpus that is left alone.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use corewise_statistics::order::{median, quantile};
use corewise_work::pipeline::{self, PipelineInput, straight};
use corewise_work::raymesh::{self, reference::ReferenceMesh};
use corewise_work::{
    WorkError, WorkloadHost, WorkloadReport, WorkloadSettings, WorkloadSize, euler, image, particles, render,
};

/// Of the size of most, with which a run takes about a second on one cpu.
const SHARE: f64 = 0.3;
/// Of the pipeline's size.
const PIPELINE_SHARE: f64 = 0.2;

/// Gives a rate, of which more is better.
type RateFunction<'a> = &'a dyn Fn() -> Result<f64, WorkError>;

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(10);
    match measure_rates(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("side_by_side: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_rates(rounds: usize) -> Result<(), WorkError> {
    let walks = |threads| {
        run_share(threads, |settings, company| {
            particles::run(settings, &particles::ParticlesOptions::default(), company)
        })
    };
    let rays = |threads| {
        run_share(threads, |settings, company| raymesh::run(settings, &raymesh::RaymeshOptions::default(), company))
    };
    let gas = |threads| {
        run_share(threads, |settings, company| euler::run(settings, &euler::EulerOptions::default(), company))
    };
    let images = |threads| {
        run_share(threads, |settings, company| image::run(settings, &image::ImageOptions::default(), company))
    };
    let paths = |threads| {
        run_share(threads, |settings, company| render::run(settings, &render::RenderOptions::default(), company))
    };
    let alone = WorkloadSettings { size: WorkloadSize::Share(SHARE), ..WorkloadSettings::new(1) };
    let reference = ReferenceMesh::new(&alone, &raymesh::RaymeshOptions::default())?;
    let input = PipelineInput::from_seed(1);
    let (lines, _) = pipeline::count_lines(WorkloadSize::Share(PIPELINE_SHARE), &input)?;
    let messages = |threads| {
        let settings = WorkloadSettings { size: WorkloadSize::Share(PIPELINE_SHARE), ..WorkloadSettings::new(threads) };
        first_metric(&settings, |settings, company| {
            pipeline::run(settings, &pipeline::PipelineOptions::default(), company)
        })
    };
    let capacity = pipeline::PipelineOptions::default().capacity;
    let straight = |lanes| Ok(straight::run_lanes(&input, lines, lanes, capacity).megabytes_per_second());
    let ratios: [(&str, RateFunction<'_>, RateFunction<'_>); 8] = [
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
            let (of, to) = if round % 2 == 0 { (of()?, to()?) } else { swap_order((to()?, of()?)) };
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

fn swap_order((to, of): (f64, f64)) -> (f64, f64) {
    (of, to)
}

fn run_share(
    threads: usize,
    run: impl Fn(&WorkloadSettings, &mut WorkloadHost<'_>) -> Result<WorkloadReport, WorkError>,
) -> Result<f64, WorkError> {
    first_metric(&WorkloadSettings { size: WorkloadSize::Share(SHARE), ..WorkloadSettings::new(threads) }, run)
}

/// The first metric of a workload: its rate.
fn first_metric(
    settings: &WorkloadSettings,
    run: impl Fn(&WorkloadSettings, &mut WorkloadHost<'_>) -> Result<WorkloadReport, WorkError>,
) -> Result<f64, WorkError> {
    let stop = AtomicBool::new(false);
    let mut company = WorkloadHost { stop: &stop, progress: &mut |_| {} };
    Ok(run(settings, &mut company)?.metrics.first().map_or(f64::NAN, |metric| metric.value))
}
