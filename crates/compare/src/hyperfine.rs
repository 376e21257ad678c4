//! `cargo xtask compare-hyperfine`: compares a command with itself, by `corewise try` and by hyperfine, in turn. A claim that one of the
//! two is faster is wrong.

use std::process::Command;

use anyhow::{Context, Result};
use corewise_statistics::student::welch_deviate;
use serde_json::Value;

use xtask::{cargo_command, read_output, repository_root, run_command};

/// Ratio from which a reviewer would claim a difference.
const ARROW: f64 = 1.03;
/// Normal deviate beyond which the means differ at 5 %.
const SIGNIFICANT: f64 = 1.96;

/// Runs `sessions` sessions with each tool, hyperfine with as many runs as corewise made, and prints the results; returns false if corewise
/// found a winner.
pub fn run(file: &str, sessions: usize) -> Result<bool> {
    run_command(cargo_command().args(["build", "--release", "--package", "corewise"]))?;
    println!("| session | corewise: runs | says | interval, % | hyperfine: ratio of the means | ± | Welch's deviate |");
    println!("|--:|--:|---|---|--:|--:|--:|");
    let (mut false_winners, mut arrows, mut significant) = (0, 0, 0);
    for session in 1..=sessions {
        let ours = run_corewise(file)?;
        let theirs = run_hyperfine(file, ours.runs.div_ceil(2))?;
        println!("| {session} | {} | {} | {} | {} |", ours.runs, ours.verdict, ours.interval, theirs.format_runs());
        false_winners += usize::from(ours.verdict == "wins");
        arrows += usize::from(theirs.ratio >= ARROW);
        significant += usize::from(theirs.deviate.abs() > SIGNIFICANT);
    }
    println!(
        "\ncorewise: {false_winners} of {sessions} sessions found a winner. hyperfine: the means were 3 % apart in {arrows}, and \
         different by Welch's test at 5 % in {significant}."
    );
    Ok(false_winners == 0)
}

struct CorewiseRuns {
    runs: usize,
    verdict: String,
    interval: String,
}

fn run_corewise(file: &str) -> Result<CorewiseRuns> {
    let mut command = Command::new(repository_root().join("target/release/corewise"));
    command.args(["try", "--no-store", "--json", "--on", "os", "--on", "os", "--"]);
    // The exit status repeats the verdict; only the printed document counts.
    let printed = command.args(["sha256sum", file]).output().context("corewise cannot be started")?;
    let document: Value = serde_json::from_slice(&printed.stdout)
        .with_context(|| format!("corewise try: {}", String::from_utf8_lossy(&printed.stderr)))?;
    let standing = &document["conclusions"]["standing"];
    let percent = |end: &Value| end.as_f64().map_or_else(|| "…".to_owned(), |x| format!("{:.1}", x.exp_m1() * 100.0));
    let effect = &standing["arms"][1]["effect"];
    Ok(CorewiseRuns {
        runs: standing["runs"].as_u64().context("the result has no number of runs")? as usize,
        verdict: standing["verdict"]["kind"].as_str().context("the result has no verdict")?.replace('-', " "),
        interval: format!("{} to {}", percent(&effect["low"]), percent(&effect["high"])),
    })
}

struct HyperfineRuns {
    /// Ratio of the slower mean to the faster one.
    ratio: f64,
    /// The standard deviation that hyperfine prints beside it.
    deviation: f64,
    deviate: f64,
}

impl HyperfineRuns {
    fn format_runs(&self) -> String {
        format!("{:.3} | {:.3} | {:.1}", self.ratio, self.deviation, self.deviate)
    }
}

fn run_hyperfine(file: &str, runs: usize) -> Result<HyperfineRuns> {
    let command = format!("sha256sum {file}");
    let runs = runs.max(2).to_string();
    let exported = repository_root().join("target/hyperfine.json");
    let mut hyperfine = Command::new("hyperfine");
    hyperfine.args(["-N", "--warmup", "1", "--style", "none", "--runs", &runs, "--export-json"]).arg(&exported);
    read_output(hyperfine.args([&command, &command]))?;
    let document: Value = serde_json::from_slice(&std::fs::read(&exported)?).context("hyperfine's JSON")?;
    let number = |command: usize, name: &str| document["results"][command][name].as_f64().context("hyperfine's JSON");
    let times = |command: usize| -> Vec<f64> {
        document["results"][command]["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let of = |name: &str| Ok::<_, anyhow::Error>([number(0, name)?, number(1, name)?]);
    let (means, deviations) = (of("mean")?, of("stddev")?);
    let ratio = means[0].max(means[1]) / means[0].min(means[1]);
    Ok(HyperfineRuns {
        ratio,
        // As hyperfine propagates it.
        deviation: ratio * ((deviations[0] / means[0]).powi(2) + (deviations[1] / means[1]).powi(2)).sqrt(),
        deviate: welch_deviate(&times(0), &times(1)).unwrap_or(0.0),
    })
}
