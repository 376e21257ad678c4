//! `cargo xtask windows`: builds the program for Windows and runs it under Wine. It checks its screens, its report of this machine, and the
//! commands that it starts, as seen by a program in C. Facts that Wine cannot show are not tested here (docs/windows.md).

mod keep;
mod unit_tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use xtask::{cargo_command, repository_root, run_command};

use crate::screens;
use crate::setup::{self, WINDOWS, WINE};
use crate::summary::TestSummary;

const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Profile that compiles as fast as possible: no measurement runs there. Shared with the program for Arm.
const PROFILE: &str = "arm";
/// Sources of the test programs.
const SOURCES: &str = "crates/xtask/windows";
/// The folder of Wine's Windows.
const PREFIX: &str = "target/wine";

/// Width at which no searched text is wrapped.
const WIDE: [&str; 2] = ["--width", "300"];

/// A named check.
type WineCheck = (&'static str, fn(&WineSetup) -> Result<()>);

/// All checks.
const CHECKS: [WineCheck; 17] = [
    ("screens of described machines", |wine| screens::are_same(&wine.native, || wine.corewise(&[]))),
    ("this machine, as Wine reports it", this_machine),
    ("a recording is read on both systems", check_recording),
    ("the mask is in force at once, and inherited", check_masks),
    ("arguments come as they were typed", check_arguments),
    ("the status is the command's", check_status),
    ("Ctrl-C goes to the command, and ends a survey", check_interruption),
    ("run --soft says that it has no effect", check_soft),
    ("try finds the cpu with the better score", check_try),
    ("try counts threads, and sees masks of their own", check_threads),
    ("a command that is not there", missing_command),
    ("cpus that are not there", missing_cpus),
    ("an error of use for each wrong word", wrong_words),
    ("a survey and a map of links are measured", check_measuring),
    ("articles are made to their ends", check_articles),
    ("the history lies in %LOCALAPPDATA%", check_history),
    ("what is missing is named", check_doctor),
];

/// All commands.
const COMMANDS: &str = "survey topology tail links memory worth watch doctor try place workload article run keep irq undo history report completions \
                        record schema";

/// Builds and tests, or runs only the checks with a part of a name; skips if a tool is missing.
pub fn run(native: &Path, part: Option<&str>) -> Result<TestSummary> {
    if let Err(why) = check_means() {
        return Ok(TestSummary { skips: vec![("all on Windows".into(), Some(why))], ..TestSummary::default() });
    }
    run_command(cargo_command().args([
        "build",
        "--package",
        "corewise-cli",
        "--target",
        WINDOWS,
        "--profile",
        PROFILE,
    ]))?;
    let wine = WineSetup::set_up(native)?;
    let mut summary = if part.is_none() { unit_tests::run(&wine.prefix)? } else { TestSummary::default() };
    let mut count = |name: &str, result: Result<()>| match result {
        Ok(()) => summary.passed += 1,
        Err(error) => summary.add_failure(format!("Windows: {name}: {error:#}")),
    };
    for (name, check) in CHECKS.into_iter().chain(keep::CHECKS) {
        if part.is_none_or(|part| name.contains(part)) {
            count(name, check(&wine));
        }
    }
    Ok(summary)
}

/// Checks for all tools needed to build and run; the error names a missing one.
fn check_means() -> Result<(), String> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err("Wine is used on x86-64 only".into());
    }
    match (setup::has_library(WINDOWS), Path::new(WINE).is_file(), setup::on_path(COMPILER)) {
        (true, true, true) => Ok(()),
        (false, ..) => Err("there is no standard library of Rust for Windows".into()),
        (_, false, _) => Err(format!("{WINE} is not installed")),
        (.., false) => Err(format!("{COMPILER} is not installed")),
    }
}

/// A Windows imitated by Wine, with corewise and the test program.
struct WineSetup {
    prefix: PathBuf,
    native: PathBuf,
    corewise: PathBuf,
    masks: PathBuf,
}

impl WineSetup {
    fn set_up(native: &Path) -> Result<Self> {
        let prefix = repository_root().join(PREFIX);
        let folder = repository_root().join("target").join(WINDOWS).join(PROFILE);
        let wine = Self {
            native: native.to_owned(),
            corewise: folder.join("corewise.exe"),
            masks: folder.join("masks.exe"),
            prefix,
        };
        let system = wine.prefix.join("drive_c/windows/system32");
        if !system.join("kernel32.dll").is_file() {
            fs::create_dir_all(&wine.prefix)?;
            xtask::read_output(wine.wine_command(&["wineboot", "-i"]).arg("/silent"))?;
        }
        // A Wine that has it does not need ours.
        if !system.join("bcryptprimitives.dll").exists() {
            compile_program(
                &["-shared", "-s"],
                "bcryptprimitives.c",
                &system.join("bcryptprimitives.dll"),
                &["-ladvapi32"],
            )?;
        }
        compile_program(&["-Wall", "-Werror"], "masks.c", &wine.masks, &[])?;
        Ok(wine)
    }

    /// Returns a Windows program's command, without this system's folders.
    fn wine_command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(WINE);
        command.args(words).env("WINEPREFIX", &self.prefix).envs([("WINEARCH", "win64"), ("WINEDEBUG", "-all")]);
        for variable in ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"] {
            command.env_remove(variable);
        }
        // Wine itself needs one.
        command.env("HOME", &self.prefix);
        command
    }

    fn corewise(&self, words: &[&str]) -> Command {
        let mut command = self.wine_command(&[]);
        command.arg(&self.corewise).args(words);
        command
    }

    /// Returns corewise's output and status.
    fn run_corewise(&self, words: &[&str]) -> Result<WineOutput> {
        self.corewise(words).output().map(WineOutput::from).with_context(|| format!("{words:?} cannot be started"))
    }

    /// Runs corewise with the test program as its command.
    fn run_masks(&self, on: &str, arguments: &[&str]) -> Result<WineOutput> {
        self.run_masks_with(&[], on, arguments)
    }

    fn run_masks_with(&self, options: &[&str], on: &str, arguments: &[&str]) -> Result<WineOutput> {
        let mut command = self.corewise(&["run", "--on", on]);
        Ok(WineOutput::from(command.args(options).arg("--").arg(&self.masks).args(arguments).output()?))
    }
}

/// Output and status of a program.
struct WineOutput {
    text: String,
    error: String,
    status: Option<i32>,
}

impl From<Output> for WineOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        Self { text: text(&output.stdout), error: text(&output.stderr), status: output.status.code() }
    }
}

impl WineOutput {
    fn expect_status(&self, status: i32, parts: &[&str]) -> Result<()> {
        let whole = format!("{}{}", self.text, self.error);
        ensure!(self.status == Some(status), "ended with {:?}, not {status}: {whole}", self.status);
        for part in parts {
            ensure!(whole.contains(part), "\"{part}\" is missing in: {whole}");
        }
        Ok(())
    }
}

fn compile_program(options: &[&str], source: &str, program: &Path, libraries: &[&str]) -> Result<()> {
    let source = repository_root().join(SOURCES).join(source);
    run_command(Command::new(COMPILER).args(options).arg("-O2").arg("-o").arg(program).arg(source).args(libraries))
}

fn this_machine(wine: &WineSetup) -> Result<()> {
    let said = wine.run_corewise(&["topology"])?;
    said.expect_status(
        0,
        &["Wine ", "Windows ", "Not measured", "what Windows reports of this machine: this is Wine"],
    )?;
    let count = std::thread::available_parallelism()?;
    let cpus = wine.run_corewise(&["place", "all", "--as", "list"])?;
    ensure!(cpus.text.trim().ends_with(&(count.get() - 1).to_string()), "{count} cpus became {}", cpus.text);
    Ok(())
}

fn check_recording(wine: &WineSetup) -> Result<()> {
    let file = wine.prefix.join("recorded.tar");
    let _ = fs::remove_file(&file);
    wine.corewise(&["record", "-o"]).arg(&file).output().map(WineOutput::from)?.expect_status(0, &["recorded in"])?;
    let there = wine.corewise(&["topology", "--machine"]).arg(&file).output().map(WineOutput::from)?;
    there.expect_status(0, &["this is Wine"])?;
    let here = WineOutput::from(Command::new(&wine.native).args(["topology", "--machine"]).arg(&file).output()?);
    ensure!(here.text == there.text, "Wine shows {} and this system {}", there.text, here.text);
    Ok(())
}

fn check_masks(wine: &WineSetup) -> Result<()> {
    for (on, mask) in [("0", 1), ("1", 2)] {
        let said = wine.run_masks(on, &[])?;
        said.expect_status(0, &[&format!("own {mask}\n"), &format!("child {mask}\n")])?;
    }
    wine.run_masks("core:0", &[])?.expect_status(0, &["own ", "child "])?;
    // Attended, and not only started.
    wine.run_masks_with(&["-v"], "1", &["exit", "5"])?.expect_status(5, &["own 2\n", "child 2\n", "corewise: "])?;
    wine.run_masks_with(&["--enforce", "boundary"], "1", &["exit", "6"])?.expect_status(6, &["own 2\n", "child 2\n"])
}

fn check_arguments(wine: &WineSetup) -> Result<()> {
    let words = ["", "a b", "\"", r"\", r"a\\b", r#"a\"b"#, r"c:\d e\", "ü", "%PATH%", "*"];
    let said = wine.run_masks("0", &words)?;
    let expected: Vec<String> =
        words.iter().filter(|word| word.is_ascii()).map(|word| format!("argument [{word}]\n")).collect();
    said.expect_status(0, &expected.iter().map(String::as_str).collect::<Vec<_>>())
}

fn check_status(wine: &WineSetup) -> Result<()> {
    [0, 7, 255]
        .iter()
        .try_for_each(|status| wine.run_masks("0", &["exit", &status.to_string()])?.expect_status(*status, &[]))
}

/// Checks that a command handles Ctrl-C itself, and that a survey stores and prints its results, or says that it has none.
fn check_interruption(wine: &WineSetup) -> Result<()> {
    let pressed = |after_ms: &str, words: &[&str]| -> Result<WineOutput> {
        let mut command = wine.wine_command(&[]);
        command.arg(&wine.masks).args(["press", after_ms]).arg(&wine.corewise).args(words);
        Ok(WineOutput::from(command.output()?))
    };
    let masks = wine.masks.to_str().context("the program's path is no text")?;
    for options in [&["run", "--on", "0"][..], &["run", "--on", "0", "-v"]] {
        pressed("3000", &[options, &["--", masks, "wait"]].concat())?.expect_status(9, &[])?;
    }
    pressed("3000", &["survey", "--budget", "10m", "--no-store"])?.expect_status(130, &[])
}

fn check_soft(wine: &WineSetup) -> Result<()> {
    let said = wine.run_masks_with(&["--soft"], "1", &["exit", "4"])?;
    said.expect_status(4, &["--soft has no effect here: Wine ", "own ", "child "])?;
    ensure!(!said.text.contains("own 2\n"), "it was restricted: {}", said.text);
    Ok(())
}

/// Checks that `try` finds a score that depends only on the mask.
fn check_try(wine: &WineSetup) -> Result<()> {
    let arms = ["try", "--no-confirm", "--on", "0", "--on", "1", "--metric", "score=([0-9.]+)", "--higher"];
    let mut command = wine.corewise(&arms);
    command.args(["--rest", "0s", "--budget", "30s", "--seed", "1", "--no-store", "--"]).arg(&wine.masks).arg("score");
    WineOutput::from(command.output()?).expect_status(1, &["So far, in ", "cpu 1 is at least"])
}

fn check_threads(wine: &WineSetup) -> Result<()> {
    let mut command =
        wine.corewise(&["try", "--on", "0-1", "--rest", "0s", "--budget", "8s", "--no-store", "--json", "--"]);
    let said = WineOutput::from(command.arg(&wine.masks).arg("threads").output()?);
    ensure!(matches!(said.status, Some(0 | 1)), "it ended with {:?}: {}", said.status, said.error);
    let made: serde_json::Value = serde_json::from_str(&said.text)?;
    let trials =
        made.pointer("/observed/trials").and_then(|trials| trials.as_array()).context("there are no trials")?;
    // On a busy machine threads may come and go between two looks.
    let is_seen =
        |trial: &serde_json::Value| trial["observed"]["most_threads"] == 3 && trial["observed"]["own_mask"] == "0";
    ensure!(trials.iter().any(is_seen), "no run was seen with its threads: {trials:?}");
    Ok(())
}

fn missing_command(wine: &WineSetup) -> Result<()> {
    let said = wine.run_corewise(&["run", "--on", "0", "--", "no-such-program"])?;
    ensure!(said.status != Some(0), "it succeeded");
    said.expect_status(said.status.unwrap_or(-1), &["no-such-program"])
}

fn missing_cpus(wine: &WineSetup) -> Result<()> {
    wine.run_masks("60", &[])?.expect_status(3, &["cpu 60"])
}

fn wrong_words(wine: &WineSetup) -> Result<()> {
    for command in COMMANDS.split(' ') {
        wine.run_corewise(&[command, "--no-such-option"])?.expect_status(2, &["--no-such-option"])?;
    }
    wine.run_corewise(&["topology", "--machine", r"C:\none.txt"])?.expect_status(3, &["none.txt"])?;
    wine.run_corewise(&["run", "--on", "0", "--cgroup", "--", "x"])?
        .expect_status(3, &["Windows has no control groups"])?;
    wine.run_corewise(&["run", "--on", "0", "--memory", "bind:0", "--", "x"])?
        .expect_status(3, &["Windows has no memory policy"])
}

/// Runs the quick forms of articles, shortened, to the end of every step. Programs of reviews are missing, and in so short a time suites
/// drop what takes longer, which gives status 3.
fn check_articles(wine: &WineSetup) -> Result<()> {
    for (name, statuses) in [("cpu0", &[0, 3][..]), ("modules", &[0, 3]), ("threads", &[0, 3])] {
        let printed = wine.run_corewise(&["article", name, "--print"])?;
        let line = |line: &str| match line.strip_prefix("quick = [") {
            Some(quick) => {
                format!("quick = [{}\"--budget\", \"3s\"]", quick.split("\"--budget\"").next().unwrap_or_default())
            }
            None => line.to_owned(),
        };
        let shorter: Vec<String> = printed.text.lines().map(line).collect();
        fs::write(wine.prefix.join("drive_c/article.toml"), shorter.join("\n"))?;
        let said = wine.run_corewise(&["article", r"C:\article.toml", "--quick", "--no-store"])?;
        let is_right = said.status.is_some_and(|status| statuses.contains(&status)) && said.text.contains("Look at");
        ensure!(is_right && !said.text.contains("failed"), "{name}, {:?}: {}{}", said.status, said.text, said.error);
    }
    Ok(())
}

/// Checks that there are results, of any value: times under Wine mean nothing.
fn check_measuring(wine: &WineSetup) -> Result<()> {
    let survey = ["survey", "--budget", "2s", "--no-store", "--json"];
    wine.run_corewise(&survey)?
        .expect_status(0, &["\"conclusions\"", "this is Wine", "switches of threads", "does not count them"])?;
    wine.run_corewise(&["links", "--budget", "2s", "--no-store"])?.expect_status(0, &["compare-and-swap, ns one way"])
}

fn check_history(wine: &WineSetup) -> Result<()> {
    let matrix = wine.prefix.join("matrix.csv");
    fs::write(&matrix, ",0,1\n0,,40\n1,40,\n")?;
    let said = wine.corewise(&["links", "import"]).arg(&matrix).output().map(WineOutput::from)?;
    said.expect_status(0, &["stored as map"])?;
    wine.run_corewise(&["history", "--all"])?.expect_status(0, &["links"])?;
    let users = fs::read_dir(wine.prefix.join("drive_c/users"))?;
    let is_there = |user: fs::DirEntry| user.path().join("AppData/Local/corewise/history.db").is_file();
    ensure!(users.flatten().any(is_there), "no history.db below AppData/Local");
    Ok(())
}

fn check_doctor(wine: &WineSetup) -> Result<()> {
    wine.run_corewise(&["doctor", WIDE[0], WIDE[1]])?.expect_status(0, &["through ETW", "does not count them"])
}
