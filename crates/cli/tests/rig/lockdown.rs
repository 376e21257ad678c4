//! Machines with a locked-down kernel, which shows less even to root: the user learns why.

use std::sync::Arc;

use corewise_rig::{MACHINES, RigGuest, RigMachine, RigUse};
use libtest_mimic::{Completion, Failed, Trial};
use serde_json::Value;

use crate::ScenarioOutcome;
use crate::bench::RigParts;
use crate::found::{entries, json, same, text};
use crate::talk::{INNER, TYPES, WATCH, partners_are_right, watch};

static HIDES_ALL: RigMachine = RigMachine { name: "locked-down", kernel: "lockdown=confidentiality", ..MACHINES[0] };
static HIDES_DEBUGFS: RigMachine =
    RigMachine { name: "locked-down-for-integrity", kernel: "lockdown=integrity", ..MACHINES[0] };

/// The mode that hides less is booted only with all machines.
pub fn trials(parts: &Arc<RigParts>, wanted: RigUse) -> Vec<Trial> {
    let hides_all = trial("a_locked_down_kernel_is_named", parts, &HIDES_ALL, hides_all);
    let hides_debugfs = trial("a_kernel_locked_for_integrity_shows_wakes", parts, &HIDES_DEBUGFS, hides_debugfs);
    if wanted == RigUse::Full { vec![hides_all, hides_debugfs] } else { vec![hides_all] }
}

fn trial(
    name: &str,
    parts: &Arc<RigParts>,
    machine: &'static RigMachine,
    run: fn(&mut RigGuest) -> ScenarioOutcome,
) -> Trial {
    let parts = Arc::clone(parts);
    let boot = move || match &*parts {
        RigParts::Missing(what) => Ok(Completion::ignored_with(what.clone())),
        RigParts::There(rig) => {
            let mut guest = rig.boot_machine(machine)?;
            text(&mut guest, "mount -t securityfs securityfs /sys/kernel/security")?;
            run(&mut guest)
        }
    };
    Trial::ignorable_test(name, boot).with_kind("rig")
}

/// The programs of BPF read no address, so they run; in a container they have to. Of events there is none.
fn hides_all(guest: &mut RigGuest) -> ScenarioOutcome {
    same("the doctor's check", lockdown_state(guest)?.as_deref(), Some("gap"))?;
    let observed = watch(guest, WATCH)?;
    same("the source", observed["source"].as_str(), Some("bpf"))?;
    partners_are_right(&observed)?;
    let inside = watch(guest, &format!("{INNER} {WATCH}"))?;
    text(guest, &format!("mount --bind /dev/null {TYPES}"))?;
    let untyped = watch(guest, WATCH)?;
    for observed in [&inside, &untyped] {
        same("the source", observed["source"].as_str(), Some("own-switches"))?;
        let says_why = |gap: &Value| {
            let why = gap["why"].as_str().unwrap_or_default();
            why.starts_with("this kernel is locked down (confidentiality): ")
                && gap["cure"].as_str() == Some("boot it without lockdown=confidentiality")
        };
        same(&format!("whether a gap says why: {observed}"), entries(&observed["gaps"]).any(says_why), true)?;
    }
    Ok(Completion::Completed)
}

fn hides_debugfs(guest: &mut RigGuest) -> ScenarioOutcome {
    same("the doctor's check", lockdown_state(guest)?.as_deref(), Some("note"))?;
    for before in ["", INNER] {
        let observed = watch(guest, &format!("{before} {WATCH}"))?;
        same("the source", observed["source"].as_str(), Some("bpf"))?;
        partners_are_right(&observed)?;
    }
    Ok(Completion::Completed)
}

/// The state of the doctor's check of the lockdown; `None` if it has none.
fn lockdown_state(guest: &mut RigGuest) -> Result<Option<String>, Failed> {
    let document = json(guest, "corewise doctor --json")?;
    let check = entries(&document["checks"]).find(|check| check["what"] == "kernel lockdown");
    Ok(check.and_then(|check| check["state"].as_str()).map(str::to_owned))
}
