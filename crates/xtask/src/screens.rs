//! Checks that a corewise for another system prints the same as the native one about every described machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::repository_root;

/// Commands with the same output on both.
const SCREENS: [&[&str]; 4] =
    [&["topology"], &["place", "all"], &["place", "spread(4,llc)"], &["place", "pack(3,core)", "--as", "powershell"]];

/// Checks that both print the same about all described machines.
pub fn are_same(native: &Path, other: impl Fn() -> Command) -> Result<()> {
    let files: std::io::Result<Vec<PathBuf>> = std::fs::read_dir(repository_root().join("crates/machine/machines"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    for machine in files?.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        for words in SCREENS {
            let [here, there] =
                [Command::new(native), other()].map(|mut command| shown_screen(&mut command, words, machine));
            if here? != there? {
                bail!("{words:?} of {} differs from the native output", machine.display());
            }
        }
    }
    Ok(())
}

/// Returns a corewise's output about a machine.
fn shown_screen(command: &mut Command, words: &[&str], machine: &Path) -> Result<String> {
    let output = command.args(words).arg("--machine").arg(machine).output().context("it cannot be started")?;
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(printed.into_owned())
    } else {
        bail!("{words:?} of {}: {printed}", machine.display())
    }
}
