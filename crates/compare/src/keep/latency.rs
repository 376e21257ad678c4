//! From exec to placed, and how many short programs are placed at all.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::keeper::{KINDS, Kind, Running};
use super::{ACTOR, Stage, quantile};

/// From exec to placed, at most, for 99 of 100.
const LARGEST_P99_US: f64 = 1_200.0;
/// Of the programs that live 5 ms so many are placed, with all their threads.
const LEAST_PLACED: f64 = 0.99;
const THREADS: usize = 4;
const SHORT_US: u32 = 5_000;
const LONG_US: u32 = 60_000;

/// What a program saw: after how many microseconds it was placed, and how many of its threads were not when it ended.
struct Seen {
    placed_us: f64,
    elsewhere: usize,
}

/// Prints what so many programs see; false where it is not what must hold.
pub fn run(stage: &Stage, programs: usize) -> Result<bool> {
    stage.write_rules(&["actor".to_owned()])?;
    println!("From exec to placed: {programs} programs of {THREADS} threads, one after another, as they see it themselves (each 20 us).");
    println!("{:<20} {:>9} {:>9} {:>9} {:>9}   placed of those that live 5 ms, all threads", "", "p50 us", "p90 us", "p99 us", "max us");
    let mut holds = true;
    for kind in KINDS {
        let keeper = Running::start(kind, stage)?;
        // A poller's do not live long enough to see anything.
        let is_poller = matches!(kind, Kind::Poller(_));
        let life_us = if is_poller { 1_100_000 } else { LONG_US };
        let count = if is_poller { programs.div_ceil(20) } else { programs };
        let mut placed: Vec<f64> = seen(stage, count, life_us)?.iter().map(|seen| seen.placed_us).collect();
        let missed = placed.iter().filter(|us| **us < 0.0).count();
        placed.retain(|us| *us >= 0.0);
        let short = seen(stage, programs, SHORT_US)?;
        let whole = short.iter().filter(|seen| seen.elsewhere == 0).count() as f64 / programs as f64;
        let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|part| quantile(&mut placed, part));
        println!(
            "{:<20} {p50:>9.0} {p90:>9.0} {p99:>9.0} {max:>9.0}   {:.1} %{}",
            kind.name(),
            100.0 * whole,
            if missed > 0 { format!("   ({missed} of {count} not within {life_us} us)") } else { String::new() }
        );
        if kind == Kind::Corewise {
            holds &= p99 <= LARGEST_P99_US && whole >= LEAST_PLACED && missed == 0;
        }
        keeper.stop()?;
    }
    let launched = (0..programs.div_ceil(5))
        .map(|_| {
            let mut command = stage.corewise(&["run", "--rule", "r0", "--"]);
            command.arg(stage.path("actor")).args([ACTOR, "look", &corewise_sys::thread::monotonic_ns().to_string()]);
            one(command.args(["1", &THREADS.to_string()]))
        })
        .collect::<Result<Vec<Seen>>>()?;
    let outside = launched.iter().filter(|seen| seen.elsewhere > 0).count();
    println!("corewise run --rule: {outside} of {} programs had a thread elsewhere", launched.len());
    println!("must hold: p99 at most {LARGEST_P99_US} us, at least {} % placed, none missed by the launch", 100.0 * LEAST_PLACED);
    Ok(holds && outside == 0)
}

fn seen(stage: &Stage, programs: usize, life_us: u32) -> Result<Vec<Seen>> {
    let all = (0..programs).map(|_| {
        let mut command = Command::new(stage.path("launcher"));
        command.args([ACTOR, "launch"]).arg(stage.path("actor"));
        one(command.args([life_us.to_string(), THREADS.to_string()]))
    });
    all.collect()
}

fn one(command: &mut Command) -> Result<Seen> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (placed_us, elsewhere) = text.trim().split_once(' ').with_context(|| format!("{command:?}: {text:?}"))?;
    Ok(Seen { placed_us: placed_us.parse()?, elsewhere: elsewhere.parse()? })
}
