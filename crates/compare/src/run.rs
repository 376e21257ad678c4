//! `cargo xtask compare-run`: cost of starting a command with corewise, and with taskset, measured in turn.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use corewise_sys::thread::wait_with_peak_memory_bytes;

use xtask::{cargo_command, repository_root, run_command};

/// Maximum ratio of the whole time with corewise to that with taskset, as `cargo build --release` makes it.
const LARGEST_RATIO: f64 = 1.15;
/// The same for a package's program, which is linked statically.
const LARGEST_PACKAGE_RATIO: f64 = 0.55;
/// Maximum peak memory of corewise, in bytes.
const LARGEST_MEMORY_BYTES: u64 = 12_000_000;
/// Pairs that run first, so that all files are in memory.
const UNMEASURED_PAIRS: usize = 10;

/// Measures `pairs` pairs in alternating order, and prints medians; returns false if corewise exceeds a bound. A program that
/// is named is a package's; without one it measures the result of `cargo build --release`.
pub fn run(pairs: usize, program: Option<&str>) -> Result<bool> {
    ensure!(pairs > 0, "at least one pair is needed");
    if program.is_none() {
        run_command(cargo_command().args(["build", "--release", "--package", "corewise"]))?;
    }
    let corewise = program.map_or_else(|| repository_root().join("target/release/corewise"), Into::into);
    let corewise_command = || {
        let mut command = Command::new(&corewise);
        command.args(["run", "--on", "0", "--", "/bin/true"]);
        command
    };
    let corewise = || time_ms(&mut corewise_command());
    let taskset = || time_ms(Command::new("taskset").args(["-c", "0", "/bin/true"]));
    let memory_bytes = peak_memory_bytes(&mut corewise_command())?;
    for _ in 0..UNMEASURED_PAIRS {
        corewise()?;
        taskset()?;
    }
    let mut times = Vec::with_capacity(pairs);
    for pair in 0..pairs {
        times.push(if pair % 2 == 0 {
            let first = corewise()?;
            (first, taskset()?)
        } else {
            let first = taskset()?;
            (corewise()?, first)
        });
    }
    let summary = RunSummary::new(&times);
    let largest = if program.is_some() { LARGEST_PACKAGE_RATIO } else { LARGEST_RATIO };
    print!("{}", summary.format_summary(pairs, largest, memory_bytes));
    Ok(summary.ratio <= largest && memory_bytes <= LARGEST_MEMORY_BYTES)
}

/// Returns the time from the start of a command to its end, in milliseconds.
fn time_ms(command: &mut Command) -> Result<f64> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    let time_ms = begun.elapsed().as_secs_f64() * 1e3;
    let program = Path::new(command.get_program()).display();
    ensure!(status.success(), "{program} failed: {status}");
    Ok(time_ms)
}

/// Returns the peak memory of a command, in bytes.
fn peak_memory_bytes(command: &mut Command) -> Result<u64> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let child = child.with_context(|| format!("{command:?} cannot be started"))?;
    let (status, memory_bytes) = wait_with_peak_memory_bytes(child)?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(memory_bytes)
}

struct RunSummary {
    corewise_ms: f64,
    taskset_ms: f64,
    /// The median of the ratios within pairs, which is not affected by changes of the machine between pairs.
    ratio: f64,
    quartiles: (f64, f64),
}

impl RunSummary {
    fn new(times: &[(f64, f64)]) -> Self {
        let of = |value: fn(&(f64, f64)) -> f64, place| quantile_of(times.iter().map(value).collect(), place);
        let ratio = |(corewise, taskset): &(f64, f64)| corewise / taskset;
        Self {
            corewise_ms: of(|pair| pair.0, 0.5),
            taskset_ms: of(|pair| pair.1, 0.5),
            ratio: of(ratio, 0.5),
            quartiles: (of(ratio, 0.25), of(ratio, 0.75)),
        }
    }

    fn format_summary(&self, pairs: usize, largest: f64, memory_bytes: u64) -> String {
        let Self { corewise_ms, taskset_ms, ratio, quartiles: (low, high) } = self;
        let memory_mb = memory_bytes as f64 / 1e6;
        let most_mb = LARGEST_MEMORY_BYTES as f64 / 1e6;
        format!(
            "corewise run --on 0 -- /bin/true   {corewise_ms:.3} ms\n\
             taskset -c 0 /bin/true             {taskset_ms:.3} ms\n\
             ratio, median of {pairs} pairs {ratio:.2} (quartiles {low:.2} to {high:.2}; at most {largest})\n\
             peak memory {memory_mb:.1} MB (at most {most_mb:.0})\n"
        )
    }
}

/// Returns the value below which this part of the values lies.
fn quantile_of(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_pairs() {
        let summary = RunSummary::new(&[(2.0, 1.0), (30.0, 20.0), (4.0, 4.0)]);
        assert_eq!((summary.ratio, summary.quartiles), (1.5, (1.5, 2.0)));
        assert_eq!((summary.corewise_ms, summary.taskset_ms), (4.0, 4.0));
        let words = summary.format_summary(3, 1.3, 3_600_000);
        assert!(words.contains("ratio, median of 3 pairs 1.50 (quartiles 1.50 to 2.00; at most 1.3)"), "{words}");
        assert!(words.ends_with("peak memory 3.6 MB (at most 12)\n"), "{words}");
    }
}
