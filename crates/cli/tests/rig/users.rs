//! Scenarios: what a user who is not root finds and may do, command by command. What runs commands and measures is looked at
//! elsewhere, mostly as a user.

use corewise_rig::RigGuest;
use libtest_mimic::Completion;
use serde_json::Value;

use crate::found::{as_user, bytes, entries, json, machine, same, same_machine, text};
use crate::survey::reachable_last;
use crate::topology::shown;
use crate::{EVERYWHERE, ONCE, Scenario, ScenarioOutcome, WHERE_LIMITED};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "users_find_what_root_finds", each_change: EVERYWHERE, applies: EVERYWHERE, run: topology },
    Scenario { name: "users_record_what_root_finds", each_change: WHERE_LIMITED, applies: EVERYWHERE, run: record },
    Scenario { name: "users_are_told_what_they_cannot_measure", each_change: ONCE, applies: EVERYWHERE, run: doctor },
    Scenario { name: "users_have_nothing_to_undo", each_change: ONCE, applies: EVERYWHERE, run: undo },
    Scenario { name: "users_homes_stay_theirs", each_change: ONCE, applies: EVERYWHERE, run: homes },
];

fn topology(guest: &mut RigGuest) -> ScenarioOutcome {
    let of_root = machine(guest, "")?;
    let of_user = json(guest, &as_user("corewise topology --json"))?;
    same_machine(&of_user["machine"], &of_root)?;
    Ok(Completion::Completed)
}

fn record(guest: &mut RigGuest) -> ScenarioOutcome {
    let of_root = machine(guest, "")?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("recording.tar");
    std::fs::write(&path, bytes(guest, &as_user("corewise record -o -"))?)?;
    same_machine(&shown(&path)?, &of_root)?;
    Ok(Completion::Completed)
}

/// Emulated processors have no counters, for nobody; times are refused to everyone.
fn doctor(guest: &mut RigGuest) -> ScenarioOutcome {
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

fn undo(guest: &mut RigGuest) -> ScenarioOutcome {
    for command in ["corewise undo --dry-run --json", "corewise undo --json"] {
        let document = json(guest, &as_user(command))?;
        same(&document.to_string(), entries(&document["journals"]).count(), 0)?;
    }
    let words = text(guest, &as_user("corewise undo"))?;
    same(&words, words.contains("Nothing to undo"), true)?;
    Ok(Completion::Completed)
}

/// Who owns what after each way to run corewise: the table of docs/security.md. Nothing of root's is in a user's home, and nobody reads
/// what another stored.
fn homes(guest: &mut RigGuest) -> ScenarioOutcome {
    let cpu = reachable_last(guest);
    let run = format!("corewise try --on {cpu} --runs-max 4 --rest 0s -- true >/dev/null 2>/tmp/said; [ $? -le 4 ]");
    const LIST: &str = "{ find /home/user /root/.local /run/corewise -mindepth 1 -exec stat -c '%U %a %n' {} +; stat -c '%U %a %n' /run/corewise; } 2>/dev/null | sort -k3; true";
    let clear = "rm -rf /home/user/.local /root/.local /run/corewise /tmp/said";
    let after = |guest: &mut RigGuest, run: &str| -> Result<Vec<String>, libtest_mimic::Failed> {
        let listed = text(guest, &format!("{clear}; {run} || exit 1; {LIST}"))?;
        Ok(listed.lines().map(str::to_owned).collect())
    };
    let history = |user: &str, home: &str| format!("{user} 600 {home}/.local/share/corewise/history.db");
    let of_user = after(guest, &as_user(&format!("export HOME=/home/user; {run}")))?;
    same(&format!("{of_user:?}"), of_user.contains(&history("user", "/home/user")), true)?;
    same(&format!("{of_user:?}"), of_user.contains(&"user 700 /home/user/.local/share/corewise".to_owned()), true)?;
    same(&format!("{of_user:?}"), of_user.iter().all(|line| line.starts_with("user ")), true)?;
    let of_root = after(guest, &format!("export HOME=/root; {run}"))?;
    same(&format!("{of_root:?}"), of_root.contains(&history("root", "/root")), true)?;
    same(&format!("{of_root:?}"), of_root.contains(&"root 700 /run/corewise".to_owned()), true)?;
    // As sudo does that keeps HOME; the user has made links where the store would be.
    let links = "mkdir -p /home/user/.local/share; ln -s /root/stolen /home/user/.local/share/corewise; chown -R user:user /home/user/.local";
    let kept = after(guest, &format!("{links}; export HOME=/home/user XDG_DATA_HOME=/home/user/.local/share; {run}"))?;
    same(&format!("{kept:?}"), kept.contains(&history("root", "/root")), true)?;
    same(
        &format!("{kept:?}"),
        kept.iter().any(|line| line.starts_with("root ") && line.contains("/home/user")),
        false,
    )?;
    same("what the link led to", text(guest, "ls /root/stolen 2>&1 | grep -c 'No such'")?.trim(), "1")?;
    let said = text(guest, "cat /tmp/said")?;
    same(&said, said.contains("/home/user is another user's home, so root's own store is used"), true)?;
    let homeless = after(guest, &as_user(&format!("unset HOME XDG_DATA_HOME XDG_STATE_HOME; {run}")))?;
    same(&format!("{homeless:?}"), homeless.len(), 0)?;
    text(guest, clear)?;
    Ok(Completion::Completed)
}
