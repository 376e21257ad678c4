//! Chores of the corewise project: `cargo xtask test`, `rig`, `schema`, `fuzz`, `bench-loop`, `compare-links`,
//! `compare-tail`, `compare-run`, `compare-work`, `compare-hyperfine`, `validate`.
#![forbid(unsafe_code)]

mod compare_hyperfine;
mod compare_links;
mod compare_run;
mod compare_tail;
mod fuzz;
mod rig;
mod schema;
mod summary;
mod test;
mod validate;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use corewise_rig::Use;

const USAGE: &str = "\
usage: cargo xtask CHORE
  test [ARGUMENT…]        run the whole test suite with the quick part of the rig (arguments go to `cargo test`);
                          sums up, and lists what was skipped and why
  rig --list              the machines that the test rig can boot
  rig MACHINE             a shell in one of them, with corewise; leave with `exit`
  rig MACHINE COMMAND…    run a command there, as root; a single argument is a script
  rig test [--quick] [NAME]  test corewise on all machines, or on three small ones; what has NAME in its name
  rig record [MACHINE…]   make the recordings in crates/rig/recordings anew
  rig fetch               fetch the kernel that the machines boot
  schema [--check]        write docs/schema/*.json from the types, or say which of them are out of date
  fuzz [SECONDS] [TARGET] run every fuzz target, or one, for so long each (600)
  bench-loop              what an iteration of the tail probe's loop takes, bare and recorded; is it cheap enough?
  compare-links [ROUNDS]  measure a link with corewise and with other tools, quiet and busy, in turn (9 rounds)
  compare-tail [ROUNDS]   the stalls of one cpu by corewise, oslat, a loop like sysjitter's, and cyclictest, in turn (9 rounds)
  compare-run [PAIRS]     start a command with corewise and with taskset, in turn (200 pairs); is it fast and small enough?
  compare-work [ROUNDS]   the built-in workloads with two threads and with one, and beside plain loops over the same crates, in turn (10 rounds)
  compare-hyperfine FILE [SESSIONS]  a command against itself, `sha256sum FILE`, with corewise and with hyperfine, in turn (20)
  validate [SHARE]        check the statistics of `corewise try` by simulation, with a share of the repetitions (1);
                          use `cargo run --release -p xtask -- validate`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Does a chore; false where it was done and found something wrong.
fn run(words: &[&str]) -> Result<bool> {
    match words {
        ["test", arguments @ ..] => test::run(arguments),
        ["rig", "--list"] => {
            rig::list();
            Ok(true)
        }
        ["rig", "fetch"] => rig::fetch().map(|()| true),
        ["rig", "test", "--quick", arguments @ ..] => rig::test(Use::Quick, arguments),
        ["rig", "test", arguments @ ..] => rig::test(Use::Full, arguments),
        ["rig", "record", names @ ..] => rig::record(names).map(|()| true),
        ["rig", machine, command @ ..] => rig::boot(machine, command),
        ["schema"] => schema::write().map(|()| true),
        ["schema", "--check"] => schema::check(),
        ["fuzz"] => fuzz::run(600, None),
        ["fuzz", seconds] => fuzz::run(number(seconds)?, None),
        ["fuzz", seconds, target] => fuzz::run(number(seconds)?, Some(target)),
        ["bench-loop"] => bench_loop(),
        ["compare-links"] => compare_links::run(9).map(|()| true),
        ["compare-links", rounds] => compare_links::run(number(rounds)?).map(|()| true),
        ["compare-tail"] => compare_tail::run(9).map(|()| true),
        ["compare-tail", rounds] => compare_tail::run(number(rounds)?).map(|()| true),
        ["compare-run"] => compare_run::run(200),
        ["compare-run", pairs] => compare_run::run(number(pairs)?),
        ["compare-work"] => compare_work(10),
        ["compare-work", rounds] => compare_work(number(rounds)?),
        ["compare-hyperfine", file] => compare_hyperfine::run(file, 20),
        ["compare-hyperfine", file, sessions] => compare_hyperfine::run(file, number(sessions)?),
        ["validate"] => Ok(validate::run(1.0)),
        ["validate", share] => Ok(validate::run(number(share)?)),
        _ => bail!("there is no such chore\n{USAGE}"),
    }
}

/// Whether the tail probe's loop is as cheap as it must be, in the release profile.
fn bench_loop() -> Result<bool> {
    let words = ["run", "--release", "--package", "corewise-lab", "--example", "loop_cost"];
    Ok(cargo().args(words).status()?.success())
}

fn compare_work(rounds: usize) -> Result<bool> {
    let words = ["run", "--release", "--package", "corewise-work", "--example", "side_by_side"];
    Ok(cargo().args(words).arg(rounds.to_string()).status()?.success())
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T> {
    word.parse().ok().with_context(|| format!("expected a number, found \"{word}\""))
}

/// The repository's root.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The cargo that runs this program, started in the repository's root.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command with its output on the terminal; an error where it fails.
fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} failed: {status}") }
}

/// What a command prints on standard output; an error where it fails.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?} cannot be started"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed something other than text"))
}
