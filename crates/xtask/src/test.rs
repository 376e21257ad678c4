//! `cargo xtask test`: runs all checks of a change, with the duration of each step.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use corewise_rig::Use;
use xtask::{cargo, done, number, root};

use crate::arm::{self, Part};

use crate::face;
use crate::programs::{self, How, Program};
use crate::setup;
use crate::summary::Summary;
use crate::{artifact_users, deny, doors, packages, suggestions, walls, windows, words};

/// The test program that boots machines.
const RIG: &str = "cli rig";
/// The test program that takes longest.
const LONGEST: &str = "model lib";
/// Packages compiled only on request: comparisons with other tools, and the targets of the fuzzer.
const APART: [&str; 4] = ["--exclude", "corewise-compare", "--exclude", "corewise-fuzz"];

/// Arguments of the chore.
#[derive(Debug, Default, PartialEq)]
struct Asked<'a> {
    /// Skip the installation.
    no_install: bool,
    /// Run the lints first.
    lint: bool,
    /// Arguments for cargo, such as `-p corewise-model`.
    cargo: Vec<&'a str>,
    /// Arguments for the test programs: a part of names.
    tests: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    fn parse(words: &[&'a str]) -> Self {
        let mut asked = Self::default();
        let (before, after) = words.split_at(words.iter().position(|word| *word == "--").unwrap_or(words.len()));
        asked.tests = after.iter().skip(1).copied().collect();
        for word in before {
            match *word {
                "--no-install" => asked.no_install = true,
                "--lint" => asked.lint = true,
                other => asked.cargo.push(other),
            }
        }
        asked
    }

    /// Returns true if no selection of tests was given.
    fn everything(&self) -> bool {
        self.cargo.is_empty() && self.tests.is_empty()
    }
}

/// Runs the suite; returns false if a lint or a test failed, a test program died, or required test data is missing.
pub fn run(words: &[&str]) -> Result<bool> {
    let (asked, mut steps) = (Asked::parse(words), Steps::default());
    let found = steps.all(&asked);
    let (mut summary, error) = match found {
        Ok(summary) => (summary, None),
        Err(error) => (Summary::default(), Some(error)),
    };
    if requires_test_data(std::env::var("COREWISE_REQUIRE_TESTDATA").ok().as_deref()) && summary.without_data() > 0 {
        summary.fail(format!(
            "{} tests had no test data, which COREWISE_REQUIRE_TESTDATA asks for",
            summary.without_data()
        ));
    }
    print!("\n{}\n{}", summary.names(), steps.table());
    match error {
        Some(error) => Err(error),
        None => {
            println!("{}", summary.counts());
            Ok(summary.failed == 0)
        }
    }
}

/// Returns true if missing test data is a failure, by the value of `COREWISE_REQUIRE_TESTDATA`.
fn requires_test_data(value: Option<&str>) -> bool {
    value == Some("1")
}

/// Repeats some tests, beside two busy loops or under a command if requested; returns false if one ever failed.
pub fn repeat(words: &[&str]) -> Result<bool> {
    let (mut busy, mut under, mut words) = (false, Vec::new(), words);
    let times: u32 = loop {
        match words {
            ["--busy", rest @ ..] => (busy, words) = (true, rest),
            ["--under", command, rest @ ..] => (under, words) = (command.split_whitespace().collect(), rest),
            [times, rest @ ..] => {
                words = rest;
                break number(times)?;
            }
            [] => bail!("how many times?"),
        }
    };
    let asked = Asked::parse(words);
    let programs = build(&asked)?;
    let how = How { under: &under, arguments: &asked.tests, at_once: at_once(), ..How::default() };
    let ended = AtomicBool::new(false);
    let mut summary = Summary::default();
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
        let repeated = (0..times).try_for_each(|_| programs::run(&programs, &how).map(|found| summary.add(found)));
        ended.store(true, Ordering::Relaxed);
        repeated
    })?;
    summary.skips.sort();
    summary.skips.dedup();
    println!("\n{}{} in {times} times", summary.names(), summary.counts());
    Ok(summary.failed == 0)
}

/// Builds the program natively, then everything on Arm.
pub fn arm(part: Part) -> Result<bool> {
    done(cargo().args(["build", "--package", "corewise"]))?;
    let summary = arm::run(part, &native()?)?;
    println!("\n{}{}", summary.names(), summary.counts());
    Ok(summary.failed == 0)
}

/// Builds the program natively, then for Windows, and runs it under Wine; `part` selects checks by a part of their names, without unit
/// tests.
pub fn windows(part: Option<&str>) -> Result<bool> {
    done(cargo().args(["build", "--package", "corewise"]))?;
    let summary = windows::run(&native()?, part)?;
    println!("\n{}{}", summary.names(), summary.counts());
    Ok(summary.failed == 0)
}

/// Returns the number of test programs to run at a time: one more than cpus, since some sleep.
fn at_once() -> usize {
    thread::available_parallelism().map_or(1, usize::from) + 1
}

/// Durations of the steps.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    fn all(&mut self, asked: &Asked<'_>) -> Result<Summary> {
        if !asked.no_install {
            self.step("set-up", || Ok(setup::for_tests()))?;
        }
        if asked.lint {
            self.step("format", || done(cargo().args(["fmt", "--all", "--check"])))?;
            self.step("walls", walls)?;
            self.step("words", check_words)?;
            self.step("dependencies", || {
                if deny::check()? { Ok(()) } else { bail!("a dependency that deny.toml refuses") }
            })?;
            self.step("lints of everything", lint)?;
            self.step("lints for Windows", face::lint)?;
        }
        let programs = self.step("build", || build(asked))?;
        let (rig, mut others): (Vec<Program>, Vec<Program>) =
            programs.into_iter().partition(|program| program.name == RIG);
        // The longest first: its simulations would be left alone at the end.
        others.sort_by_key(|program| program.name != LONGEST);
        // Unless the environment selects others.
        let machines = std::env::var(Use::VARIABLE).unwrap_or_else(|_| "change".into());
        let variables = [(Use::VARIABLE, machines.as_str())];
        let how = How { arguments: &asked.tests, variables: &variables, ..How::default() };
        // Machines compute beside all later steps: processes that wait or sleep leave the processors to them.
        let mut summary = Summary::default();
        let (of_rig, took) = thread::scope(|scope| {
            let booted = scope.spawn(|| {
                let begun = Instant::now();
                (programs::run(&rig, &How { at_once: 1, ..how.clone() }), begun.elapsed())
            });
            if asked.everything() {
                summary.add(self.step("Arm", || arm::run(Part::Differing, &native()?))?);
                summary.add(self.step("Windows, under Wine", || windows::run(&native()?, None))?);
            }
            summary.add(self.step("tests", || programs::run(&others, &How { at_once: at_once(), ..how.clone() }))?);
            anyhow::Ok(booted.join().expect("the rig's thread does not panic"))
        })?;
        self.0.push(("machines of the rig, beside Arm and tests", took));
        summary.add(of_rig?);
        Ok(summary)
    }

    /// Runs a step and records its duration.
    fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("{name} …");
        let begun = Instant::now();
        let done = work();
        self.0.push((name, begun.elapsed()));
        done.context(name)
    }

    fn table(&self) -> String {
        let row = |(name, took): &(&str, Duration)| format!("{:>7.0} s  {name}\n", took.as_secs_f64());
        self.0.iter().map(row).collect()
    }
}

/// Runs every check of the structure; returns false if one of them finds a fault, which it prints.
pub fn check_walls() -> Result<bool> {
    Ok(walls::check()?
        & doors::check()?
        & artifact_users::check()?
        & face::check()?
        & suggestions::check()?
        & packages::check()?)
}

fn walls() -> Result<()> {
    if check_walls()? { Ok(()) } else { bail!("a circle, or a wall that is open") }
}

fn check_words() -> Result<()> {
    if words::check_limits()? { Ok(()) } else { bail!("names or comments that read worse than their limits") }
}

fn lint() -> Result<()> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    // Linting links nothing, so libFuzzer is not built for it.
    done(clippy.env("CUSTOM_LIBFUZZER_PATH", "/none/libfuzzer.a"))?;
    // As for embedders, without the workloads.
    done(cargo().args(["check", "--package", "corewise", "--no-default-features"]))?;
    // As for a library that only places threads.
    let library = ["clippy", "--package", "corewise-machine", "--package", "corewise-sys", "--no-default-features"];
    done(cargo().args(library).args(["--", "-D", "warnings"]))
}

fn build(asked: &Asked<'_>) -> Result<Vec<Program>> {
    let mut command = cargo();
    command.arg("test");
    if asked.cargo.is_empty() {
        command.arg("--workspace").args(APART);
    }
    programs::build(command.args(&asked.cargo))
}

/// Returns the path of the program that was built for the tests.
fn native() -> Result<PathBuf> {
    let path = root().join("target/debug/corewise");
    if path.is_file() { Ok(path) } else { bail!("{} is missing", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_data_is_required_by_its_own_variable() {
        assert!(requires_test_data(Some("1")));
        assert!(!requires_test_data(Some("0")) && !requires_test_data(None));
    }

    #[test]
    fn what_is_asked_for_is_divided() {
        let asked = Asked::parse(&["--no-install", "-p", "corewise-model", "--", "name", "--lint"]);
        let expected =
            Asked { no_install: true, lint: false, cargo: vec!["-p", "corewise-model"], tests: vec!["name", "--lint"] };
        assert_eq!((asked.everything(), asked), (false, expected));
        assert!(Asked::parse(&["--lint"]).everything());
    }
}
