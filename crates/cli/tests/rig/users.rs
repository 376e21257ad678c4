//! Scenarios: what a user who is not root finds and may do, command by command. What runs commands and measures is looked at
//! elsewhere, mostly as a user.

use corewise_rig::Guest;
use libtest_mimic::Completion;
use serde_json::Value;

use crate::found::{as_user, bytes, entries, json, machine, same, same_machine, text};
use crate::topology::shown;
use crate::{EVERYWHERE, ONCE, Outcome, Scenario, WHERE_LIMITED};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "users_find_what_root_finds", each_change: EVERYWHERE, applies: EVERYWHERE, run: topology },
    Scenario { name: "users_record_what_root_finds", each_change: WHERE_LIMITED, applies: EVERYWHERE, run: record },
    Scenario { name: "users_are_told_what_they_cannot_measure", each_change: ONCE, applies: EVERYWHERE, run: doctor },
    Scenario { name: "users_have_nothing_to_undo", each_change: ONCE, applies: EVERYWHERE, run: undo },
];

fn topology(guest: &mut Guest) -> Outcome {
    let of_root = machine(guest, "")?;
    let of_user = json(guest, &as_user("corewise topology --json"))?;
    same_machine(&of_user["machine"], &of_root)?;
    Ok(Completion::Completed)
}

fn record(guest: &mut Guest) -> Outcome {
    let of_root = machine(guest, "")?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("recording.tar");
    std::fs::write(&path, bytes(guest, &as_user("corewise record -o -"))?)?;
    same_machine(&shown(&path)?, &of_root)?;
    Ok(Completion::Completed)
}

/// Emulated processors have no counters, for nobody; times are refused to everyone.
fn doctor(guest: &mut Guest) -> Outcome {
    let gaps = |document: &Value| -> Vec<String> {
        let gaps = entries(&document["checks"]).filter(|check| check["state"] == "gap");
        gaps.filter_map(|check| check["what"].as_str()).map(str::to_owned).collect()
    };
    let (of_root, of_user) = (json(guest, "corewise doctor --json")?, json(guest, &as_user("corewise doctor --json"))?);
    let told = gaps(&of_user);
    for what in ["emulated machine", "hardware counters"] {
        same(&format!("{what:?} is in {told:?}"), told.iter().any(|gap| gap == what), true)?;
    }
    same("what root lacks and users have", gaps(&of_root).iter().any(|gap| !told.contains(gap)), false)?;
    Ok(Completion::Completed)
}

fn undo(guest: &mut Guest) -> Outcome {
    for command in ["corewise undo --dry-run --json", "corewise undo --json"] {
        let document = json(guest, &as_user(command))?;
        same(&document.to_string(), entries(&document["journals"]).count(), 0)?;
    }
    let words = text(guest, &as_user("corewise undo"))?;
    same(&words, words.contains("Nothing to undo"), true)?;
    Ok(Completion::Completed)
}
