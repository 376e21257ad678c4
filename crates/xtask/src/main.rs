//! Chores of the corewise project; without arguments, `cargo xtask` lists them.
#![forbid(unsafe_code)]

mod arm;
mod artifact_users;
mod deny;
mod dist;
mod file_access;
mod fuzz;
mod named_code;
mod number_access;
mod package_tests;
mod packages;
mod platform_names;
mod programs;
mod rig;
mod schema;
mod screens;
mod setup;
mod suggestions;
mod summary;
mod test;
mod walls;
mod windows;
mod words;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};
use xtask::{cargo_command, parse_number};

const USAGE: &str = "usage: cargo xtask CHORE
  setup [tests|packages|comparisons|fuzzing]
                          install what tests, the rig, packages and comparisons need, or one of them; reports what it did
  test [--full] [--lint] [--no-install] [ARGUMENT…] [-- NAME]
                          all native tests; --full adds the rig's machines, the small build, Arm and Windows, --lint runs the lints first;
                          or some tests: arguments of `cargo test`, and part of a name; lists failed and skipped tests
  repeat [--busy] [--under COMMAND] TIMES [ARGUMENT…] [-- NAME]
                          repeat some tests, as `test` runs them; --busy runs two busy loops at the same time, --under starts
                          them by a command: 'taskset -c 0', 'setpriv --reuid 65534 --regid 65534 --clear-groups'
  arm [--all]             the tests on an emulated 64-bit Arm: those that may differ, or all
  windows [PART]          the program for Windows under Wine: screens, this machine, masks and statuses of commands
  rig --list              the machines that the test rig can boot
  rig MACHINE             a shell in one of them, with corewise; leave with `exit`
  rig MACHINE COMMAND…    run a command there, as root; a single argument is a script
  rig test [NAME]         every scenario on all machines, or those with NAME in their name, \"dual-socket::memory\"
  rig record [MACHINE…]   make the recordings in crates/rig/recordings again
  unit                    the unit of `corewise keep` under this host's systemd, booted in the emulator: start, reload, kill, stop, upgrade, removal
  walls                   find circles between modules, commands that reach into other rooms, code outside sys \
that names a system or opens files, signals and masks by bare number, modules of the program that name artifacts outside of the rooms, commands that are suggested as texts, crates that use others than they may, and published crates that include files from outside
  words [--list names|words] [CRATE]
                          measure how names and comments of product code read, or list where; fails if a figure is above its aim
  dist [--out FOLDER] [--verify] [TARGET…]
                          build the files of a release into target/release-files: static programs, Debian packages, wheels, licences, sums; --verify
                          builds a commit twice, here and in a clone, and compares every byte
  packages [FOLDER]       install, use, upgrade and remove packages in fresh systems of Debian, as root: those of a folder (target/release-files),
                          or of programs that compile faster
  deny                    check licences, duplicates and sources of the dependencies by deny.toml
  pictures                make the pictures in docs/pictures again: pages of simulated results, by the chromium of the tests
  page-cost               how long pages of 256 cpus and of 400 runs take to make and to be painted, and how large they are
  schema [--check]        write crates/cli/schema/*.json from the types and the table of readers in docs/security.md, or list those that are out of date
  tables                  write the tables of README.md and docs/*.md that are made from lists in the code: commands, notations, …
  fuzz [SECONDS] [TARGET] run every fuzz target, or one, for this long each (600)
  hostile [COUNT]         read mutated pages, half as many recordings, a quarter as many stores, and answers of servers, within 256 MiB and 5 s each (2000)
  bench-loop              check the cost of an iteration of the tail probe's loop, bare and recorded
  bench-output            check what reading 50 MB of output costs a trial, beside a pipe that is only drained, in turn
  compare-keep [against PROGRAM] [latency [PROGRAMS] | cost [SECONDS] | kills [TIMES]]  how soon and how surely `corewise keep` places programs \
beside pollers and another build, \
what it costs, and what is left after kill -9 at random moments (500 programs, 100 times)
  compare-links [ROUNDS]  measure a link with corewise and with other tools, quiet and busy, in turn (9 rounds)
  compare-memory [ROUNDS] latency and bandwidth by corewise, by a second program in C, and by likwid-bench, \
in turn, quiet and busy (9 rounds)
  compare-tail [ROUNDS]   the stalls of one cpu by corewise, oslat, a loop like sysjitter's, and cyclictest, in turn \
(9 rounds)
  compare-watching [ROUNDS]  how much longer the timer's stalls are while they are watched, by each source, in turn \
(50 rounds; as root)
  compare-watching pairs [PAIRS]  whether ftrace keeps to the aim: watched and unwatched visits in alternation, medians \
of the pairs' ratios (800 pairs, less than 5 minutes; as root)
  compare-run [PAIRS [PROGRAM]]  start a command with corewise and with taskset, in turn (200 pairs); check time and size
  compare-work [ROUNDS]   the built-in workloads with two threads, with one, and against plain loops over the same \
crates, in turn (10 rounds)
  compare-watch [SECONDS [PROGRAM]]  what `corewise watch` costs, here and on the files of 512 cpus, and how soon it shows something (20 s each)
  compare-worth           what the map of worth costs: a read beside sched_getcpu, torn reads, an update of 512 cpus
  compare-hyperfine FILE [SESSIONS]  a command against itself, `sha256sum FILE`, with corewise and with hyperfine, in \
turn (20)
  validate [SHARE [NAME]] check the statistics of `corewise try` by simulation, with a share of the repetitions (1); or the one simulation NAME";

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

/// Runs a chore; returns false if it ran and found a defect.
fn run(words: &[&str]) -> Result<bool> {
    match words {
        [] | ["help"] | ["--help" | "-h"] | [_, "--help" | "-h"] => {
            // A reader may have enough of it.
            let _ = writeln!(std::io::stdout(), "{USAGE}");
            Ok(true)
        }
        ["setup"] => Ok(setup::install_all()),
        ["setup", "tests"] => Ok(setup::for_tests()),
        ["setup", "packages"] => Ok(setup::for_packages()),
        ["setup", "comparisons"] => Ok(setup::for_comparisons()),
        ["setup", "fuzzing"] => setup::for_fuzzing().map(|()| true),
        ["test", arguments @ ..] => test::run(arguments),
        ["repeat", arguments @ ..] => test::repeat_tests(arguments),
        ["arm"] => test::test_on_arm(arm::TestSelection::Differing),
        ["arm", "--all"] => test::test_on_arm(arm::TestSelection::All),
        ["windows"] => test::test_on_windows(None),
        ["windows", part] => test::test_on_windows(Some(part)),
        ["rig", "--list"] => {
            rig::list_machines();
            Ok(true)
        }
        ["rig", "test", arguments @ ..] => rig::test_machines(arguments),
        ["rig", "record", names @ ..] => rig::record_machines(names).map(|()| true),
        ["unit"] => rig::test_unit(),
        ["rig", machine, command @ ..] => rig::boot_machine(machine, command),
        ["walls"] => test::check_walls(),
        ["words", arguments @ ..] => words::run(arguments),
        ["dist", arguments @ ..] => dist::run(arguments),
        ["packages"] => package_tests::run(None),
        ["packages", folder] => package_tests::run(Some(folder)),
        ["deny"] => deny::check_packages(),
        ["pictures"] => page_chore("pictures_of_pages", &[]),
        ["page-cost"] => page_chore("cost_of_pages", &["--release"]),
        ["schema"] => schema::run(true),
        ["schema", "--check"] => schema::run(false),
        ["tables"] => write_tables(),
        ["hostile"] => read_hostile_input("2000"),
        ["hostile", count] => read_hostile_input(count),
        ["fuzz"] => fuzz::run(600, None),
        ["fuzz", seconds] => fuzz::run(parse_number(seconds)?, None),
        ["fuzz", seconds, target] => fuzz::run(parse_number(seconds)?, Some(target)),
        [chore, ..] if *chore == "bench-loop" || *chore == "validate" || chore.starts_with("compare-") => {
            compare_tools(words)
        }
        _ => bail!("no such chore, or not with these arguments; `cargo xtask` lists them"),
    }
}

/// Runs a chore of the tests of pages, which have the results and the browser that it needs.
fn page_chore(name: &str, options: &[&str]) -> Result<bool> {
    let test = ["test", "--quiet", "--package", "corewise-cli", "--test", "report"];
    Ok(cargo_command().args(test).args(options).args(["--", "--ignored", "--nocapture", name]).status()?.success())
}

/// Runs the tests of mutated input with this many pages.
fn read_hostile_input(count: &str) -> Result<bool> {
    let test = ["test", "--release", "--package", "corewise-cli", "--test", "mutants"];
    Ok(cargo_command().args(test).env("COREWISE_MUTANTS", count).status()?.success())
}

/// Writes the tables of documents by the test that compares them.
fn write_tables() -> Result<bool> {
    let test = ["test", "--quiet", "--package", "corewise-cli", "--test", "vocabularies", "tables_of_documents"];
    Ok(cargo_command().args(test).env("COREWISE_WRITE_TABLES", "1").status()?.success())
}

/// Measures corewise beside other tools: a separate crate, compiled on request.
fn compare_tools(words: &[&str]) -> Result<bool> {
    let program = ["run", "--quiet", "--release", "--package", "corewise-compare", "--"];
    Ok(cargo_command().args(program).args(words).status()?.success())
}
