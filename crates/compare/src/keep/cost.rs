//! Cost of keeping placements: at rest, and in a storm of forks; and its memory.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::keeper::{KeeperKind, RunningKeeper, SleeperCrowd};
use super::{ACTOR, ComparisonStage, machine_load, quantile_of};

const RULES: usize = 20;
const PROCESSES: usize = 50;
const THREADS_EACH: usize = 50;
const ROUNDS: usize = 3;
const STORM: usize = 20_000;
/// Maximum share of a cpu at rest.
const LARGEST_QUIET_SHARE: f64 = 0.002;
/// Maximum processor time for an exec in a storm.
const LARGEST_EXEC_US: f64 = 130.0;
const LARGEST_MEMORY_BYTES: f64 = 20e6;

/// Prints the cost, with `quiet_s` seconds at rest; returns false if a bound is broken.
pub fn run(stage: &ComparisonStage, quiet_s: u64) -> Result<bool> {
    let programs: Vec<String> = (0..RULES).map(|index| format!("sleeper{index}")).collect();
    for program in &programs {
        std::fs::hard_link(stage.file_path("actor"), stage.file_path(program))?;
    }
    stage.write_rules(&programs)?;
    let mut crowd = SleeperCrowd(Vec::new());
    for index in 0..PROCESSES {
        crowd.add_sleeper(stage, &programs[index % RULES], THREADS_EACH)?;
    }
    println!(
        "{} threads in {PROCESSES} processes, {RULES} rules, all held; {quiet_s} s in which nothing happens to them, then {STORM} forks that no rule matches; medians of {ROUNDS} rounds in turn.",
        PROCESSES * THREADS_EACH,
    );
    let mut all: Vec<(KeeperKind, Vec<KeeperCost>)> =
        stage.keeper_kinds().into_iter().map(|kind| (kind, Vec::new())).collect();
    for round in 0..ROUNDS {
        for (kind, costs) in &mut all {
            costs.push(measure_cost(stage, *kind, Duration::from_secs(quiet_s))?);
        }
        println!("round {}: load {}", round + 1, machine_load());
    }
    println!(
        "{:<20} {:>12} {:>16} {:>12} {:>16} {:>14}",
        "", "% of a cpu", "programs a s", "us an exec", "most memory, MB", "of its own, MB"
    );
    let mut holds = true;
    for (kind, costs) in &all {
        let of = |value: fn(&KeeperCost) -> f64| quantile_of(&mut costs.iter().map(value).collect::<Vec<f64>>(), 0.5);
        let (share, exec_us, memory) = (of(|cost| cost.share), of(|cost| cost.exec_us), of(|cost| cost.memory_bytes));
        println!(
            "{:<20} {:>12.3} {:>16.1} {exec_us:>12.1} {:>16.1} {:>14.1}",
            kind.keeper_name(),
            100.0 * share,
            of(|cost| cost.others_a_second),
            memory / 1e6,
            of(|cost| cost.own_bytes) / 1e6
        );
        if *kind == KeeperKind::Corewise {
            println!("  events were lost {} times, and everything looked at again each time", of(|cost| cost.lost));
            holds = share <= LARGEST_QUIET_SHARE && exec_us <= LARGEST_EXEC_US && memory <= LARGEST_MEMORY_BYTES;
        }
    }
    println!(
        "must hold: at most {} % of a cpu, {LARGEST_EXEC_US} us, {} MB",
        100.0 * LARGEST_QUIET_SHARE,
        LARGEST_MEMORY_BYTES / 1e6
    );
    Ok(holds)
}

struct KeeperCost {
    share: f64,
    /// Processes started by others meanwhile, per second: each is looked at.
    others_a_second: f64,
    exec_us: f64,
    memory_bytes: f64,
    own_bytes: f64,
    lost: f64,
}

fn measure_cost(stage: &ComparisonStage, kind: KeeperKind, quiet: Duration) -> Result<KeeperCost> {
    let keeper = RunningKeeper::start_keeper(kind, stage)?;
    // Skips the work at its start.
    std::thread::sleep(Duration::from_secs(5));
    let (begun, before, forks) = (Instant::now(), keeper.cpu_time(), count_forks());
    std::thread::sleep(quiet);
    let share = (keeper.cpu_time() - before).as_secs_f64() / begun.elapsed().as_secs_f64();
    let others_a_second = (self::count_forks() - forks) / begun.elapsed().as_secs_f64();
    let (begun, before) = (Instant::now(), keeper.cpu_time());
    let this = std::env::current_exe()?;
    ensure!(Command::new(this).args([ACTOR, "storm", &STORM.to_string()]).status()?.success(), "no storm");
    // Includes work that is still pending.
    std::thread::sleep(Duration::from_secs(2));
    let in_quiet = share * begun.elapsed().as_secs_f64();
    let exec_us = ((keeper.cpu_time() - before).as_secs_f64() - in_quiet) / STORM as f64 * 1e6;
    let (memory, own) = keeper.memory_bytes()?;
    let lost = if kind == KeeperKind::Corewise { count_lost(stage)? as f64 } else { 0.0 };
    keeper.stop_keeper()?;
    Ok(KeeperCost { share, others_a_second, exec_us, memory_bytes: memory as f64, own_bytes: own as f64, lost })
}

/// Returns the number of processes and threads started since boot (proc_stat(5)).
fn count_forks() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("processes "));
    line.and_then(|count| count.parse().ok()).unwrap_or(f64::NAN)
}

fn count_lost(stage: &ComparisonStage) -> Result<u64> {
    let output = stage.corewise_keep(&["--json"]).output()?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(document["running"]["status"]["lost"].as_u64().unwrap_or_default())
}
