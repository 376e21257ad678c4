//! `cargo xtask dist --verify`: builds packages here and in a fresh clone of the commit, and compares every byte.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::{read_output, repository_root, run_command};

use super::{PROFILE, PackageTarget, SUMS, build_packages};
use crate::setup::ZIG_FOLDER;

/// Folder of the clone, in the repository.
const CLONE: &str = "target/clone-of-the-commit";

/// Builds the packages of some targets twice, here into a folder; returns false if they differ, and prints each file that does.
pub fn compare_builds(targets: &[PackageTarget], folder: &Path) -> Result<bool> {
    let changed = read_output(Command::new("git").args(["status", "--porcelain"]).current_dir(repository_root()))?;
    ensure!(changed.is_empty(), "only a commit can be built twice; there are changes:\n{changed}");
    build_packages(targets, PROFILE, folder)?;
    let first = fs::read_to_string(folder.join(SUMS))?;
    let second = build_in_clone(targets, &repository_root().join(CLONE))?;
    let differing = differing_files(&first, &second);
    differing.iter().for_each(|name| println!("differs: {name}"));
    println!("{} of {} files are the same", first.lines().count() - differing.len(), first.lines().count());
    Ok(differing.is_empty())
}

/// Clones the repository into a new folder, builds the packages there, and returns their sums.
fn build_in_clone(targets: &[PackageTarget], clone: &Path) -> Result<String> {
    if clone.exists() {
        fs::remove_dir_all(clone)?;
    }
    fs::create_dir_all(clone)?;
    run_command(Command::new("git").args(["clone", "--quiet"]).arg(repository_root()).arg(clone))?;
    let tools = clone.join(ZIG_FOLDER);
    fs::create_dir_all(tools.parent().context("the tools are in no folder")?)?;
    std::os::unix::fs::symlink(repository_root().join(ZIG_FOLDER), &tools)?;
    let out = clone.join("target/release-files");
    let mut chore = Command::new("cargo");
    chore.args(["xtask", "dist", "--out"]).arg(&out).args(targets.iter().map(|target| target.triple));
    run_command(chore.current_dir(clone).env("CARGO_TARGET_DIR", clone.join("target")))?;
    let sums = out.join(SUMS);
    fs::read_to_string(&sums).with_context(|| sums.display().to_string())
}

/// Returns the names of files whose lines are not in both lists of sums.
fn differing_files<'a>(first: &'a str, second: &'a str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (one, other) in [(first, second), (second, first)] {
        let missing = one.lines().filter(|line| !other.lines().any(|found| found == *line));
        names.extend(missing.filter_map(|line| line.split_whitespace().nth(1)));
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_sum_and_one_that_is_missing_differ() {
        assert_eq!(differing_files("1  a\n2  b\n", "1  a\n2  b\n"), [""; 0]);
        assert_eq!(differing_files("1  a\n2  b\n3  c\n", "1  a\n9  b\n"), ["b", "c"]);
    }
}
