//! What keeping costs: while nothing happens, and in a storm of forks; and its memory.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::keeper::{Crowd, KINDS, Kind, Running};
use super::{ACTOR, Stage};

const RULES: usize = 20;
const PROCESSES: usize = 50;
const THREADS_EACH: usize = 50;
const QUIET: Duration = Duration::from_secs(60);
const STORM: usize = 20_000;
/// Of a cpu, while nothing happens.
const LARGEST_QUIET_SHARE: f64 = 0.002;
/// Of processor time, an exec in a storm.
const LARGEST_EXEC_US: f64 = 130.0;
const LARGEST_MEMORY_BYTES: u64 = 20_000_000;

/// Prints it; false where it is not what must hold.
pub fn run(stage: &Stage) -> Result<bool> {
    let programs: Vec<String> = (0..RULES).map(|index| format!("sleeper{index}")).collect();
    for program in &programs {
        std::fs::hard_link(stage.path("actor"), stage.path(program))?;
    }
    stage.write_rules(&programs)?;
    let mut crowd = Crowd(Vec::new());
    for index in 0..PROCESSES {
        crowd.add(stage, &programs[index % RULES], THREADS_EACH)?;
    }
    println!("{} threads in {PROCESSES} processes, {RULES} rules, all held; {} s in which nothing happens, then {STORM} forks that no rule matches.", PROCESSES * THREADS_EACH, QUIET.as_secs());
    println!("{:<20} {:>16} {:>16} {:>18} {:>14}", "", "% of a cpu", "us an exec", "most memory, MB", "of its own, MB");
    let mut holds = true;
    for kind in KINDS {
        let keeper = Running::start(kind, stage)?;
        // What it does at the beginning is not what is asked for.
        std::thread::sleep(Duration::from_secs(5));
        let (begun, before) = (Instant::now(), keeper.cpu_time());
        std::thread::sleep(QUIET);
        let share = (keeper.cpu_time() - before).as_secs_f64() / begun.elapsed().as_secs_f64();
        let (begun, before) = (Instant::now(), keeper.cpu_time());
        let this = std::env::current_exe()?;
        ensure!(Command::new(this).args([ACTOR, "storm", &STORM.to_string()]).status()?.success(), "no storm");
        // What is still to be looked at belongs to it.
        std::thread::sleep(Duration::from_secs(2));
        let quiet = share * begun.elapsed().as_secs_f64();
        let exec_us = ((keeper.cpu_time() - before).as_secs_f64() - quiet) / STORM as f64 * 1e6;
        let (memory, own) = keeper.memory_bytes()?;
        let [memory, own] = [memory, own].map(|bytes| bytes as f64 / 1e6);
        println!("{:<20} {:>16.3} {exec_us:>16.1} {memory:>18.1} {own:>14.1}", kind.name(), 100.0 * share);
        if kind == Kind::Corewise {
            let lost = lost(stage)?;
            println!("  events were lost {lost} times, and everything looked at again each time");
            holds = share <= LARGEST_QUIET_SHARE && exec_us <= LARGEST_EXEC_US && memory <= LARGEST_MEMORY_BYTES as f64 / 1e6;
        }
        keeper.stop()?;
    }
    println!("must hold: at most {} % of a cpu, {LARGEST_EXEC_US} us, {} MB", 100.0 * LARGEST_QUIET_SHARE, LARGEST_MEMORY_BYTES / 1_000_000);
    Ok(holds)
}

fn lost(stage: &Stage) -> Result<u64> {
    let output = stage.keep(&["--json"]).output()?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(document["running"]["status"]["lost"].as_u64().unwrap_or_default())
}
