//! What the tests of `corewise run` share: starting it, reading what it says, and the cpus that there are.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::LazyLock;

use corewise_machine::CpuSet;
use corewise_sys::affinity;
use libtest_mimic::{Completion, Failed, Trial};

/// What a test gives: done, skipped with a reason, or failed.
pub type RunTestResult = std::result::Result<Completion, Failed>;

/// The two ways to run a command: in corewise's place, and watched by it.
pub const WAYS: [&[&str]; 2] = [&[], &["-v"]];

/// A test by its name.
pub fn trial(name: &str, test: fn() -> RunTestResult) -> Trial {
    Trial::ignorable_test(name, test)
}

/// `corewise run` with words that stand behind it.
pub fn run(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corewise"));
    command.arg("run").args(words).env("NO_COLOR", "1");
    command
}

/// What a command leaves behind, as it was run and ended.
pub fn done(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("the program can be started")
}

/// The standard output of a command that must succeed.
pub fn said(command: &mut Command) -> std::result::Result<String, Failed> {
    let output = done(command);
    let text = text(&output.stdout);
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?}: {}\n{text}{}", output.status, self::text(&output.stderr)).into())
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Words of a command line, and those of the actor behind them.
pub fn with_actor<'a>(options: &[&'a str], actor: &'a str, part: &'a str) -> Vec<&'a str> {
    [options, &["--", actor, "act", part]].concat()
}

/// A part that is told two cpus.
pub fn part(name: &str, (first, second): (u32, u32)) -> String {
    format!("{name}={first},{second}")
}

/// The path of this program, which is the actor.
pub fn actor() -> String {
    std::env::current_exe().expect("a program has a path").to_str().expect("a path in UTF-8").to_owned()
}

/// The cpus that may be used, and the first two of them where there are two.
pub fn two_cpus() -> std::result::Result<(u32, u32), Completion> {
    let all = affinity::current_affinity().expect("a thread has a mask");
    let first: Vec<u32> = all.iter().take(2).collect();
    match first[..] {
        [first, second] => Ok((first, second)),
        _ => Err(Completion::ignored_with("only one cpu may be used here")),
    }
}

/// One cpu that may be used.
pub fn one_cpu() -> &'static str {
    static CPU: LazyLock<String> = LazyLock::new(|| {
        let all = affinity::current_affinity().expect("a thread has a mask");
        all.lowest().expect("a mask has a cpu").to_string()
    });
    &CPU
}

/// Whether a program is installed.
pub fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).exists())
}

/// Fails where two values differ.
pub fn same<T: PartialEq + std::fmt::Debug>(found: T, expected: T, of: &str) -> std::result::Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{of}: found {found:?}, expected {expected:?}").into()) }
}

/// A running command whose lines are read as they come; ended with the test, however the test ends.
pub struct RunningCommand {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl RunningCommand {
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let stdout = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let stderr = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
        Self { child, stdout, stderr }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard output; empty at its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a pipe can be read");
        line.trim_end().to_owned()
    }

    /// A line on standard input.
    pub fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("standard input is open");
        writeln!(input, "{line}").expect("a pipe can be written to");
    }

    /// The next line of standard error; empty at its end.
    pub fn error_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("a pipe can be read");
        line.trim_end().to_owned()
    }

    /// Ends standard input, by which actors wait.
    pub fn end_input(&mut self) {
        drop(self.child.stdin.take());
    }

    pub fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    pub fn status(&mut self) -> std::process::ExitStatus {
        self.child.wait().expect("a child can be waited for")
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal by its name.
pub fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
    assert!(status.expect("there is a kill").success(), "kill -{name} {process}");
}

/// The list of a mask's cpus, as every tool prints it.
pub fn list(cpus: impl IntoIterator<Item = u32>) -> String {
    cpus.into_iter().collect::<CpuSet>().to_string()
}
