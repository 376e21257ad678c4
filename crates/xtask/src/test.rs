//! `cargo xtask test`: runs all checks of a change, with the duration of each step.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use corewise_rig::RigUse;
use corewise_testing::requires_test_data;
use xtask::{cargo_command, parse_number, repository_root, run_command};

use crate::arm::{self, TestSelection};

use crate::platform_names;
use crate::programs::{self, ProgramOptions, TestProgram};
use crate::setup;
use crate::summary::TestSummary;
use crate::{
    artifact_users, deny, file_access, named_code, number_access, packages, suggestions, walls, windows, words,
};

/// The test program that boots machines.
const RIG: &str = "cli rig";
/// The test program that starts clusters.
const FLEET: &str = "cli fleet";
/// The test program that takes longest.
const LONGEST: &str = "sys recordings";
/// Packages compiled only on request: comparisons with other tools, and the targets of the fuzzer.
const APART: [&str; 4] = ["--exclude", "corewise-compare", "--exclude", "corewise-fuzz"];

/// Arguments of the chore.
#[derive(Debug, Default, PartialEq)]
struct TestArguments<'a> {
    /// Skip the installation.
    no_install: bool,
    /// Run the lints first.
    lint: bool,
    /// Also the machines of the rig, the small build, Arm, and Windows under Wine.
    full: bool,
    /// Arguments for cargo, such as `-p corewise-model`.
    cargo: Vec<&'a str>,
    /// Arguments for the test programs: a part of names.
    tests: Vec<&'a str>,
}

impl<'a> TestArguments<'a> {
    fn parse(words: &[&'a str]) -> Self {
        let mut asked = Self::default();
        let (before, after) = words.split_at(words.iter().position(|word| *word == "--").unwrap_or(words.len()));
        asked.tests = after.iter().skip(1).copied().collect();
        for word in before {
            match *word {
                "--no-install" => asked.no_install = true,
                "--lint" => asked.lint = true,
                "--full" => asked.full = true,
                other => asked.cargo.push(other),
            }
        }
        asked
    }

    /// Returns true if no selection of tests was given.
    fn selects_none(&self) -> bool {
        self.cargo.is_empty() && self.tests.is_empty()
    }

    /// Returns true if machines are to be booted: a selection may be of their tests.
    fn boots_machines(&self) -> bool {
        self.full || !self.selects_none()
    }
}

/// Runs the suite; returns false if a lint or a test failed, a test program died, or required test data is missing.
pub fn run(words: &[&str]) -> Result<bool> {
    let (asked, mut steps) = (TestArguments::parse(words), StepTimes::default());
    let found = steps.run_all(&asked);
    let (mut summary, error) = match found {
        Ok(summary) => (summary, None),
        Err(error) => (TestSummary::default(), Some(error)),
    };
    if requires_test_data() && summary.without_data() > 0 {
        summary.add_failure(format!(
            "{} tests had no test data, which COREWISE_REQUIRE_TESTDATA asks for",
            summary.without_data()
        ));
    }
    print!("\n{}\n{}", summary.format_names(), steps.format_table());
    match error {
        Some(error) => Err(error),
        None => {
            println!("{}", summary.format_counts());
            Ok(summary.failed == 0)
        }
    }
}

/// Repeats some tests, beside two busy loops or under a command if requested; returns false if one ever failed.
pub fn repeat_tests(words: &[&str]) -> Result<bool> {
    let (mut busy, mut under, mut words) = (false, Vec::new(), words);
    let times: u32 = loop {
        match words {
            ["--busy", rest @ ..] => (busy, words) = (true, rest),
            ["--under", command, rest @ ..] => (under, words) = (command.split_whitespace().collect(), rest),
            [times, rest @ ..] => {
                words = rest;
                break parse_number(times)?;
            }
            [] => bail!("how many times?"),
        }
    };
    let asked = TestArguments::parse(words);
    let programs = build_tests(&asked)?;
    let how =
        ProgramOptions { under: &under, arguments: &asked.tests, at_once: at_once(), ..ProgramOptions::default() };
    let ended = AtomicBool::new(false);
    let mut summary = TestSummary::default();
    thread::scope(|scope| -> Result<()> {
        for _ in 0..if busy { 2 } else { 0 } {
            // Arithmetic rather than a spin hint, which would leave the core to its sibling.
            scope.spawn(|| {
                let mut sum = 0_u64;
                while !ended.load(Ordering::Relaxed) {
                    sum = black_box(sum.wrapping_mul(3).wrapping_add(1));
                }
            });
        }
        let repeated =
            (0..times).try_for_each(|_| programs::run(&programs, &how).map(|found| summary.add_summary(found)));
        ended.store(true, Ordering::Relaxed);
        repeated
    })?;
    summary.skips.sort();
    summary.skips.dedup();
    println!("\n{}{} in {times} times", summary.format_names(), summary.format_counts());
    Ok(summary.failed == 0)
}

/// Builds the program natively, then everything on Arm.
pub fn test_on_arm(part: TestSelection) -> Result<bool> {
    run_command(cargo_command().args(["build", "--package", "corewise-cli"]))?;
    let summary = arm::run(part, &native_program()?)?;
    println!("\n{}{}", summary.format_names(), summary.format_counts());
    Ok(summary.failed == 0)
}

/// Builds the program natively, then for Windows, and runs it under Wine; `part` selects checks by a part of their names, without unit
/// tests.
pub fn test_on_windows(part: Option<&str>) -> Result<bool> {
    run_command(cargo_command().args(["build", "--package", "corewise-cli"]))?;
    let summary = windows::run(&native_program()?, part)?;
    println!("\n{}{}", summary.format_names(), summary.format_counts());
    Ok(summary.failed == 0)
}

/// Returns the number of test programs to run at a time: one more than cpus, since some sleep.
fn at_once() -> usize {
    thread::available_parallelism().map_or(1, usize::from) + 1
}

/// Durations of the steps.
#[derive(Default)]
struct StepTimes(Vec<(&'static str, Duration)>);

impl StepTimes {
    fn run_all(&mut self, asked: &TestArguments<'_>) -> Result<TestSummary> {
        if !asked.no_install {
            self.run_step("set-up", || Ok(setup::for_tests()))?;
        }
        if asked.lint {
            self.run_step("format", || run_command(cargo_command().args(["fmt", "--all", "--check"])))?;
            self.run_step("walls", require_walls)?;
            self.run_step("words", check_words)?;
            self.run_step("dependencies", || {
                if deny::check_packages()? { Ok(()) } else { bail!("a dependency that deny.toml refuses") }
            })?;
            self.run_step("lints of everything", lint_workspace)?;
            self.run_step("lints for Windows", platform_names::lint_windows)?;
        }
        let programs = self.run_step("build", || build_tests(asked))?;
        let (mut rig, mut others): (Vec<TestProgram>, Vec<TestProgram>) =
            programs.into_iter().partition(|program| program.name == RIG);
        if !asked.boots_machines() {
            rig.clear();
            others.retain(|program| program.name != FLEET);
        }
        // The longest first: it would be left alone at the end.
        others.sort_by_key(|program| program.name != LONGEST);
        // Unless the environment selects others.
        let machines = std::env::var(RigUse::VARIABLE).unwrap_or_else(|_| "change".into());
        let variables = [(RigUse::VARIABLE, machines.as_str())];
        let how = ProgramOptions { arguments: &asked.tests, variables: &variables, ..ProgramOptions::default() };
        // Machines compute beside all later steps, and so does cargo, which runs examples crate by crate: processes that wait or sleep leave
        // the processors to them.
        let (mut summary, begun) = (TestSummary::default(), Instant::now());
        let beside = thread::scope(|scope| {
            let boot = || (programs::run(&rig, &ProgramOptions { at_once: 1, ..how.clone() }), begun.elapsed());
            let booted = asked.boots_machines().then(|| scope.spawn(boot));
            let examples = asked.selects_none().then(|| scope.spawn(|| (run_examples(), begun.elapsed())));
            if asked.full {
                self.run_step("the small build", test_small_build)?;
                summary.add_summary(self.run_step("Arm", || arm::run(TestSelection::Differing, &native_program()?))?);
                summary.add_summary(self.run_step("Windows, under Wine", || windows::run(&native_program()?, None))?);
            }
            summary.add_summary(
                self.run_step("tests", || {
                    programs::run(&others, &ProgramOptions { at_once: at_once(), ..how.clone() })
                })?,
            );
            let beside = [
                ("examples of documentation, beside tests", examples),
                ("machines of the rig, beside Arm and tests", booted),
            ];
            let join = |(name, job): (_, Option<ScopedJoinHandle<'_, _>>)| {
                job.map(|job| (name, job.join().expect("neither thread panics")))
            };
            anyhow::Ok(beside.map(join))
        })?;
        for (name, (found, took)) in beside.into_iter().flatten() {
            self.0.push((name, took));
            summary.add_summary(found.context(name)?);
        }
        Ok(summary)
    }

    /// Runs a step and records its duration.
    fn run_step<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("{name} …");
        let begun = Instant::now();
        let done = work();
        self.0.push((name, begun.elapsed()));
        done.context(name)
    }

    fn format_table(&self) -> String {
        let row = |(name, took): &(&str, Duration)| format!("{:>7.0} s  {name}\n", took.as_secs_f64());
        self.0.iter().map(row).collect()
    }
}

/// Runs every check of the structure; returns false if one of them finds a fault, which it prints.
pub fn check_walls() -> Result<bool> {
    Ok(walls::check_crates()?
        & file_access::check_file_access()?
        & number_access::check_number_access()?
        & artifact_users::check()?
        & platform_names::check_platform_names()?
        & suggestions::check_suggestions()?
        & named_code::check_named_code()?
        & packages::check_packages()?)
}

fn require_walls() -> Result<()> {
    if check_walls()? { Ok(()) } else { bail!("a circle, or a wall that is open") }
}

fn check_words() -> Result<()> {
    if words::check_all()? { Ok(()) } else { bail!("names or comments that read worse than their aims") }
}

fn lint_workspace() -> Result<()> {
    let mut clippy = cargo_command();
    clippy.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    // Linting links nothing, so libFuzzer is not built for it.
    run_command(clippy.env("CUSTOM_LIBFUZZER_PATH", "/none/libfuzzer.a"))?;
    // As for embedders, without the workloads, and as the daemon alone.
    for features in ["measuring", "keep"] {
        run_command(cargo_command().args(["clippy", "--package", "corewise-cli", "--no-default-features"]).args([
            "--features",
            features,
            "--",
            "-D",
            "warnings",
        ]))?;
    }
    // As for a library that only places threads.
    let library = [
        "clippy",
        "--package",
        "corewise",
        "--package",
        "corewise-machine",
        "--package",
        "corewise-sys",
        "--no-default-features",
    ];
    run_command(cargo_command().args(library).args(["--", "-D", "warnings"]))?;
    // Its tests and examples alone: other features of `machine` and `sys` than any program has.
    run_command(cargo_command().args(["clippy", "--package", "corewise", "--all-targets", "--", "-D", "warnings"]))
}

/// Runs the tests of a build of `keep` and `undo` alone. Its program has a folder of its own, since the path is the same for all features;
/// the libraries that were compiled for the other tests serve it, too.
fn test_small_build() -> Result<()> {
    let options = ["--package", "corewise-cli", "--no-default-features", "--features", "keep", "--test", "small"];
    let mut command = cargo_command();
    command.arg("test").args(options).args(["--target-dir", "target/small"]).env("CARGO_BUILD_BUILD_DIR", "target");
    run_command(&mut command)
}

fn build_tests(asked: &TestArguments<'_>) -> Result<Vec<TestProgram>> {
    let mut command = cargo_command();
    command.arg("test");
    if asked.cargo.is_empty() {
        command.arg("--workspace").args(APART);
        // The rest is examples, which lints compile too.
        command.args((!asked.full).then_some("--tests"));
    }
    programs::build_programs(command.args(&asked.cargo))
}

/// Runs the examples in doc comments, which embedders read in `machine`, `lab` and `keep`. A selection of these packages alone would compile
/// them and their dependencies a second time, with other features.
fn run_examples() -> Result<TestSummary> {
    programs::run_examples(cargo_command().args(["test", "--doc", "--no-fail-fast", "--workspace"]).args(APART))
}

/// Returns the path of the program that was built for the tests.
fn native_program() -> Result<PathBuf> {
    let path = repository_root().join("target/debug/corewise");
    if path.is_file() { Ok(path) } else { bail!("{} is missing", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_divided() {
        let asked = TestArguments::parse(&["--no-install", "-p", "corewise-model", "--", "name", "--lint"]);
        let expected = TestArguments {
            no_install: true,
            lint: false,
            full: false,
            cargo: vec!["-p", "corewise-model"],
            tests: vec!["name", "--lint"],
        };
        assert_eq!((asked.boots_machines(), asked), (true, expected));
        let [quick, full] = [&["--lint"][..], &["--full"]].map(TestArguments::parse);
        assert_eq!((quick.selects_none(), quick.boots_machines(), full.boots_machines()), (true, false, true));
    }
}
