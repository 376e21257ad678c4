//! `cargo xtask arm`: builds for 64-bit Arm and runs in an emulator. It runs tests that may differ there, and the program itself, which
//! must print the same as the native one about every described machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use xtask::repository_root;

use crate::programs::{self, ProgramOptions};
use crate::screens;
use crate::setup::{self, ARM};
use crate::summary::TestSummary;

const EMULATOR: [&str; 3] = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];
const LINKER: &str = "aarch64-linux-gnu-gcc";
const LINKER_VARIABLE: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";
/// Variable that makes tests skip if an emulator of single programs cannot run them; nothing else may skip them.
const EMULATED: (&str, &str) = ("COREWISE_EMULATED", "yes");
/// Pure tests that draw many texts: left out when only differing tests run.
const PURE: [&str; 1] = ["steers"];
/// Profile that compiles as fast as possible: no measurement runs there.
const PROFILE: &str = "arm";

/// Selection of tests to run in the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestSelection {
    /// Tests of the crates that depend on the processor, the kernel or C: `sys`, `store`, and the program's own unit tests.
    Differing,
    /// Also tests of recordings, `machine`, `model` and `lab`: pure functions and simulations, which take minutes in an emulator.
    All,
}

/// Test programs of `sys` and `store`.
const TESTS: [&str; 3] = ["execution", "groups", "places"];
/// Test programs of `sys`, `machine` and `model` that are pure functions of texts and numbers, and the test of kernel events, which are
/// available there only if tracefs is mounted.
const MORE: [&str; 6] =
    ["events", "recordings", "articles", "experiment_error_rates", "link_files", "placement_document"];
/// Tests that an emulator of single programs cannot run, by a part of their names. It cannot adopt orphans, start itself, report memory
/// nodes or events of processes, drop root's right to write everywhere, or read another thread's words between two writes without a pause.
const NOT_EMULATED: [&str; 10] = [
    "wall_and_usage_are_those_of_the_whole_tree",
    "who_stays_behind_does_not_count_and_is_ended",
    "processes_that_create_and_add_at_once_lose_nothing",
    "what_a_killed_process_added_is_there",
    "a_store_that_may_only_be_read_is_read",
    "a_folder_that_may_not_be_written_is_an_error",
    "a_node_that_is_not_there_is_told",
    "process_events::tests",
    "no_record_is_torn",
    "a_panic_gives_the_terminal_back",
];
/// A test program that starts corewise, which is built with it. An emulated program starts no other, so this one is not run.
const BUILDS_THE_PROGRAM: &str = "history";

/// Returns `more` if all tests are selected, else nothing.
fn select_tests<T>(part: TestSelection, more: &'static [T]) -> &'static [T] {
    if part == TestSelection::All { more } else { &[] }
}

/// Builds and tests; skips if a tool is missing.
pub fn run(part: TestSelection, native: &Path) -> Result<TestSummary> {
    if let Err(why) = check_means() {
        return Ok(TestSummary { skips: vec![("all on Arm".into(), Some(why))], ..TestSummary::default() });
    }
    let cargo = |words: &[&str]| {
        let mut command = xtask::cargo_command();
        command.args(words).args(["--target", ARM, "--profile", PROFILE]).env(LINKER_VARIABLE, LINKER);
        command
    };
    // In one call: packages that cargo selects together share their dependencies' features, so that nothing is compiled twice.
    let mut selected = vec!["test", "--lib", "--bins"];
    for package in ["corewise-sys", "corewise-store", "corewise-cli"]
        .iter()
        .chain(select_tests(part, &["corewise-machine", "corewise-statistics", "corewise-model", "corewise-lab"]))
    {
        selected.extend(["--package", package]);
    }
    for program in TESTS.iter().chain(select_tests(part, &MORE)).chain(&[BUILDS_THE_PROGRAM]) {
        selected.extend(["--test", program]);
    }
    let mut programs = programs::build_programs(&mut cargo(&selected))?;
    programs.retain(|program| !program.name.ends_with(BUILDS_THE_PROGRAM));
    let pure: &[&str] = if part == TestSelection::All { &[] } else { &PURE };
    let left_out: Vec<&str> = NOT_EMULATED.iter().chain(pure).flat_map(|name| ["--skip", name]).collect();
    let how = ProgramOptions { under: &EMULATOR, arguments: &left_out, variables: &[EMULATED], at_once: 2 };
    let mut summary = programs::run(&programs, &how)?;
    let program = repository_root().join("target").join(ARM).join(PROFILE).join("corewise");
    match screens::are_same(native, || emulated_command(&program)).and_then(|()| mask_in_force(&program)) {
        Ok(()) => summary.passed += 1,
        Err(error) => summary.add_failure(format!("the program on Arm: {error:#}")),
    }
    Ok(summary)
}

/// Checks for all tools needed to build and run; the error names a missing one.
fn check_means() -> Result<(), String> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err("Arm is emulated on x86-64 only".into());
    }
    if !setup::has_library(ARM) {
        return Err("there is no standard library of Rust for Arm".into());
    }
    for program in [LINKER, EMULATOR[0]] {
        if !setup::on_path(program) {
            return Err(format!("{program} is not installed"));
        }
    }
    Ok(())
}

/// Checks that a program of the host sees the mask.
fn mask_in_force(arm: &Path) -> Result<()> {
    let all = xtask::read_output(emulated_command(arm).args(["place", "all", "--as", "list"]))?;
    let cpu = all.trim().split(['-', ',']).next().unwrap_or_default();
    let seen = xtask::read_output(emulated_command(arm).args([
        "run",
        "--on",
        cpu,
        "--",
        "grep",
        "Cpus_allowed_list",
        "/proc/self/status",
    ]))?;
    match seen.split_whitespace().nth(1) {
        Some(allowed) if allowed == cpu => Ok(()),
        _ => bail!("run --on {cpu}: {seen}"),
    }
}

fn emulated_command(program: &Path) -> Command {
    let mut command = Command::new(EMULATOR[0]);
    command.args(&EMULATOR[1..]).arg(program);
    command
}
