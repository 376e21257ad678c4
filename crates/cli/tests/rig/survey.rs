//! Scenarios: a survey visits the cpus it may use, and nothing else, also while cpus go away; whatever it finds under emulation
//! is not looked at.

use corewise_rig::RigGuest;
use corewise_rig::cpus::{self, CpuNumbers};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::changes::switch;
use crate::expressions::reachable;
use crate::found::{as_user, entries, json, list_of, machine, same, same_machine, text};
use crate::placement::HAS_TWO;
use crate::{EVERYWHERE, ONCE, Scenario, ScenarioOutcome, WHERE_LIMITED};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a_survey_visits_the_allowed_cpus",
        each_change: WHERE_LIMITED,
        applies: EVERYWHERE,
        run: allowed,
    },
    Scenario { name: "a_user_may_survey", each_change: ONCE, applies: EVERYWHERE, run: user },
    Scenario {
        name: "a_cpu_that_goes_away_in_a_survey_is_told",
        each_change: ONCE,
        applies: |machine| HAS_TWO(machine) && machine.isolated.is_empty(),
        run: goes_away,
    },
];

fn allowed(guest: &mut RigGuest) -> ScenarioOutcome {
    let survey = in_time("corewise survey --json --no-store --seed 7 --budget", seconds(guest));
    let document = json(guest, &survey)?;
    check(&document, guest)?;
    Ok(Completion::Completed)
}

/// Enough for some rounds over all cpus.
fn seconds(guest: &RigGuest) -> u32 {
    2 + cpus::parse(&guest.machine().expected_machine().allowed).len() as u32 / 8
}

/// A command that ends in its time; on a host so busy that it measures nothing in so many seconds, with more of them. What is said of the
/// last time counts.
pub fn in_time(command: &str, seconds: u32) -> String {
    let more = [4 * seconds, 16 * seconds];
    format!("{command} {seconds}s 2>/dev/null || {command} {}s 2>/dev/null || {command} {}s", more[0], more[1])
}

/// A user's survey goes to the user's own history, where it stays marked as emulated.
fn user(guest: &mut RigGuest) -> ScenarioOutcome {
    let found = machine(guest, "")?;
    let survey = in_time("corewise survey --seed 7 --budget", seconds(guest));
    text(guest, &as_user(&format!("({survey}) >/tmp/screen 2>/tmp/told || cat /tmp/told")))?;
    let screen = text(guest, "cat /tmp/screen; rm /tmp/screen /tmp/told")?;
    same(&format!("what is said first in\n{screen}"), screen.starts_with("EMULATED: "), true)?;
    let listed = json(guest, &as_user("corewise history --json"))?;
    let of_root = json(guest, "corewise history --json")?;
    let shown = json(guest, &as_user("corewise history show 1 --json"))?;
    text(guest, "rm -r /home/user/.local")?;
    same(&format!("how many are in {listed}"), entries(&listed["artifacts"]).count(), 1)?;
    same(&format!("how many are in {of_root}"), entries(&of_root["artifacts"]).count(), 0)?;
    same_machine(&shown["observed"]["machine"], &found)?;
    check(&shown, guest)?;
    Ok(Completion::Completed)
}

/// Every cpu that was visited may be used; those that may be used were visited once the survey counts a whole round.
fn check(document: &Value, guest: &RigGuest) -> Result<(), Failed> {
    let survey = &document["observed"];
    same("whether it is marked", &survey["machine"]["system"]["emulated"], &true.into())?;
    let allowed = cpus::parse(&guest.machine().expected_machine().allowed);
    let has_rounds = |cpu: &&Value| entries(&cpu["rounds"]).next().is_some();
    let visited: CpuNumbers = entries(&survey["cpus"]).filter(has_rounds).filter_map(number).collect();
    same("visited cpus that are not allowed", cpus::format_list(&(&visited - &allowed)), String::new())?;
    same("whether a cpu was visited", visited.is_empty(), false)?;
    if survey["provenance"]["rounds"].as_u64() >= Some(1) {
        same("visited cpus", cpus::format_list(&visited), cpus::format_list(&allowed))?;
    }
    same("allowed cpus", list_of(&survey["machine"]["allowed"]), cpus::format_list(&allowed))
}

fn number(cpu: &Value) -> Option<u32> {
    cpu["cpu"].as_u64().map(|cpu| cpu as u32)
}

/// The kernel's events that were recorded.
pub const TRACE: &str = "/sys/kernel/tracing/trace";
/// The kernel's event for a thread that gets a name; each visit to a cpu is a thread that is named after it.
pub const EVENT: &str = "/sys/kernel/tracing/events/task/task_rename";

fn goes_away(guest: &mut RigGuest) -> ScenarioOutcome {
    goes_away_during(guest, |seconds| format!("corewise survey --json --no-store --budget {seconds}s --seed 7"))
}

/// The last cpu that a user may use.
pub fn reachable_last(guest: &RigGuest) -> u32 {
    reachable(guest.machine()).last().copied().unwrap_or_default()
}

/// Longest durations of a survey that is ended as soon as it has missed a cpu. A longer one follows only if the host was so busy that it was
/// over before: a short one has short rounds.
const BUDGETS_S: [u32; 4] = [24, 96, 384, 1_536];

/// Switches the last cpu off once it was visited, and ends the survey once it has missed the cpu for a whole round. `survey` is the command
/// for a number of seconds.
pub fn goes_away_during(guest: &mut RigGuest, survey: impl Fn(u32) -> String) -> ScenarioOutcome {
    let all = reachable(guest.machine());
    let gone = all.last().copied().unwrap_or_default();
    let mut said = String::new();
    for seconds in BUDGETS_S {
        let has_missed = survey_without(guest, &CpuNumbers::from([gone]), &survey(seconds))?;
        let outcome = guest.run("cat /tmp/survey; cat /tmp/told >&2; rm /tmp/survey /tmp/told")?;
        if has_missed {
            told(&serde_json::from_slice(&outcome.stdout)?, &all, gone)?;
            return Ok(Completion::Completed);
        }
        said = outcome.stderr;
    }
    Err(format!("each survey was over before it could miss a cpu: {said}").into())
}

/// Whether the survey tried to visit the cpus while they were off: twice, so that there was a whole round in between. It
/// has ended when this returns, and the cpus are on again.
fn survey_without(guest: &mut RigGuest, off: &CpuNumbers, survey: &str) -> Result<bool, Failed> {
    let clear = format!("echo >{TRACE}");
    text(guest, &format!("{clear}\necho 1 >{EVENT}/enable"))?;
    text(guest, &format!("{survey} >/tmp/survey 2>/tmp/told & echo $! >/run/survey"))?;
    // By its number: for a moment it has the shell's name.
    let has_ended = "[ ! -e /proc/$(cat /run/survey) ]";
    let visits = |count: u32| {
        let visit = format!("newcomm=tail {} ", cpus::format_list(off));
        format!("[ $(grep -c '{visit}' {TRACE}) -ge {count} ]")
    };
    guest.wait_for("a visit to the cpu", &format!("{} || {has_ended}", visits(1)))?;
    switch(guest, off, false)?;
    text(guest, &clear)?;
    // A round may try a cpu twice, and the round that is cut off counts for nothing.
    guest.wait_for("visits in two rounds without the cpu", &format!("{} || {has_ended}", visits(4)))?;
    let has_missed = guest.run(&visits(2))?.code == 0;
    guest.run("kill -TERM $(cat /run/survey)")?;
    guest.wait_for("the survey to end", has_ended)?;
    switch(guest, off, true)?;
    text(guest, &format!("echo 0 >{EVENT}/enable"))?;
    Ok(has_missed)
}

/// The survey says which cpu is missing, has whole rounds of all others, and fewer of that one. Where a cpuset loses a cpu and gets
/// it back, some kernels undo the affinity of every thread in it: a visit under way is lost then, to whichever cpu.
fn told(document: &Value, all: &CpuNumbers, gone: u32) -> Result<(), Failed> {
    let survey = &document["observed"];
    let is_about = |gap: &&Value| gap["what"].as_str() == Some(&format!("tail of cpu {gone}"));
    let gaps = entries(&survey["gaps"]).filter(is_about).count();
    same(&format!("how often it is told in {}", survey["gaps"]), gaps > 0, true)?;
    let whole = survey["provenance"]["rounds"].as_u64().unwrap_or_default();
    for cpu in entries(&survey["cpus"]) {
        let rounds = entries(&cpu["rounds"]).count() as u64;
        let is_gone = number(cpu) == Some(gone);
        let is_as_expected = if is_gone { rounds < whole } else { rounds + 2 >= whole };
        same(&format!("{rounds} of {whole} rounds of cpu {}", cpu["cpu"]), is_as_expected, true)?;
    }
    let surveyed = entries(&survey["cpus"]).filter_map(number).filter(|cpu| *cpu != gone);
    same("how many others were surveyed", surveyed.count(), all.len() - 1)
}
