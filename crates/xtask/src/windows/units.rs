//! The unit tests of the crates, compiled for Windows and run under Wine.

use std::path::Path;

use anyhow::{Context, Result};
use xtask::cargo;

use super::PROFILE;
use crate::programs::{self, How};
use crate::setup::{WINDOWS, WINE};
use crate::summary::Summary;

/// The crates whose tests meet the system; `model` is the same everywhere, and tested for minutes.
const PACKAGES: [&str; 6] =
    ["corewise", "corewise-keep", "corewise-lab", "corewise-store", "corewise-sys", "corewise-work"];
/// Tests that are not run, by a part of their names, and why.
const LEFT_OUT: [(&str, &str); 1] =
    [("change::tests", "the tests of the journal make files, links and pipes as Unix has them, and are not compiled")];

/// Builds and runs them.
pub fn run(prefix: &Path) -> Result<Summary> {
    let packages = PACKAGES.iter().flat_map(|name| ["--package", name]);
    let mut test = cargo();
    test.args(["test", "--lib", "--bins", "--target", WINDOWS, "--profile", PROFILE]).args(packages);
    let programs = programs::build(&mut test)?;
    let prefix = prefix.to_str().context("the folder of Wine is no text")?;
    let how = How {
        under: &[WINE],
        arguments: &LEFT_OUT.iter().flat_map(|(name, _)| ["--skip", name]).collect::<Vec<_>>(),
        variables: &[("WINEPREFIX", prefix), ("WINEARCH", "win64"), ("WINEDEBUG", "-all")],
        at_once: 2,
    };
    let mut summary = programs::run(&programs, &how)?;
    summary.skips.extend(LEFT_OUT.iter().map(|(name, why)| ((*name).to_owned(), Some((*why).to_owned()))));
    Ok(summary)
}
