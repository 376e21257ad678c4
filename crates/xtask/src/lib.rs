//! Starting other programs from chores.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// Returns the repository's root.
pub fn repository_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Returns the cargo that runs this program, started in the repository's root.
pub fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository_root());
    command
}

/// Returns the cargo of another toolchain, "+nightly", started in the repository's root.
pub fn cargo_of(toolchain: &str) -> Command {
    let mut command = Command::new("cargo");
    // These variables would pass on the toolchain of this program.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTDOC");
    command.arg(toolchain).current_dir(repository_root());
    command
}

/// Runs a command with its output on the terminal.
///
/// # Errors
/// If it cannot be started, or fails.
pub fn run_command(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} failed: {status}") }
}

/// Returns a command's standard output.
///
/// # Errors
/// If it cannot be started, fails, or prints something other than text.
pub fn read_output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?} cannot be started"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed something other than text"))
}

/// Returns true if a command can be started and succeeds; its output is discarded.
pub fn command_succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Parses a number from the command line.
///
/// # Errors
/// If it is none.
pub fn parse_number<T: FromStr>(word: &str) -> Result<T> {
    word.parse().ok().with_context(|| format!("expected a number, found \"{word}\""))
}
