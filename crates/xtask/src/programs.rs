//! Test programs: built once, then run several at a time, each with its output in a file of its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xtask::{command_succeeds, repository_root};

use crate::summary::TestSummary;

/// Time after which a program counts as hung: the longest takes a quarter of it on a slow host.
const LONGEST: Duration = Duration::from_mins(45);
const LOOK: Duration = Duration::from_millis(20);

/// A test program.
#[derive(Clone, Debug)]
pub struct TestProgram {
    /// The package's folder and the target, "cli try"; for a library, "model lib".
    pub name: String,
    /// Path of the program.
    pub path: PathBuf,
    /// Its package's folder, in which it is run.
    folder: PathBuf,
}

/// Builds the programs that `cargo test` would run; an error if anything does not compile.
pub fn build_programs(cargo: &mut Command) -> Result<Vec<TestProgram>> {
    let cargo = cargo.arg("--no-run").arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = cargo.spawn().context("cargo cannot be started")?;
    let messages = BufReader::new(child.stdout.take().context("cargo has no output")?);
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(&line.context("cargo's messages cannot be read")?)?;
        programs.extend(read_program(&message));
    }
    if !child.wait()?.success() {
        bail!("the tests do not build, as said above");
    }
    Ok(programs)
}

/// Returns the test program in one of cargo's messages.
fn read_program(message: &Value) -> Option<TestProgram> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    // A library and a program of the same name are two test programs, and need separate output files.
    let is_library = message["target"]["kind"][0] == "lib";
    let target = if is_library { "lib" } else { message["target"]["name"].as_str()? };
    Some(TestProgram { name: format!("{package} {target}"), path, folder })
}

/// Options of running programs.
#[derive(Clone, Debug, Default)]
pub struct ProgramOptions<'a> {
    /// Starter of each program: an emulator, another user, fewer cpus.
    pub under: &'a [&'a str],
    /// Names of tests, and options of the test programs.
    pub arguments: &'a [&'a str],
    /// Variables for the programs only.
    pub variables: &'a [(&'a str, &'a str)],
    /// Number of programs at a time.
    pub at_once: usize,
}

/// Runs programs in their order, and prints the result of each when it has ended.
pub fn run(programs: &[TestProgram], how: &ProgramOptions<'_>) -> Result<TestSummary> {
    let (waiting, summary) = (Mutex::new(programs.iter()), Mutex::new(TestSummary::default()));
    let next = || waiting.lock().expect("no thread panics with it").next();
    thread::scope(|scope| {
        let work = || -> Result<()> {
            while let Some(program) = next() {
                let begun = Instant::now();
                let (status, printed) = run_one(program, how)?;
                let of_program = TestSummary::of_program(&program.name, &printed, status.success());
                // In one piece, since other threads print, too.
                print!("{}", of_program.of_one(&program.name, &printed, begun.elapsed()));
                summary.lock().expect("no thread panics with it").add_summary(of_program);
            }
            Ok(())
        };
        let workers: Vec<_> = (0..how.at_once.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    Ok(summary.into_inner().expect("no thread panics with it"))
}

/// Runs a program to its end; its output goes to target/tests, also while it runs.
fn run_one(program: &TestProgram, how: &ProgramOptions<'_>) -> Result<(ExitStatus, String)> {
    let starter = how.under.first().and_then(|first| Path::new(first).file_name());
    let under = starter.map_or_else(String::new, |name| format!("-{}", name.display()));
    let path = repository_root().join("target/tests").join(format!("{}{under}.txt", program.name.replace(' ', "-")));
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    let printed = File::create(&path).with_context(|| path.display().to_string())?;
    // A suite started in the background may ignore Ctrl-C; programs inherit that, and shells then cannot trap it.
    let mut command = Command::new("env");
    command.args(default_signals()).args(how.under).arg(&program.path).arg("--show-output").args(how.arguments);
    command.current_dir(&program.folder);
    command.envs(how.variables.iter().copied()).env("CARGO_MANIFEST_DIR", &program.folder);
    command.stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(printed);
    let mut child = command.spawn().with_context(|| format!("{} cannot be started", program.path.display()))?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if begun.elapsed() > LONGEST => {
                println!("{} did not end within {} minutes", program.name, LONGEST.as_secs() / 60);
                child.kill()?;
                break child.wait()?;
            }
            None => thread::sleep(LOOK),
        }
    };
    Ok((status, String::from_utf8_lossy(&std::fs::read(&path)?).into_owned()))
}

/// Runs the examples that a `cargo test --doc` selects, and prints their result. An example that does not compile is a failed test.
pub fn run_examples(cargo: &mut Command) -> Result<TestSummary> {
    let begun = Instant::now();
    // Errors of the build go to the terminal.
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cargo cannot be started")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let summary = TestSummary::of_program("examples", &printed, output.status.success());
    print!("{}", summary.of_one("examples", &printed, begun.elapsed()));
    Ok(summary)
}

/// Returns the option by which env(1) gives its command the default signals; `None` if it has no such option.
fn default_signals() -> Option<&'static str> {
    const OPTION: &str = "--default-signal=INT,QUIT";
    command_succeeds(Command::new("env").args([OPTION, "true"])).then_some(OPTION)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_of_a_test_program_is_one() {
        let of_kind = |kind: &str, test: bool, executable: Value| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/here/crates/cli/Cargo.toml", "profile": {"test": test},
                "target": {"name": "try", "kind": [kind]}, "executable": executable
            })
        };
        let message = |test, executable| of_kind("test", test, executable);
        assert_eq!(read_program(&of_kind("lib", true, "/target/try-2".into())).unwrap().name, "cli lib");
        let found = read_program(&message(true, "/target/try-1".into())).unwrap();
        assert_eq!((found.name.as_str(), found.folder.as_path()), ("cli try", Path::new("/here/crates/cli")));
        assert!(read_program(&message(false, "/target/corewise".into())).is_none());
        assert!(read_program(&message(true, Value::Null)).is_none());
    }
}
