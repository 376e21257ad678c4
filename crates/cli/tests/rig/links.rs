//! Scenarios: a map of links visits the cpus it may use, knows on which node memory lies, and goes on when a cpu goes away; what it
//! finds under emulation is not looked at. Threads that spin get no turns there with fewer cpus below than above, so they sleep.

use corewise_rig::RigGuest;
use corewise_rig::cpus::{self, CpuNumbers};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::changes::switch;
use crate::expressions::reachable;
use crate::found::{entries, json, list_of, same};
use crate::placement::HAS_TWO;
use crate::survey::{EVENT, TRACE, in_time};
use crate::{ONCE, Scenario, ScenarioOutcome, WHERE_LIMITED};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "a_map_visits_the_allowed_cpus", each_change: WHERE_LIMITED, applies: HAS_TWO, run: allowed },
    Scenario {
        name: "a_cpu_that_goes_away_in_a_map_is_told",
        each_change: ONCE,
        applies: |machine| HAS_TWO(machine) && machine.isolated.is_empty(),
        run: goes_away,
    },
];

fn allowed(guest: &mut RigGuest) -> ScenarioOutcome {
    let document = json(guest, &in_time("corewise links --kind wakeup --json --no-store --seed 7 --budget", 10))?;
    let map = &document["observed"];
    same("whether it is marked", &map["machine"]["system"]["emulated"], &true.into())?;
    same(
        "its cpus",
        list_of(&map["cpus"]),
        cpus::format_list(&cpus::parse(&guest.machine().expected_machine().allowed)),
    )?;
    let links = &map["series"][0]["links"];
    let told = entries(&links["pairs"]).count() + entries(&links["gaps"]).count();
    same(&format!("whether pairs were visited, or told why not, in {links}"), told > 0, true)?;
    Ok(Completion::Completed)
}

/// The last cpu is switched off while the map is held at its first pairs; the map ends, and tells which pairs it gave up.
fn goes_away(guest: &mut RigGuest) -> ScenarioOutcome {
    let gone = reachable(guest.machine()).last().copied().unwrap_or_default();
    for kinds in ["wakeup", "wakeup,channel"] {
        let document = map_without(guest, gone, kinds)?;
        if is_told(&document, gone) {
            return Ok(Completion::Completed);
        }
    }
    Err("each map was over before it could miss a cpu".into())
}

fn map_without(guest: &mut RigGuest, gone: u32, kinds: &str) -> Result<Value, Failed> {
    let last = CpuNumbers::from([gone]);
    // Each visit has threads that are named after their cpus. Whether the shell is fast enough to stop it at once does not matter much: each
    // cpu is visited with each other one.
    let begin = format!(
        "echo >{TRACE}; echo 1 >{EVENT}/enable
        corewise links --json --no-store --budget 600s --seed 7 --kind {kinds} >/tmp/map 2>/tmp/told & map=$!
        until grep -q 'newcomm=link ' {TRACE} || grep -q 'State:.Z' /proc/$map/status; do :; done
        kill -STOP $map; echo $map >/run/map; echo 0 >{EVENT}/enable"
    );
    guest.run(&begin)?;
    switch(guest, &last, false)?;
    guest.run("kill -CONT $(cat /run/map)")?;
    guest.wait_for("the map to end", "[ ! -e /proc/$(cat /run/map) ]")?;
    switch(guest, &last, true)?;
    json(guest, "cat /tmp/map; cat /tmp/told >&2; rm /tmp/map /tmp/told")
}

fn is_told(document: &Value, gone: u32) -> bool {
    let ends = [format!(" {gone}"), format!(" {gone} ")];
    let is_about = |gap: &Value| {
        let what = gap["what"].as_str().unwrap_or_default();
        what.ends_with(&ends[0]) || what.contains(&ends[1])
    };
    entries(&document["observed"]["series"]).any(|series| entries(&series["links"]["gaps"]).any(is_about))
}
