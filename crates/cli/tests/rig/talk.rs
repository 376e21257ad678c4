//! Scenarios: which threads wake each other, as the kernel counts it, as perf's ring has it, and as an ordinary user sees it.

use corewise_rig::{RigGuest, RigMachine, cpus};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::found::{as_expected, as_user, entries, json, machine, same, text};
use crate::placement::HAS_TWO;
use crate::{ONCE, Scenario, ScenarioOutcome, WITH_NODES};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "wakes_are_counted_in_the_kernel", each_change: WITH_NODES, applies: HAS_TWO, run: counted },
    Scenario { name: "wakes_are_seen_without_the_kernels_types", each_change: ONCE, applies: HAS_TWO, run: untyped },
    Scenario { name: "wakes_in_a_container_have_its_numbers", each_change: ONCE, applies: HAS_TWO, run: contained },
    Scenario {
        name: "waits_are_told_apart_by_the_cache_of_the_waker",
        each_change: |machine| SEVERAL_CACHES(machine) && machine.packages == 2 && machine.cpu_places().len() == 16,
        applies: SEVERAL_CACHES,
        run: placed,
    },
    Scenario { name: "a_user_gets_a_guess_or_the_reason_of_none", each_change: ONCE, applies: HAS_TWO, run: guessed },
];

/// Some of them with more than one cpu.
const SEVERAL_CACHES: fn(&RigMachine) -> bool =
    |machine| machine.packages * machine.dies > 1 && machine.cores > 1 && machine.kernel.is_empty();

/// Starts a command in a namespace of processes of its own.
pub const INNER: &str = "unshare -p -f --mount-proc";
pub const WATCH: &str = "corewise talk --no-store --json -- actor act talk";
/// The kernel's description of its types, which the counting program needs.
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Which events a user may see of own threads.
const EVENT_RIGHTS: &str = "/proc/sys/kernel/perf_event_paranoid";

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

/// In a namespace of processes, in one inside of another, and in a user's own, where only guessing is left.
fn contained(guest: &mut RigGuest) -> ScenarioOutcome {
    for nested in [INNER.to_owned(), format!("{INNER} {INNER}")] {
        let observed = watch(guest, &format!("{nested} {WATCH}"))?;
        same("the source", observed["source"].as_str(), Some("bpf"))?;
        threads_are_in_proc(&observed)?;
        partners_are_right(&observed)?;
    }
    let users = as_user(&format!("unshare -U -r -p -f --mount-proc {WATCH}"));
    text(guest, &format!("cat {EVENT_RIGHTS} >/run/rights; echo 2 >{EVENT_RIGHTS}"))?;
    let observed = watch(guest, &users);
    text(guest, &format!("cat /run/rights >{EVENT_RIGHTS}; rm /run/rights"))?;
    let observed = observed?;
    same("the source", observed["source"].as_str(), Some("own-switches"))?;
    threads_are_in_proc(&observed)?;
    Ok(Completion::Completed)
}

/// A thread is woken from a cpu of its own last-level cache and from one of another. Only numbers count: one thread emulates all cpus, so
/// the waits of both kinds are as long. If a difference is stated, it is that of the slots.
fn placed(guest: &mut RigGuest) -> ScenarioOutcome {
    let caches = as_expected(&machine(guest, "")?).llcs;
    let cpus: Vec<Vec<u32>> = caches.iter().map(|cache| cpus::parse(cache).into_iter().collect()).collect();
    let hub = format!("actor act hub={},{},{}", cpus[0][0], cpus[0][1], cpus[1][0]);
    let mut document = Value::Null;
    // A busy host may let the program run in no slot.
    for seconds in [3, 12, 48] {
        document = json(guest, &format!("corewise talk --no-store --json --budget {seconds}s -- {hub}"))?;
        if entries(&document["observed"]["placed_waits"]["slots"]).next().is_some() {
            break;
        }
    }
    let observed = &document["observed"];
    let waits = &observed["placed_waits"];
    let wakee = waits["wakee"].as_u64().and_then(|place| observed["vertices"][place as usize]["name"].as_str());
    same(&format!("the thread that is woken from both: {observed}"), wakee, Some("hub"))?;
    let mut longer_slots = 0_i32;
    for slot in entries(&waits["slots"]) {
        let number = |kind: &str, what: &str| slot[kind][what].as_f64().unwrap_or(0.0);
        let mean_ns = |kind: &str| number(kind, "waiting_ns") / number(kind, "waits");
        let has_both = number("inside", "waits") > 0.0 && number("across", "waits") > 0.0;
        same(&format!("whether both kinds are in {slot}"), has_both, true)?;
        longer_slots += if mean_ns("across") > mean_ns("inside") { 1 } else { -1 };
    }
    let is_stated = document["conclusions"]["statements"].to_string().contains("from another last-level cache");
    same(&format!("whether more slots agree with the statement: {waits}"), !is_stated || longer_slots > 0, true)?;
    Ok(Completion::Completed)
}

/// Threads of which /proc showed something have their numbers of there.
fn threads_are_in_proc(observed: &Value) -> Result<(), Failed> {
    for part in ["ask-a", "reply-a", "ask-b", "reply-b"] {
        let vertex = entries(&observed["vertices"]).find(|vertex| vertex["name"] == part);
        let cpus = vertex.and_then(|vertex| vertex["cpus"].as_str()).unwrap_or_default();
        same(&format!("whether {part} has cpus: {observed}"), cpus.is_empty(), false)?;
    }
    Ok(())
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

pub fn watch(guest: &mut RigGuest, command: &str) -> Result<Value, Failed> {
    Ok(json(guest, command)?["observed"].take())
}

/// Almost all wakes among the four threads are between partners.
pub fn partners_are_right(observed: &Value) -> ScenarioOutcome {
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
