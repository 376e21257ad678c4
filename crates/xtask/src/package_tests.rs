//! `cargo xtask packages`: installs the packages in fresh systems of Debian, uses, upgrades and removes them, and runs the program for Arm
//! in an emulator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use xtask::{read_output, repository_root, run_command};

use crate::dist::{self, ARM, NATIVE, PROGRAM, VERSION};
use crate::setup;
use crate::summary::TestSummary;

/// The releases of Debian, oldstable and stable.
const RELEASES: [&str; 2] = ["bookworm", "trixie"];
/// Packages of the fresh systems besides the essential ones: what the checks use. None is a library for corewise.
const INSTALLED: &str = "--include=bash-completion,lintian,man-db,python3-venv";
/// Folder of the fresh systems: an archive for each release, made once, and what is unpacked from it.
const SYSTEMS: &str = "target/systems";
/// Folder of the packages that are made for the tests.
const FOLDER: &str = "target/packages";
/// Profile that compiles as fast as possible: nothing is measured here.
const PROFILE: &str = "arm";
const EMULATOR: &str = "qemu-aarch64";
/// Script of the checks, run in a chroot.
const SCRIPT: &str = include_str!("package_tests/chroot.sh");
/// Enters the chroot `$0` in namespaces of its own, with read-only facts about the machine. Whatever runs there ends with the shell.
const ENTER: &str = "mount -t proc proc $0/proc && mount -t sysfs -o ro sysfs $0/sys && mount --rbind /dev $0/dev && exec chroot $0 bash /check";

/// Builds packages of programs that compile fast, and tests them; skips if a tool or a right is missing.
pub fn build_and_test() -> Result<TestSummary> {
    if let Err(why) = check_means() {
        return Ok(TestSummary {
            skips: vec![("all packages".into(), Some(why.to_string()))],
            ..TestSummary::default()
        });
    }
    let folder = repository_root().join(FOLDER);
    dist::build_packages(&[NATIVE, ARM], PROFILE, &folder)?;
    test_packages(&folder)
}

/// Tests the packages in a folder, or new ones; returns false if a check fails.
pub fn run(folder: Option<&str>) -> Result<bool> {
    check_means()?;
    let summary = match folder {
        Some(folder) => test_packages(&repository_root().join(folder))?,
        None => build_and_test()?,
    };
    println!("\n{}{}", summary.format_names(), summary.format_counts());
    Ok(summary.failed == 0)
}

/// Checks for all tools and rights; the error names a missing one.
fn check_means() -> Result<()> {
    setup::check_package_tools()?;
    let user = read_output(Command::new("id").arg("-u"))?;
    ensure!(user.trim() == "0", "only root may make a system for them");
    Ok(())
}

fn test_packages(folder: &Path) -> Result<TestSummary> {
    let mut summary = check_arm_program(folder);
    for release in RELEASES {
        let printed = check_release(release, folder).with_context(|| release.to_owned())?;
        summary.add_summary(read_checks(release, &printed));
    }
    Ok(summary)
}

/// Unpacks a fresh system, runs all checks in it, and returns what they print.
fn check_release(release: &str, folder: &Path) -> Result<String> {
    let archive = fetch_system(release)?;
    let root = archive.with_extension("");
    remove_folder(&root)?;
    fs::create_dir_all(root.join("packages"))?;
    run_command(Command::new("tar").args(["--extract", "--file"]).arg(&archive).arg("--directory").arg(&root))?;
    for entry in fs::read_dir(folder).with_context(|| format!("{}: cargo xtask dist", folder.display()))? {
        let path = entry?.path();
        fs::copy(&path, root.join("packages").join(path.file_name().context("a file without a name")?))?;
    }
    fs::write(root.join("check"), SCRIPT)?;
    let mut enter = Command::new("unshare");
    enter.args(["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", ENTER]).arg(&root);
    // Nothing of this user's settings: neither pip's nor the language.
    let printed = read_output(enter.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))?;
    remove_folder(&root)?;
    Ok(printed)
}

/// Returns the archive of a fresh system, which is made once.
fn fetch_system(release: &str) -> Result<PathBuf> {
    let archive = repository_root().join(SYSTEMS).join(format!("{release}.tar"));
    if !archive.exists() {
        fs::create_dir_all(repository_root().join(SYSTEMS))?;
        let begun = archive.with_extension("begun.tar");
        run_command(Command::new("mmdebstrap").args(["--quiet", "--variant=minbase", INSTALLED, release]).arg(&begun))?;
        fs::rename(&begun, &archive)?;
    }
    Ok(archive)
}

fn remove_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(())
}

/// Returns the results in the output of the script, which prints a failure's reason below it. A script that was ended early has failed.
fn read_checks(release: &str, printed: &str) -> TestSummary {
    let mut summary = TestSummary::default();
    for line in printed.lines() {
        if line.starts_with("ok ") {
            summary.passed += 1;
        } else if let Some(check) = line.strip_prefix("NOT OK ") {
            summary.add_failure(format!("packages in {release}: {}", check.trim()));
        }
    }
    if !printed.ends_with("END\n") {
        summary.add_failure(format!("packages in {release}: the checks ended early"));
    }
    if summary.failed > 0 {
        println!("{printed}");
    }
    summary
}

/// Runs the static program for Arm in an emulator.
fn check_arm_program(folder: &Path) -> TestSummary {
    let mut summary = TestSummary::default();
    let checks: [(&[&str], &str); 3] =
        [(&["--version"], VERSION), (&["topology"], "package:0"), (&["place", "all", "--as", "list"], "0")];
    let unpacked = unpack_arm(folder);
    for (words, expected) in checks {
        let printed = unpacked.as_ref().map_err(|error| format!("{error:#}")).and_then(|program| {
            read_output(Command::new(EMULATOR).arg(program).args(words)).map_err(|error| format!("{error:#}"))
        });
        match printed {
            Ok(printed) if printed.contains(expected) => summary.passed += 1,
            Ok(printed) => summary.add_failure(format!("on Arm, {}: {printed}", words.join(" "))),
            Err(error) => summary.add_failure(format!("on Arm, {}: {error}", words.join(" "))),
        }
    }
    summary
}

/// Unpacks the program for Arm beside the fresh systems and returns its path; an error if it needs a library.
fn unpack_arm(folder: &Path) -> Result<PathBuf> {
    let name = ARM.archive_name();
    let unpacked = repository_root().join(SYSTEMS).join("arm");
    fs::create_dir_all(&unpacked)?;
    run_command(Command::new("tar").arg("-xzf").arg(folder.join(format!("{name}.tar.gz"))).arg("-C").arg(&unpacked))?;
    let program = unpacked.join(name).join(PROGRAM);
    let headers = read_output(Command::new("readelf").args(["--program-headers", "--wide"]).arg(&program))?;
    ensure!(headers.contains("LOAD"), "{} is no program", program.display());
    if headers.contains("INTERP") {
        bail!("{} is not linked statically", program.display());
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_checks_and_those_that_ended_early_are_failures() {
        let summary = read_checks("sid", "ok      one\nNOT OK  two\n        ok why\nEND\n");
        assert_eq!((summary.passed, summary.failures), (1, vec!["packages in sid: two".to_owned()]));
        assert_eq!(read_checks("sid", "ok      one\n").failed, 1);
        assert_eq!(read_checks("sid", "ok      one\nEND\n").failed, 0);
    }
}
