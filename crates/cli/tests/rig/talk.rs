//! Scenarios: which threads wake each other, as the kernel counts it, as perf's ring has it, and as an ordinary user sees it.

use corewise_rig::RigGuest;
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::found::{as_user, entries, json, same, text};
use crate::placement::HAS_TWO;
use crate::{ONCE, Scenario, ScenarioOutcome, WITH_NODES};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "wakes_are_counted_in_the_kernel", each_change: WITH_NODES, applies: HAS_TWO, run: counted },
    Scenario { name: "wakes_are_seen_without_the_kernels_types", each_change: ONCE, applies: HAS_TWO, run: untyped },
    Scenario { name: "a_user_gets_a_guess_or_the_reason_of_none", each_change: ONCE, applies: HAS_TWO, run: guessed },
];

const WATCH: &str = "corewise talk --json -- actor act talk";
/// The kernel's description of its types, which the counting program needs.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

fn counted(guest: &mut RigGuest) -> ScenarioOutcome {
    let observed = watch(guest, WATCH)?;
    same("the source", observed["source"].as_str(), Some("bpf"))?;
    partners_are_right(&observed)
}

/// Something else lies over the file: then perf reports each wake.
fn untyped(guest: &mut RigGuest) -> ScenarioOutcome {
    text(guest, &format!("mount --bind /dev/null {TYPES}"))?;
    let observed = watch(guest, WATCH);
    text(guest, &format!("umount {TYPES}"))?;
    let observed = observed?;
    same("the source", observed["source"].as_str(), Some("perf-ring"))?;
    same("whether a gap says why", entries(&observed["gaps"]).next().is_some(), true)?;
    partners_are_right(&observed)
}

fn guessed(guest: &mut RigGuest) -> ScenarioOutcome {
    let outcome = guest.run(&as_user(WATCH))?;
    if outcome.code == 0 {
        let document: Value = serde_json::from_str(&outcome.stdout_text())?;
        same("the source", document["observed"]["source"].as_str(), Some("own-switches"))?;
    } else {
        same("the status", outcome.code, 3)?;
        same("whether it says how", outcome.stderr.contains("run as root"), true)?;
    }
    Ok(Completion::Completed)
}

fn watch(guest: &mut RigGuest, command: &str) -> Result<Value, Failed> {
    Ok(json(guest, command)?["observed"].take())
}

/// Almost all wakes among the four threads are between partners.
fn partners_are_right(observed: &Value) -> ScenarioOutcome {
    let names: Vec<&str> = entries(&observed["vertices"]).filter_map(|vertex| vertex["name"].as_str()).collect();
    let end = |edge: &Value, side: &str| {
        edge[side].as_u64().and_then(|place| names.get(place as usize)?.split_once('-')).unwrap_or_default()
    };
    let (mut all, mut right) = (0.0, 0.0);
    for edge in entries(&observed["edges"]) {
        let (waker, wakee) = (end(edge, "waker"), end(edge, "wakee"));
        let wakes = edge["wakes"].as_f64().unwrap_or(0.0);
        let is_between = |name: &str| ["ask", "reply"].contains(&name);
        if is_between(waker.0) && is_between(wakee.0) {
            all += wakes;
            right += if waker.1 == wakee.1 { wakes } else { 0.0 };
        }
    }
    // Some messages are found before anyone waits for them.
    same(
        &format!("whether {right} of {all} are right, and there are enough"),
        right >= 0.99 * all && all > 1000.0,
        true,
    )?;
    Ok(Completion::Completed)
}
