//! `cargo xtask compare-tail`: the stalls of one cpu by corewise and by other tools, measured in turn.
//!
//! oslat and cyclictest are in Debian's package `rt-tests`. A loop like sysjitter's is here: it records only interruptions of a microsecond
//! and more. Every tool runs as an ordinary thread (SCHED_OTHER), so that conditions are equal.

use std::process::Command;

use anyhow::{Context, Result, bail};
use corewise_model::Survey;
use corewise_statistics::histogram::TickHistogram;
use corewise_sys::affinity;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};
use serde_json::Value;

use xtask::{cargo_command, read_output, repository_root, run_command};

/// Time for which each tool watches the cpu in a round, in seconds.
const SECONDS: u64 = 10;
/// Minimum length of a compared interruption, in nanoseconds: oslat has a resolution of a microsecond.
const FROM_NS: f64 = 1_000.0;
/// Output file of a tool.
const FOUND: &str = "target/compare-tail.json";

/// Result of one tool in one round.
#[derive(Clone, Copy, Debug)]
struct SeenTail {
    /// Stalls of a microsecond and more, per second; for cyclictest, wake-ups.
    per_s: f64,
    /// The 99.9th percentile of these, in microseconds.
    p99_9_us: f64,
    max_us: f64,
}

struct TailTool {
    name: &'static str,
    look: fn(u32) -> Result<SeenTail>,
}

const TOOLS: [TailTool; 5] = [
    TailTool { name: "corewise tail", look: |cpu| run_corewise(cpu, &[]) },
    TailTool { name: "corewise tail --explain", look: |cpu| run_corewise(cpu, &["--explain"]) },
    TailTool { name: "oslat", look: run_oslat },
    TailTool { name: "a loop like sysjitter's", look: like_sysjitter },
    TailTool { name: "cyclictest (wake-ups)", look: run_cyclictest },
];

/// Watches the last allowed cpu with every tool in turn, `rounds` times, and prints medians and ranges.
pub fn run(rounds: usize) -> Result<()> {
    for tool in ["oslat", "cyclictest"] {
        Command::new(tool).arg("--help").output().with_context(|| format!("{tool} is in Debian's package rt-tests"))?;
    }
    run_command(cargo_command().args(["build", "--release", "--package", "corewise"]))?;
    let cpu = affinity::current_affinity()?.iter().last().context("no cpu is allowed")?;
    let mut seen = vec![Vec::new(); TOOLS.len()];
    for round in 0..rounds {
        for turn in 0..TOOLS.len() {
            let tool = (round + turn) % TOOLS.len();
            eprintln!("round {} of {rounds}: {}", round + 1, TOOLS[tool].name);
            seen[tool].push((TOOLS[tool].look)(cpu).with_context(|| TOOLS[tool].name)?);
        }
    }
    print!("{}", format_table(cpu, &seen));
    Ok(())
}

fn format_table(cpu: u32, seen: &[Vec<SeenTail>]) -> String {
    let mut text = format!(
        "cpu {cpu}, {SECONDS} s a round, medians and ranges of {} rounds\n{:26} {:>22} {:>24} {:>26}\n",
        seen[0].len(),
        "of 1 µs and more",
        "a second",
        "p99.9 of these, µs",
        "max, µs"
    );
    for (tool, seen) in TOOLS.iter().zip(seen) {
        let column = |value: fn(&SeenTail) -> f64| {
            let mut values: Vec<f64> = seen.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            format!("{:.0} [{:.0}, {:.0}]", values[values.len() / 2], values[0], values[values.len() - 1])
        };
        text.push_str(&format!(
            "{:26} {:>22} {:>24} {:>26}\n",
            tool.name,
            column(|seen| seen.per_s),
            column(|seen| seen.p99_9_us),
            column(|seen| seen.max_us)
        ));
    }
    text
}

fn run_corewise(cpu: u32, more: &[&str]) -> Result<SeenTail> {
    let mut command = Command::new(repository_root().join("target/release/corewise"));
    command.args(["tail", "--no-store", "--json", "--cpus", &cpu.to_string(), "--budget", &format!("{SECONDS}s")]);
    let mut document: Value = serde_json::from_str(&read_output(command.args(more))?)?;
    let ns_per_tick = document["observed"]["cpus"][0]["tail"]["nanoseconds_per_tick"].as_f64();
    let ns_per_tick = ns_per_tick.context("no cpu was visited")?;
    let survey: Survey = serde_json::from_value(document["observed"].take())?;
    let timed_s: f64 = survey.cpus[0].rounds.iter().map(|round| round.elapsed_s).sum();
    sum_durations(
        survey.cpus[0].tail.bucket_counts().into_iter().map(|(ticks, count)| (ticks as f64 * ns_per_tick, count)),
        timed_s,
    )
}

/// Runs oslat. Its number k stands for everything from k - 1 to k microseconds.
fn run_oslat(cpu: u32) -> Result<SeenTail> {
    let mut command = Command::new("oslat");
    command.args(["-q", "-b", "1024", "-c", &cpu.to_string(), "-D", &format!("{SECONDS}s"), "--json", FOUND]);
    read_output(command.current_dir(repository_root()))?;
    let found = read_document()?;
    let mut seen =
        sum_durations(read_buckets(&found).into_iter().map(|(us, count)| ((us - 1.0) * 1e3, count)), SECONDS as f64)?;
    seen.max_us = found["max"].as_f64().context("oslat reported no maximum")?;
    Ok(seen)
}

/// Runs cyclictest, in which a thread wakes every millisecond.
fn run_cyclictest(cpu: u32) -> Result<SeenTail> {
    let mut command = Command::new("cyclictest");
    command.args(["-q", "--policy=other", "-t", "1", "-i", "1000", "-h", "20000", "-a", &cpu.to_string()]);
    read_output(command.args(["-D", &SECONDS.to_string(), "--json", FOUND]).current_dir(repository_root()))?;
    let found = read_document()?;
    let mut seen =
        sum_durations(read_buckets(&found).into_iter().map(|(us, count)| (us * 1e3, count)), SECONDS as f64)?;
    seen.max_us = found["max"].as_f64().context("cyclictest reported no maximum")?;
    Ok(seen)
}

fn read_document() -> Result<Value> {
    let mut document: Value = serde_json::from_slice(&std::fs::read(repository_root().join(FOUND))?)?;
    Ok(document["thread"]["0"].take())
}

/// Returns the histogram: microseconds and counts.
fn read_buckets(found: &Value) -> Vec<(f64, u64)> {
    let all = found["histogram"].as_object().into_iter().flatten();
    all.filter_map(|(us, count)| Some((us.parse().ok()?, count.as_u64()?))).collect()
}

fn like_sysjitter(cpu: u32) -> Result<SeenTail> {
    fn look_for_stalls<T: TickSource>(ticks: T, from: u64, duration: u64, kept: &mut Vec<u64>) {
        let (start, mut last) = (ticks.read_ticks(), ticks.read_ticks());
        while last - start < duration {
            let now = ticks.read_ticks();
            if now - last >= from && kept.len() < kept.capacity() {
                kept.push(now - last);
            }
            last = now;
        }
    }
    let clock = TickClock::calibrate_best();
    let looking = std::thread::spawn(move || -> std::io::Result<Vec<u64>> {
        affinity::pin_current(cpu)?;
        let mut kept = vec![1; 1 << 20];
        kept.clear();
        let [from, duration] = [FROM_NS, SECONDS as f64 * 1e9].map(|ns| (ns / clock.nanoseconds_per_tick) as u64);
        match clock.source {
            ClockSource::Counter(ticks) => look_for_stalls(ticks.to_unordered(), from, duration, &mut kept),
            ClockSource::System(ticks) => look_for_stalls(ticks, from, duration, &mut kept),
        }
        Ok(kept)
    });
    let Ok(kept) = looking.join() else { bail!("the loop died") };
    let ns_per_tick = TickClock::calibrate_best().nanoseconds_per_tick;
    sum_durations(kept?.into_iter().map(|ticks| (ticks as f64 * ns_per_tick, 1)), SECONDS as f64)
}

/// Sums up durations in nanoseconds with their counts.
fn sum_durations(durations: impl Iterator<Item = (f64, u64)>, timed_s: f64) -> Result<SeenTail> {
    let mut stalls = TickHistogram::new(1.0);
    for (ns, count) in durations.filter(|(ns, _)| *ns >= FROM_NS) {
        (0..count).for_each(|_| stalls.record_ticks(ns as u64));
    }
    if stalls.count() == 0 {
        bail!("nothing took a microsecond in {timed_s} s");
    }
    let (p99_9_us, max_us) = (stalls.quantile_ns(0.999) / 1e3, stalls.max_ns() / 1e3);
    Ok(SeenTail { per_s: stalls.count() as f64 / timed_s, p99_9_us, max_us })
}
