//! Measures corewise beside other tools, and its statistics by simulation; started by `cargo xtask`, which lists the chores in its usage.
//!
//! This is a separate crate, so that nothing of it is compiled for the tests of a change.
#![forbid(unsafe_code)]

mod hyperfine;
mod keep;
mod links;
mod memory;
mod run;
mod tail;
mod validate;
mod watch;
mod watching;

use std::process::ExitCode;

use anyhow::{Result, bail};
use xtask::{cargo_command, parse_number};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run_comparison(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs a chore; returns false if it ran and found a defect.
fn run_comparison(words: &[&str]) -> Result<bool> {
    match words {
        ["bench-loop"] => run_example("corewise-lab", "loop_cost", &[]),
        ["bench-output"] => run_example("corewise-lab", "output_cost", &[]),
        ["compare-links"] => links::run(9).map(|()| true),
        ["compare-links", rounds] => links::run(parse_number(rounds)?).map(|()| true),
        ["compare-keep", words @ ..] | words @ ["keep-actor", ..] => keep::run(words),
        ["compare-memory"] => memory::run(9).map(|()| true),
        ["compare-memory", rounds] => memory::run(parse_number(rounds)?).map(|()| true),
        ["compare-tail"] => tail::run(9).map(|()| true),
        ["compare-tail", rounds] => tail::run(parse_number(rounds)?).map(|()| true),
        ["compare-watching"] => watching::run(50).map(|()| true),
        ["compare-watching", "pairs"] => watching::run_pairs(800).map(|()| true),
        ["compare-watching", "pairs", pairs] => watching::run_pairs(parse_number(pairs)?).map(|()| true),
        ["compare-watching", rounds] => watching::run(parse_number(rounds)?).map(|()| true),
        ["compare-run"] => run::run(200, None),
        ["compare-run", pairs] => run::run(parse_number(pairs)?, None),
        ["compare-run", pairs, program] => run::run(parse_number(pairs)?, Some(program)),
        ["compare-watch"] => watch::run(20, None),
        ["compare-watch", seconds] => watch::run(parse_number(seconds)?, None),
        ["compare-watch", seconds, program] => watch::run(parse_number(seconds)?, Some(program)),
        ["compare-worth"] => run_example("corewise-sys", "worth_cost", &[]),
        ["compare-work"] => run_example("corewise-work", "side_by_side", &["10"]),
        ["compare-work", rounds] => run_example("corewise-work", "side_by_side", &[rounds]),
        ["compare-hyperfine", file] => hyperfine::run(file, 20),
        ["compare-hyperfine", file, sessions] => hyperfine::run(file, parse_number(sessions)?),
        ["validate"] => validate::run(1.0, None),
        ["validate", share] => validate::run(parse_number(share)?, None),
        ["validate", share, only] => validate::run(parse_number(share)?, Some(only)),
        _ => bail!("there is no such comparison; `cargo xtask` lists them"),
    }
}

/// Runs an example in the release profile.
fn run_example(package: &str, name: &str, words: &[&str]) -> Result<bool> {
    let example = ["run", "--release", "--package", package, "--example", name, "--"];
    Ok(cargo_command().args(example).args(words).status()?.success())
}
