//! `--cgroup`: a control group holds the command and is gone afterwards, or is refused before anything starts.
//!
//! Where the controller cpuset is not delegated, only the refusal can be seen; machines of the test rig show the rest.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use tempfile::TempDir;

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_group_that_cannot_be_had_is_refused_with_a_cure", refused),
        trial("a_group_holds_the_command_and_is_gone_afterwards", held),
        trial("a_group_that_a_killed_corewise_left_is_undone", killed),
        trial("a_command_that_cannot_be_run_leaves_no_group", not_run),
        trial("without_a_journal_no_group_is_made", no_journal),
    ]
}

/// `corewise run --cgroup` with a journal of its own.
fn grouped(journals: &Path, words: &[&str]) -> Command {
    let mut command = run(&["--cgroup", "--on", one_cpu(), "--journal"]);
    command.arg(journals).args(words);
    command
}

/// A folder for journals; why there is no group, where there can be none here.
fn journals() -> std::result::Result<TempDir, Completion> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = done(&mut grouped(folder.path(), &["true"]));
    match output.status.success() {
        true => Ok(folder),
        false => {
            let told = text(&output.stderr);
            let why = told.lines().next().unwrap_or_default().trim_start_matches("error: --cgroup: ");
            Err(Completion::ignored_with(why.to_owned()))
        }
    }
}

/// What lies in a folder of journals.
fn left_in(journals: &Path) -> std::result::Result<usize, Failed> {
    Ok(fs::read_dir(journals)?.count())
}

fn refused() -> RunTestResult {
    let Err(_) = journals() else { return Ok(Completion::ignored_with("there are groups to be had here")) };
    let folder = tempfile::tempdir()?;
    for options in [&[][..], &["-v"]] {
        let output = done(&mut grouped(folder.path(), &[options, &["echo", "started"]].concat()));
        let told = text(&output.stderr);
        same((output.status.code(), text(&output.stdout)), (Some(3), String::new()), &told)?;
        same(told.starts_with("error: --cgroup: ") && told.lines().count() == 2, true, &told)?;
    }
    same(left_in(folder.path())?, 0, "journals").map(|()| Completion::Completed)
}

/// The group of a process, by the folder below which all groups are mounted.
fn group_of(process: u32) -> std::result::Result<std::path::PathBuf, Failed> {
    let home = Command::new("findmnt").args(["-n", "-o", "TARGET", "-t", "cgroup2"]).output()?;
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup"))?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/")).ok_or("no group of version 2")?;
    Ok(Path::new(text(&home.stdout).lines().next().unwrap_or("/sys/fs/cgroup")).join(group))
}

fn held() -> RunTestResult {
    let folder = match journals() {
        Ok(folder) => folder,
        Err(why) => return Ok(why),
    };
    let shell = "echo $$; read go; exit 7";
    let mut running = RunningCommand::start(&mut grouped(folder.path(), &["--", "sh", "-c", shell]));
    let command: u32 = running.line().parse()?;
    let group = group_of(command)?;
    let effective = fs::read_to_string(group.join("cpuset.cpus.effective"))?;
    same(effective.trim(), one_cpu(), "cpuset.cpus.effective")?;
    // Whoever widens its mask is cut to the group: sched_setaffinity(2).
    let all = corewise_sys::affinity::current_affinity()?;
    let _ = corewise_sys::process::ProcessIdentity::find_task(command).and_then(|task| task.restrict_thread(&all));
    same(corewise_sys::affinity::affinity_of(command)?.to_string().as_str(), one_cpu(), "a widened mask")?;
    running.end_input();
    same(running.status().code(), Some(7), "exit status")?;
    same((group.exists(), left_in(folder.path())?), (false, 0), "group and journals").map(|()| Completion::Completed)
}

fn killed() -> RunTestResult {
    let folder = match journals() {
        Ok(folder) => folder,
        Err(why) => return Ok(why),
    };
    let mut running = RunningCommand::start(&mut grouped(folder.path(), &["--", "sh", "-c", "echo $$; exec sleep 60"]));
    let command: u32 = running.line().parse()?;
    let group = group_of(command)?;
    running.signal("KILL");
    running.status();
    let was_there = group.exists();
    let undo = [&["undo", "--journal"][..], &[folder.path().to_str().ok_or("a path in UTF-8")?]].concat();
    let undone = done(Command::new(env!("CARGO_BIN_EXE_corewise")).args(undo));
    let home = group_of(command);
    signal(command, "KILL");
    same((was_there, undone.status.code(), group.exists()), (true, Some(0), false), &text(&undone.stdout))?;
    same(Some(home?.as_path()), group.parent(), "where the command is now")?;
    same(left_in(folder.path())?, 0, "journals").map(|()| Completion::Completed)
}

fn not_run() -> RunTestResult {
    let folder = match journals() {
        Ok(folder) => folder,
        Err(why) => return Ok(why),
    };
    let output = done(grouped(folder.path(), &["corewise-no-such-command"]).env("PATH", "/usr/bin:/bin"));
    same(output.status.code(), Some(127), &text(&output.stderr))?;
    same(left_in(folder.path())?, 0, "journals").map(|()| Completion::Completed)
}

fn no_journal() -> RunTestResult {
    let mut command = run(&["--cgroup", "--on", one_cpu(), "--journal", "/proc/self/nowhere", "echo", "started"]);
    let output = done(&mut command);
    same((output.status.code(), text(&output.stdout)), (Some(3), String::new()), &text(&output.stderr))?;
    Ok(Completion::Completed)
}
