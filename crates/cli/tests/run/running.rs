//! Processes that run already: placed with all their threads, and given back.

use std::process::Command;

use corewise_machine::CpuSet;
use corewise_sys::process::ProcessIdentity;
use corewise_sys::{affinity, task};
use libtest_mimic::{Completion, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("all_threads_of_a_running_process_are_placed_and_given_back", placed),
        trial("a_second_placement_is_undone_to_what_was_before_the_first", placed_twice),
        trial("who_cannot_be_placed_is_left_as_it_was", refused),
    ]
}

/// A process with several threads, and a folder for journals.
struct RunningStage {
    actor: RunningCommand,
    journals: tempfile::TempDir,
}

impl RunningStage {
    fn new() -> std::result::Result<Self, libtest_mimic::Failed> {
        let mut actor = RunningCommand::start(Command::new(actor()).args(["act", "starts"]));
        same(actor.line(), "ready".to_owned(), "the actor")?;
        Ok(Self { actor, journals: tempfile::tempdir().expect("a folder can be made") })
    }

    fn corewise(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corewise"));
        command.args(words).arg("--journal").arg(self.journals.path().join("journals")).env("NO_COLOR", "1");
        // Where a line is broken depends on how many digits the number of a process has.
        command.env("COLUMNS", "999");
        command
    }

    fn place(&self, on: &str) -> Command {
        self.corewise(&["run", "--on", on, "--pid", &self.actor.id().to_string()])
    }

    /// Another thread of the actor's main thread, and its number.
    fn another_thread(&mut self) -> u32 {
        self.actor.tell("start");
        self.actor.line().parse().expect("the number of a thread")
    }

    /// What the threads may use, each once.
    fn masks(&self) -> Vec<CpuSet> {
        let masks = task::thread_numbers(self.actor.id())
            .into_iter()
            .map(|thread| affinity::affinity_of(thread).expect("it lives"));
        let mut masks: Vec<CpuSet> = masks.collect();
        masks.dedup();
        masks
    }
}

fn placed() -> RunTestResult {
    let (first, second) = match two_cpus() {
        Ok(cpus) => cpus,
        Err(skipped) => return Ok(skipped),
    };
    let mut stage = RunningStage::new()?;
    let (all, id) = (affinity::current_affinity()?, stage.actor.id());
    let narrow = stage.another_thread();
    ProcessIdentity::find_task(narrow).and_then(|task| task.restrict_thread(&CpuSet::from_cpu(first)))?;
    let said = said(&mut stage.place(&second.to_string()))?;
    let threads = task::thread_numbers(id).len();
    let expected = format!(": {threads} threads on cpus {second}\nThe same by hand:  taskset -apc {second} {id}\n");
    same(said.contains(&expected), true, &said)?;
    same(stage.masks(), vec![CpuSet::from_cpu(second)], "placed")?;
    let since = stage.another_thread();
    same(affinity::affinity_of(since)?, CpuSet::from_cpu(second), "threads inherit")?;
    let dry = self::said(&mut stage.corewise(&["undo", "--dry-run"]))?;
    same(dry.contains(&format!(" --pid {id}")), true, &dry)?;
    same(stage.masks(), vec![CpuSet::from_cpu(second)], "nothing is done")?;
    let undone = self::said(&mut stage.corewise(&["undo"]))?;
    same(affinity::affinity_of(narrow)?, CpuSet::from_cpu(first), &undone)?;
    ProcessIdentity::find_task(narrow).and_then(|task| task.restrict_thread(&all))?;
    same(stage.masks(), vec![all], &undone)?;
    same(undone.contains("started since: 1"), true, &undone)?;
    Ok(Completion::Completed)
}

fn placed_twice() -> RunTestResult {
    let (first, second) = match two_cpus() {
        Ok(cpus) => cpus,
        Err(skipped) => return Ok(skipped),
    };
    let stage = RunningStage::new()?;
    for on in [first, second] {
        said(&mut stage.place(&on.to_string()))?;
        same(stage.masks(), vec![CpuSet::from_cpu(on)], "placed")?;
    }
    let again = said(&mut stage.place(&second.to_string()))?;
    same(again.contains(" were there already\n"), true, &again)?;
    said(&mut stage.corewise(&["undo"]))?;
    same(stage.masks(), vec![affinity::current_affinity()?], "given back")?;
    Ok(Completion::Completed)
}

fn refused() -> RunTestResult {
    let mut stage = RunningStage::new()?;
    let fails = |command: &mut Command, status: i32, what: &str| {
        let output = done(command);
        let said = text(&output.stderr);
        same((output.status.code(), said.contains(what)), (Some(status), true), &said)
    };
    let thread = stage.another_thread().to_string();
    fails(&mut stage.corewise(&["run", "--on", "0", "--pid", &thread]), 2, "is a thread of process")?;
    fails(&mut stage.place("4000"), 3, "cpu 4000")?;
    fails(&mut stage.corewise(&["run", "--on", "0", "--pid", "4194304"]), 3, "there is no process 4194304")?;
    fails(&mut stage.corewise(&["run", "--on", "0", "--pid", "7", "true"]), 2, "cannot be used with")?;
    fails(&mut stage.corewise(&["run", "--on", "0", "--pid", "0"]), 2, "invalid value '0'")?;
    same(stage.masks(), vec![affinity::current_affinity()?], "as before")?;
    same(stage.journals.path().join("journals").exists(), false, "no journal was made")?;
    Ok(Completion::Completed)
}
