//! Latency from exec to placement, and the share of short programs that are placed at all.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::keeper::{KeeperKind, RunningKeeper};
use super::{ACTOR, ComparisonStage, machine_load, quantile_of};

/// Maximum time from exec to placement for 99 of 100.
const LARGEST_P99_US: f64 = 1_200.0;
/// Minimum share of programs that live 5 ms and are placed with all their threads.
const LEAST_PLACED: f64 = 0.99;
const THREADS: usize = 4;
/// Number of parts in which all take turns.
const ROUNDS: usize = 5;
const SHORT_US: u32 = 5_000;
const LONG_US: u32 = 60_000;

/// A program's report: microseconds until it was placed, and its threads that were not placed when it ended.
struct SeenLatency {
    placed_us: f64,
    elsewhere: usize,
}

/// Prints the reports of `programs` programs; returns false if a bound is broken.
pub fn run(stage: &ComparisonStage, programs: usize) -> Result<bool> {
    stage.write_rules(&["actor".to_owned()])?;
    println!(
        "From exec to placed: {programs} programs of {THREADS} threads, one after another, as they see it themselves (each 20 us)."
    );
    println!(
        "{:<20} {:>9} {:>9} {:>9} {:>9}   placed of those that live 5 ms, all threads",
        "", "p50 us", "p90 us", "p99 us", "max us"
    );
    let mut all: Vec<(KeeperKind, Vec<SeenLatency>, Vec<SeenLatency>)> =
        stage.keeper_kinds().into_iter().map(|kind| (kind, Vec::new(), Vec::new())).collect();
    for _ in 0..ROUNDS {
        for (kind, long, short) in &mut all {
            let keeper = RunningKeeper::start_keeper(*kind, stage)?;
            let count = if kind.is_poller() { programs.div_ceil(20) } else { programs };
            long.extend(measure_latency(stage, count.div_ceil(ROUNDS), life_us(*kind))?);
            short.extend(measure_latency(stage, programs.div_ceil(ROUNDS), SHORT_US)?);
            keeper.stop_keeper()?;
        }
    }
    let mut holds = true;
    for (kind, long, short) in &all {
        let missed = long.iter().filter(|seen| seen.placed_us < 0.0).count();
        // A program that was not placed at all waited longer than the last one placed.
        let us = |seen: &SeenLatency| if seen.placed_us < 0.0 { f64::INFINITY } else { seen.placed_us };
        let mut placed: Vec<f64> = long.iter().map(us).collect();
        let whole = short.iter().filter(|seen| seen.elsewhere == 0).count() as f64 / short.len() as f64;
        let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|part| quantile_of(&mut placed, part));
        println!(
            "{:<20} {p50:>9.0} {p90:>9.0} {p99:>9.0} {max:>9.0}   {:.1} %{}",
            kind.keeper_name(),
            100.0 * whole,
            if missed > 0 {
                format!("   ({missed} of {} not within {} us)", long.len(), life_us(*kind))
            } else {
                String::new()
            }
        );
        if *kind == KeeperKind::Corewise {
            holds &= p99 <= LARGEST_P99_US && whole >= LEAST_PLACED && missed == 0;
        }
    }
    println!("load {}", machine_load());
    let launched = (0..programs.div_ceil(5))
        .map(|_| {
            let mut command = stage.corewise(&["run", "--rule", "r0", "--"]);
            command.arg(stage.file_path("actor")).args([
                ACTOR,
                "look",
                &corewise_sys::thread::monotonic_ns().to_string(),
            ]);
            run_program(command.args(["1", &THREADS.to_string()]))
        })
        .collect::<Result<Vec<SeenLatency>>>()?;
    let outside = launched.iter().filter(|seen| seen.elsewhere > 0).count();
    println!("corewise run --rule: {outside} of {} programs had a thread elsewhere", launched.len());
    println!(
        "must hold: p99 at most {LARGEST_P99_US} us, at least {} % placed, none missed by the launch",
        100.0 * LEAST_PLACED
    );
    Ok(holds && outside == 0)
}

/// Lifetime of a poller's programs: shorter ones would see nothing.
const fn life_us(kind: KeeperKind) -> u32 {
    if kind.is_poller() { 1_100_000 } else { LONG_US }
}

fn measure_latency(stage: &ComparisonStage, programs: usize, life_us: u32) -> Result<Vec<SeenLatency>> {
    let all = (0..programs).map(|_| {
        let mut command = Command::new(stage.file_path("launcher"));
        command.args([ACTOR, "launch"]).arg(stage.file_path("actor"));
        run_program(command.args([life_us.to_string(), THREADS.to_string()]))
    });
    all.collect()
}

fn run_program(command: &mut Command) -> Result<SeenLatency> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (placed_us, elsewhere) = text.trim().split_once(' ').with_context(|| format!("{command:?}: {text:?}"))?;
    Ok(SeenLatency { placed_us: placed_us.parse()?, elsewhere: elsewhere.parse()? })
}
