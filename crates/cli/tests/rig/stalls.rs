//! Scenarios: `corewise tail` names a task that is put on a cpu, tells a user what it may not see, goes on while a cpu goes away,
//! and what a killed one left is removed. How long anything takes is not looked at.

use corewise_rig::{RigGuest, RigMachine};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::found::{as_user, entries, json, list_of, same, text};
use crate::survey::{goes_away_during, in_time, reachable_last};
use crate::{ONCE, Scenario, ScenarioOutcome, WHERE_LIMITED};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_task_that_takes_the_cpu_is_named",
        each_change: WHERE_LIMITED,
        applies: IS_SMALL,
        run: planted,
    },
    Scenario { name: "a_user_is_told_why_causes_have_no_names", each_change: ONCE, applies: IS_SMALL, run: user },
    Scenario {
        name: "a_cpu_that_goes_away_while_stalls_are_named_is_told",
        each_change: ONCE,
        applies: CAN_LOSE_ONE,
        run: goes_away,
    },
    Scenario {
        name: "an_instance_of_ftrace_that_was_left_is_removed",
        each_change: ONCE,
        applies: IS_SMALL,
        run: instance,
    },
];

/// Machines of many cpus take long, and would show nothing else.
const IS_SMALL: fn(&RigMachine) -> bool = |machine| machine.cpu_places().len() <= 16;
const CAN_LOSE_ONE: fn(&RigMachine) -> bool =
    |machine| IS_SMALL(machine) && machine.cpu_places().len() > 1 && machine.isolated.is_empty();

const TAIL: &str = "corewise tail --explain --json --no-store --seed 7";

/// A task that does nothing but run, on the cpu that is looked at. In an emulator a visit is hardly longer than a turn of the scheduler's:
/// where it takes the cpu in none of them, a longer look is taken.
fn planted(guest: &mut RigGuest) -> ScenarioOutcome {
    let cpu = reachable_last(guest);
    let burner = "printf burner >/proc/$$/comm; while :; do :; done";
    text(guest, &format!("taskset -c {cpu} sh -c '{burner}' >/dev/null 2>&1 & echo $! >/run/burner"))?;
    let outcome = named_at_last(guest, cpu);
    text(guest, "kill $(cat /run/burner); rm /run/burner")?;
    same("the task that took most", outcome?.as_str(), "burner")?;
    Ok(Completion::Completed)
}

/// The name of the task that took most, by the first look that saw one; what each look saw instead, where none did.
fn named_at_last(guest: &mut RigGuest, cpu: u32) -> Result<String, Failed> {
    let mut seen = Vec::new();
    for seconds in [3, 16, 64, 160] {
        match longest_task(guest, cpu, seconds)? {
            Ok(name) => return Ok(name),
            Err(why) => seen.push(format!("in {seconds} s: {why}")),
        }
    }
    Err(seen.join("; ").into())
}

/// The task that took most of a cpu, of all that took some of it while it was looked at.
fn longest_task(guest: &mut RigGuest, cpu: u32, seconds: u32) -> Result<Result<String, String>, Failed> {
    let outcome = guest.run(&format!("{TAIL} --cpus {cpu} --budget {seconds}s"))?;
    // On a host so busy that there was no time for anything.
    if outcome.stderr.contains("nothing was measured") {
        return Ok(Err(outcome.stderr));
    }
    let document: Value = serde_json::from_str(&outcome.stdout_text())?;
    let survey = &document["observed"];
    same("how names are known", survey["watch"]["rung"].as_str(), Some("ftrace"))?;
    let visited: Vec<&Value> = entries(&survey["cpus"]).collect();
    same("visited cpus", visited.iter().map(|seen| list_of(&seen["cpu"])).collect::<Vec<_>>(), vec![cpu.to_string()])?;
    let time = |cause: &&Value| cause["time_s"].as_f64().unwrap_or(0.0);
    let causes = &visited[0]["stalls"]["causes"];
    let tasks = entries(causes).filter(|cause| cause["cause"] == "task");
    let longest = tasks.max_by(|a, b| time(a).total_cmp(&time(b))).and_then(|cause| cause["name"].as_str());
    Ok(longest.map(str::to_owned).ok_or_else(|| format!("causes {causes}, gaps {}", survey["gaps"])))
}

/// Without rights there are still stalls, divided by what the thread knows of itself.
fn user(guest: &mut RigGuest) -> ScenarioOutcome {
    let cpu = reachable_last(guest);
    let document = json(guest, &as_user(&in_time(&format!("{TAIL} --cpus {cpu} --budget"), 2)))?;
    let survey = &document["observed"];
    same("how causes are known", survey["watch"]["rung"].as_str(), Some("thread"))?;
    let is_about = |gap: &&Value| gap["what"] == "causes of stalls" && gap["cure"].as_str().is_some();
    same(&format!("{} tell it", survey["gaps"]), entries(&survey["gaps"]).filter(is_about).count(), 1)?;
    Ok(Completion::Completed)
}

fn goes_away(guest: &mut RigGuest) -> ScenarioOutcome {
    goes_away_during(guest, |seconds| format!("{TAIL} --budget {seconds}s"))
}

/// Its corewise cannot run any more: the first process began with the machine.
fn instance(guest: &mut RigGuest) -> ScenarioOutcome {
    const LEFT: &str = "corewise-4026531836-1-4194399-0";
    text(guest, &format!("mkdir /sys/kernel/tracing/instances/{LEFT}"))?;
    let document = json(guest, "corewise undo --json")?;
    let changes: Vec<String> = entries(&document["journals"])
        .flat_map(|journal| entries(&journal["changes"]))
        .map(|change| format!("{}: {}", change["fate"], change["what"]))
        .collect();
    same("what was undone", changes, vec![format!("\"reverted\": \"the ftrace instance {LEFT} was made\"")])?;
    same("what is left", text(guest, "ls /sys/kernel/tracing/instances")?, String::new())?;
    Ok(Completion::Completed)
}
