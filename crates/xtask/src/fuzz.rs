//! `cargo xtask fuzz`: runs every fuzz target for a while, from its seeds and the finds of earlier runs.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::{cargo_of, read_output, repository_root};

use crate::setup;

/// Runs the fuzz targets, or one of them, for some seconds each; returns false if one of them crashed.
pub fn run(seconds: u32, only: Option<&str>) -> Result<bool> {
    setup::for_fuzzing()?;
    let targets = read_output(cargo_fuzz().arg("list"))?;
    let targets: Vec<&str> = targets.lines().filter(|target| only.is_none_or(|only| only == *target)).collect();
    ensure!(!targets.is_empty(), "there is no such fuzz target");
    let mut crashed = Vec::new();
    for target in targets {
        // Finds go to the first folder, which git ignores; the seeds stay small.
        let (found, seeds) = (format!("fuzz/corpus-found/{target}"), format!("fuzz/seeds/{target}"));
        fs::create_dir_all(repository_root().join(&found)).with_context(|| format!("{found} cannot be created"))?;
        println!("{target}: {seconds} s");
        let mut command = cargo_fuzz();
        command.args([
            "run",
            target,
            &found,
            &seeds,
            "--",
            &format!("-max_total_time={seconds}"),
            "-timeout=10",
            // What is rendered is not to be seen.
            "-close_fd_mask=1",
            "-rss_limit_mb=512",
        ]);
        if !command.status().context("cargo fuzz cannot be started")?.success() {
            crashed.push(target);
        }
    }
    match crashed[..] {
        [] => println!("no target crashed"),
        _ => println!("crashed: {} (inputs in fuzz/artifacts)", crashed.join(", ")),
    }
    Ok(crashed.is_empty())
}

/// Returns cargo-fuzz with the nightly toolchain: the sanitizers are not in the stable one.
fn cargo_fuzz() -> Command {
    let mut command = cargo_of("+nightly");
    // Lets a crash be reported with its lines.
    command.arg("fuzz").env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    command
}
