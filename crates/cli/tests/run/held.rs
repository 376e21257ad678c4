//! Threads that are placed as they appear, and threads that choose for themselves.

use std::process::Command;

use corewise_sys::affinity;
use libtest_mimic::{Completion, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("threads_are_placed_by_their_names", roles),
        trial("threads_take_turns_on_the_cpus_of_the_placement", turns),
        trial("who_goes_outside_is_brought_back", wander),
        trial("inside_the_boundary_a_program_may_choose", narrow),
        trial("after_ten_corrections_a_program_is_left_alone", stubborn),
        trial("children_of_who_became_corewise_are_not_the_commands", foreign),
        trial("without_enforcement_it_is_told_at_the_end", told_at_the_end),
        trial("a_child_that_other_tools_pin_is_brought_back", pinned_by_others),
    ]
}

/// Skips a test where there are not two cpus.
macro_rules! two_cpus_or_skip {
    () => {
        match two_cpus() {
            Ok(cpus) => cpus,
            Err(skipped) => return Ok(skipped),
        }
    };
}

fn roles() -> RunTestResult {
    let (first, second) = two_cpus_or_skip!();
    let (on, roles) = (list([first, second]), format!("io=^io-:{first},work=^work:{second}"));
    let actor = actor();
    let said = said(&mut run(&with_actor(&["--on", &on, "--roles", &roles], &actor, "roles")))?;
    same(said, format!("io {first}\nwork {second}\nmain {on}\n"), "roles").map(|()| Completion::Completed)
}

fn turns() -> RunTestResult {
    let (first, second) = two_cpus_or_skip!();
    let actor = actor();
    let (on, part) = (format!("{second},{first}"), part("turns", (second, first)));
    let said = said(&mut run(&with_actor(&["--on", &on, "--one-per-thread"], &actor, &part)))?;
    same(said, format!("main {second}\n1 {first}\n2 {second}\n3 {first}\n"), "turns")?;
    // As `try` and `place` have it: a number would be taken for the command.
    let refused = done(&mut run(&["--on", &on, "--threads", "4", "true"]));
    same(refused.status.code(), Some(2), &text(&refused.stderr))?;
    Ok(Completion::Completed)
}

fn wander() -> RunTestResult {
    let (first, second) = two_cpus_or_skip!();
    let (on, actor) = (second.to_string(), actor());
    for how in ["boundary", "exact"] {
        let output =
            done(&mut run(&with_actor(&["--on", &on, "--enforce", how], &actor, &part("wander", (first, second)))));
        same(text(&output.stdout), format!("main {second}\n"), how)?;
        let told = text(&output.stderr);
        let words = format!("its main thread, changed its cpus to {}; reset to {second}\n", list([first, second]));
        same((told.ends_with(&words), told.lines().count()), (true, 1), &told)?;
        same(told.starts_with("corewise: run-"), true, &format!("the command is named: {told}"))?;
    }
    Ok(Completion::Completed)
}

fn narrow() -> RunTestResult {
    let (first, second) = two_cpus_or_skip!();
    let (on, actor) = (list([first, second]), actor());
    let mut running = RunningCommand::start(&mut run(&with_actor(
        &["--on", &on, "--enforce", "boundary"],
        &actor,
        &part("narrow", (first, second)),
    )));
    // Once it is told, it was looked at and judged.
    let told = running.error_line();
    same(told.ends_with(&format!("changed its cpus to {second}; not reset")), true, &told)?;
    running.end_input();
    same(running.line(), format!("main {second}"), "its choice stands")?;
    same(running.status().success(), true, "the command").map(|()| Completion::Completed)
}

/// A script that has a child and then becomes corewise: the child keeps its cpus, and what it starts does.
fn foreign() -> RunTestResult {
    let (first, second) = two_cpus_or_skip!();
    let actor = actor();
    let script = format!(
        "sh -c 'sleep 60 & echo $!; wait' & exec {} run --on {second} --enforce exact -- {actor} act wander={first},{second}",
        env!("CARGO_BIN_EXE_corewise")
    );
    let mut running = RunningCommand::start(Command::new("sh").args(["-c", &script]));
    let sleeper: u32 = running.line().parse()?;
    // The actor has gone outside and was brought back: all threads were looked at.
    let main = running.line();
    let mask = affinity::affinity_of(sleeper);
    let ended = running.status();
    signal(sleeper, "KILL");
    same((main, ended.success()), (format!("main {second}"), true), "the command")?;
    same(mask?.to_string(), list([first, second]), "the child of the script").map(|()| Completion::Completed)
}

fn stubborn() -> RunTestResult {
    let (first, second) = two_cpus_or_skip!();
    let (on, actor) = (list([first, second]), actor());
    let mut running = RunningCommand::start(&mut run(&with_actor(
        &["--on", &on, "--enforce", "exact"],
        &actor,
        &part("stubborn", (first, second)),
    )));
    let put_back = running.error_line();
    same(put_back.ends_with(&format!("changed its cpus to {first}; reset to {on}")), true, &put_back)?;
    let gave_up = running.error_line();
    let words = format!("was reset 10 times and changed its cpus again; it now keeps {first}");
    same(gave_up.ends_with(&words), true, &gave_up)?;
    running.end_input();
    same([running.line(), running.line()], ["corrections 10".to_owned(), format!("main {first}")], "the actor")?;
    same(running.status().success(), true, "the command")?;
    same(running.error_line(), String::new(), "told once").map(|()| Completion::Completed)
}

fn told_at_the_end() -> RunTestResult {
    let (first, second) = two_cpus_or_skip!();
    let (on, actor) = (list([first, second]), actor());
    let mut running =
        RunningCommand::start(&mut run(&with_actor(&["--on", &on, "-v"], &actor, &part("narrow", (first, second)))));
    same(running.error_line(), format!("corewise: on {on} = cpus {on}"), "what is in force")?;
    // Longer than it takes to look again; where it were too short, the test would say so by failing.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    running.end_input();
    same(running.line(), format!("main {second}"), "nobody interferes")?;
    let told = running.error_line();
    same(told.ends_with(&format!("changed its cpus to {second}; not reset")), true, &told)?;
    let sum = running.error_line();
    same(sum.ends_with("changed their own cpus: 1"), true, &sum).map(|()| Completion::Completed)
}

fn pinned_by_others() -> RunTestResult {
    if !is_installed("taskset") {
        return Ok(Completion::ignored_with("taskset is not installed"));
    }
    let (first, second) = two_cpus_or_skip!();
    // A shell inside of a shell is moved by a third program; it waits until it is back.
    let shell = format!(
        "sh -c 'taskset -pc {first} $$ >/dev/null; n=0; \
         while taskset -pc $$ | grep -q \": {first}$\" && [ $n -lt 3000 ]; do n=$((n+1)); done; taskset -pc $$'; true"
    );
    let said = said(&mut run(&["--on", &second.to_string(), "--enforce", "boundary", "sh", "-c", &shell]))?;
    same(said.trim().ends_with(&format!("list: {second}")), true, &said).map(|()| Completion::Completed)
}
