//! `cargo xtask test`: the whole test suite, summed up over all its programs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use corewise_rig::{Rig, Use};

use crate::cargo;
use crate::summary::Summary;

/// Runs `cargo test` for the workspace; false where a test failed, a test program died, or, in CI, test data is missing.
pub fn run(arguments: &[&str]) -> Result<bool> {
    let mut command = cargo();
    // One failure must not hide those of the programs behind it.
    command.args(["test", "--workspace", "--no-fail-fast"]).args(arguments).stdout(Stdio::piped());
    prepare_rig(&mut command);
    let mut child = command.spawn().context("cargo cannot be started")?;
    let mut summary = Summary::default();
    for line in BufReader::new(child.stdout.take().context("cargo has no output")?).split(b'\n') {
        let line = line.context("the output of the tests cannot be read")?;
        let line = String::from_utf8_lossy(&line);
        summary.read(&line);
        writeln!(std::io::stdout(), "{line}").context("the output of the tests cannot be passed on")?;
    }
    let status = child.wait().context("cargo cannot be waited for")?;
    let good = judge(&mut summary, status.success(), std::env::var("CI").is_ok_and(|value| value == "true"));
    println!("\n{}", summary.words());
    Ok(good)
}

/// The quick part of the rig belongs to the suite, unless the environment says what to boot.
fn prepare_rig(command: &mut Command) {
    if std::env::var_os(Use::VARIABLE).is_none() {
        command.env(Use::VARIABLE, "quick");
    }
    // Without a kernel its tests are skipped, and say why.
    if let Err(error) = Rig::fetch() {
        eprintln!("xtask: {error}");
    }
}

/// Whether a run was good; counts as failed what the test programs could not report themselves.
fn judge(summary: &mut Summary, success: bool, in_ci: bool) -> bool {
    if !success && summary.failed == 0 {
        summary.failed += 1;
        summary.failures.push("(a test program that did not build, or ended without a result: see above)".into());
    }
    let without_data = summary.without_data();
    if in_ci && without_data > 0 {
        summary.failed += 1;
        summary.failures.push(format!("({without_data} tests had no test data, which must be there in CI)"));
    }
    summary.failed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(line: &str, success: bool, in_ci: bool) -> (bool, u64) {
        let mut summary = Summary::default();
        summary.read(line);
        (judge(&mut summary, success, in_ci), summary.failed)
    }

    #[test]
    fn what_no_program_reports_is_a_failure_too() {
        let data = "test a ... ignored, there is no folder COREWISE_TESTDATA";
        let other = "test a ... ignored, one cpu only";
        assert_eq!(judged("", true, true), (true, 0));
        assert_eq!(judged("", false, false), (false, 1));
        assert_eq!(judged("test result: FAILED. 1 passed; 2 failed; 0 ignored", false, false), (false, 2));
        assert_eq!(judged(data, true, false), (true, 0));
        assert_eq!(judged(data, true, true), (false, 1));
        assert_eq!(judged(other, true, true), (true, 0));
    }
}
