//! Measures the time of a program with much output: as a trial with and without a metric, and with a pipe that is only drained.
//!
//! `cargo xtask bench-output` runs it in the release profile; it ends with 1 if reading the output costs more than it may.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use corewise_lab::experiment::process::ProcessRunner;
use corewise_lab::experiment::{TrialRequest, TrialRunner as _};
use corewise_model::metric_line;
use corewise_model::trial::{PlacementArm, TrialMetric, TrialOutcome, TriedWorkload};
use corewise_statistics::order::{median, quantile};
use corewise_sys::affinity;

/// Largest allowed ratio of a trial's time to the drained pipe's.
const LARGEST_RATIO: f64 = 1.3;
/// Number of rounds, in each of which everything runs once.
const ROUNDS: usize = 31;
/// Lines of the output: 50 MB.
const LINES: u32 = 1_000_000;
/// Names of the drained pipe and the trials.
const NAMES: [&str; 4] =
    ["drained pipe", "trial without a metric", "trial, a metric in the first line", "trial, a metric in every line"];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("output");
    write_output(&file)?;
    let command = vec!["cat".to_owned(), file.to_string_lossy().into_owned()];
    let (stop, cpus) = (AtomicBool::new(false), affinity::current_affinity()?);
    let metrics = [None, Some("score"), Some("line")];
    let workloads = metrics.map(|name| TriedWorkload::new(command.clone(), "/".into(), choose_metric(name)));
    let mut runners = Vec::new();
    for workload in &workloads {
        runners.push(ProcessRunner::new(workload, cpus.clone(), 1, &stop)?);
    }
    let mut rounds: Vec<[f64; 4]> = Vec::new();
    for _ in 0..ROUNDS {
        let mut times = [drain_s(&command)?; 4];
        for (time, runner) in times[1..].iter_mut().zip(&mut runners) {
            *time = trial_s(runner)?;
        }
        rounds.push(times);
    }
    let ratios = |which: usize| rounds.iter().map(|times| times[which] / times[0]).collect::<Vec<f64>>();
    let times = |which: usize| median(&rounds.iter().map(|times| times[which]).collect::<Vec<f64>>());
    for (which, name) in NAMES.iter().enumerate() {
        let mut ratios = ratios(which);
        ratios.sort_by(f64::total_cmp);
        let [low, high] = [0.25, 0.75].map(|share| quantile(&ratios, share));
        println!("{name}: {:.3} s, {:.2}x [{low:.2}, {high:.2}]", times(which), median(&ratios));
    }
    let is_cheap = (1..NAMES.len()).all(|which| median(&ratios(which)) <= LARGEST_RATIO);
    Ok(if is_cheap { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write_output(file: &std::path::Path) -> io::Result<()> {
    let mut writer = BufWriter::new(File::create(file)?);
    writeln!(writer, "score: 12.5")?;
    (0..LINES).try_for_each(|number| writeln!(writer, "line: {number} of what a program reports as it goes on"))?;
    writer.flush()
}

fn choose_metric(name: Option<&str>) -> TrialMetric {
    name.map_or_else(TrialMetric::wall_time, |name| TrialMetric {
        name: name.to_owned(),
        pattern: Some(metric_line::metric_pattern(name)),
        ..TrialMetric::wall_time()
    })
}

/// Runs the command with its output in a pipe that is read and dropped. Returns the whole time in seconds.
fn drain_s(command: &[String]) -> io::Result<f64> {
    let began = Instant::now();
    let mut child =
        Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut buffer = vec![0; 64 << 10];
    if let Some(output) = &mut child.stdout {
        while output.read(&mut buffer)? > 0 {}
    }
    child.wait()?;
    Ok(began.elapsed().as_secs_f64())
}

/// Makes a trial of one run. Returns the whole time in seconds.
fn trial_s(runner: &mut ProcessRunner<'_>) -> Result<f64, Box<dyn Error>> {
    let request = TrialRequest { repeats: 1, trial: 1, longest: None, until: None };
    let began = Instant::now();
    let ran =
        runner.run(&PlacementArm::new("OS default", None, ""), 0, request).map_err(|ended| format!("{ended:?}"))?;
    let time_s = began.elapsed().as_secs_f64();
    match ran.outcome {
        TrialOutcome::Value(_) => Ok(time_s),
        TrialOutcome::Failed { why, .. } => Err(why.into()),
    }
}
