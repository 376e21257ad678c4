//! Scenarios: `corewise try` finds the placement on which a program says that it is better, also while cpus go away. What decides is
//! a number that the program writes: an emulator's time means nothing.

use corewise_rig::RigGuest;
use corewise_rig::cpus::{self, CpuNumbers};
use libtest_mimic::Completion;
use serde_json::Value;

use crate::changes::switch;
use crate::expressions::reachable;
use crate::found::{entries, json, same};
use crate::placement::HAS_TWO;
use crate::{ONCE, Scenario, ScenarioOutcome};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "the_better_placement_is_found", each_change: ONCE, applies: HAS_TWO, run: found },
    Scenario {
        name: "a_placement_whose_cpu_goes_away_is_out",
        each_change: ONCE,
        applies: |machine| HAS_TWO(machine) && machine.isolated.is_empty(),
        run: goes_away,
    },
    Scenario {
        name: "a_server_and_its_load_stand_in_two_packages",
        each_change: ONCE,
        applies: |machine| machine.packages == 2 && machine.isolated.is_empty(),
        run: parts,
    },
];

/// `corewise try` on the first cpu and on all others, with a script.
fn trying(first: u32, others: &str, script: &str) -> String {
    format!(
        "COREWISE_REST=0s corewise try --no-store --no-confirm --seed 7 --json --metric 'score=score ([0-9.]+)' --higher --on {first} \
         --on {others} -- sh -c '{script}'; [ $? -le 1 ]"
    )
}

/// The least cpu, and a list of the others.
fn split(guest: &RigGuest) -> (u32, String) {
    let mut all = reachable(guest.machine());
    let first = all.pop_first().unwrap_or_default();
    (first, cpus::format_list(&all))
}

fn found(guest: &mut RigGuest) -> ScenarioOutcome {
    let (first, others) = split(guest);
    let script = format!(
        "if grep -q \"^Cpus_allowed_list:.{others}\\$\" /proc/self/status; then echo score 20.14; else echo score 10.07; fi"
    );
    let document = json(guest, &trying(first, &others, &script))?;
    let arm = document["conclusions"]["standing"]["verdict"]["arm"].as_u64().unwrap_or_default() as usize;
    same("the verdict", &document["conclusions"]["standing"]["verdict"]["kind"], &"wins".into())?;
    same("the winner", &document["observed"]["experiment"]["arms"][arm]["name"], &others.as_str().into())?;
    for trial in entries(&document["observed"]["trials"]) {
        let (arm, used) = (&trial["arm"], used(trial));
        let cpus = &document["observed"]["experiment"]["arms"][arm.as_u64().unwrap_or_default() as usize]["cpus"];
        let allowed = cpus.as_str().map_or_else(|| reachable(guest.machine()), cpus::parse);
        same(&format!("arm {arm} was on {used:?}, may use {cpus}"), used.is_subset(&allowed), true)?;
    }
    Ok(Completion::Completed)
}

/// The server writes down what it has when it begins: its cpus, and whether its memory is bound. The load says 2 where both have what they should.
fn parts(guest: &mut RigGuest) -> ScenarioOutcome {
    let machine = json(guest, "corewise topology --json")?;
    let packages: Vec<CpuNumbers> = entries(&machine["machine"]["packages"])
        .map(|package| cpus::parse(package["cpus"].as_str().unwrap_or_default()))
        .collect();
    let [first, second] = &packages[..] else {
        return Ok(Completion::ignored_with("packages that cannot be told apart"));
    };
    let server = "grep Cpus_allowed_list: /proc/$$/status | cut -f2 >/tmp/its; grep -c bind:0 /proc/$$/numa_maps >/tmp/bound; exec sleep 9999";
    let load = format!(
        "if [ $(cat /tmp/its) = {} ] && [ $(cat /tmp/bound) -gt 0 ] && grep -q \"^Cpus_allowed_list:.{}\\$\" /proc/self/status; \
         then echo score 20.14; else echo score 10.07; fi",
        cpus::format_list(first),
        cpus::format_list(second)
    );
    let tried = format!(
        "COREWISE_REST=0s corewise try --no-store --no-confirm --seed 7 --json --metric 'score=score ([0-9.]+)' --higher \
         --start server='{server}' --on 'server=package:0@bind:0, load=package:1' -- sh -c '{load}'; [ $? -le 1 ]"
    );
    let document = json(guest, &tried);
    guest.run("rm -f /tmp/its /tmp/bound")?;
    let document = document?;
    same("the verdict", &document["conclusions"]["standing"]["verdict"]["kind"], &"wins".into())?;
    for trial in entries(&document["observed"]["trials"]) {
        let expected = if trial["arm"] == 1 { 20.14 } else { 10.07 };
        same(&format!("{trial}"), trial["outcome"]["value"].as_f64(), Some(expected))?;
    }
    Ok(Completion::Completed)
}

fn used(trial: &Value) -> CpuNumbers {
    trial["observed"]["used"].as_str().map(cpus::parse).unwrap_or_default()
}

/// The command itself switches the cpu off, as soon as it runs there the second time.
fn goes_away(guest: &mut RigGuest) -> ScenarioOutcome {
    let mut all = reachable(guest.machine());
    let last = all.pop_last().unwrap_or_default();
    let script = format!(
        "if grep -q \"^Cpus_allowed_list:.{last}\\$\" /proc/self/status; then echo run >>/tmp/runs; \
         if test $(wc -l </tmp/runs) -gt 1; then echo 0 >/sys/devices/system/cpu/cpu{last}/online; fi; fi; \
         echo score 10.0${{#COREWISE_PADDING}}"
    );
    let tried = json(guest, &trying(last, &cpus::format_list(&all), &script));
    switch(guest, &[last].into(), true)?;
    guest.run("rm -f /tmp/runs")?;
    let document = tried?;
    let arms: Vec<&Value> = entries(&document["observed"]["experiment"]["arms"]).collect();
    let arm = arms.iter().position(|arm| arm["name"] == last.to_string().as_str()).unwrap_or_default();
    same(
        &format!("the verdict of {last}"),
        &document["conclusions"]["standing"]["arms"][arm]["verdict"],
        &"failed".into(),
    )?;
    same(
        "the experiment's",
        &document["conclusions"]["standing"]["verdict"]["kind"],
        &"no-material-difference".into(),
    )?;
    let failed = entries(&document["observed"]["trials"]).find_map(|trial| trial["outcome"]["failed"]["why"].as_str());
    same(&format!("why: {failed:?}"), failed.is_some_and(|why| why.starts_with("cannot be started: ")), true)?;
    Ok(Completion::Completed)
}
