//! Scenarios: a control group holds a command, for root and where one is delegated, and nothing of it stays; not after a kill
//! either.

use corewise_rig::cpus::{self, CpuNumbers};
use corewise_rig::{RigGuest, RigMachine};
use libtest_mimic::{Completion, Failed};

use crate::expressions::reachable;
use crate::found::{as_user, entries, same, text};
use crate::placement::{HAS_TWO, all_refused, mask, sorted};
use crate::{ONCE, Scenario, ScenarioOutcome, WHERE_LIMITED};

/// Below a group that limits its cpus there is one more limit to look at, which the first scenario does.
const HAS_TWO_AND_NO_CPUSET: fn(&RigMachine) -> bool = |machine| HAS_TWO(machine) && machine.cpuset.is_empty();

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "a_group_holds_the_command_of_root", each_change: WHERE_LIMITED, applies: HAS_TWO, run: of_root },
    Scenario {
        name: "a_group_holds_the_command_where_it_is_delegated",
        each_change: ONCE,
        applies: HAS_TWO_AND_NO_CPUSET,
        run: delegated,
    },
    Scenario { name: "without_delegation_nothing_starts", each_change: ONCE, applies: HAS_TWO, run: not_delegated },
    Scenario {
        name: "a_limit_of_the_group_above_is_told",
        each_change: ONCE,
        applies: HAS_TWO_AND_NO_CPUSET,
        run: limited,
    },
    Scenario { name: "two_commands_share_a_group_above", each_change: ONCE, applies: HAS_TWO_AND_NO_CPUSET, run: two },
    Scenario { name: "a_killed_corewise_of_root_is_undone", each_change: ONCE, applies: HAS_TWO, run: killed_of_root },
    Scenario {
        name: "a_killed_corewise_of_a_user_is_undone",
        each_change: ONCE,
        applies: HAS_TWO_AND_NO_CPUSET,
        run: killed_of_user,
    },
];

/// What a held command prints: its mask, what its group has, and its mask after it asked for all cpus; masks as the kernel
/// lists them, each behind a word.
const TELL: &str = r#"group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
    echo "mask $(grep Cpus_allowed_list: /proc/self/status)"
    echo "group $group"
    echo "effective $(cat $group/cpuset.cpus.effective)"
    echo "nodes $(cat $group/cpuset.mems)"
    taskset -pc ALL $$ >/dev/null 2>&1
    echo "widened $(grep Cpus_allowed_list: /proc/$$/status)"
    sh -c 'taskset -pc ALL $$ >/dev/null 2>&1; echo "child $(grep Cpus_allowed_list: /proc/$$/status)"'"#;

/// How all groups stand: which there are, and what each shares out.
const GROUPS: &str = "find /sys/fs/cgroup -type d | sort; \
                      find /sys/fs/cgroup -name cgroup.subtree_control | sort | xargs grep -H .; \
                      ls -d /run/corewise/*.corewise-journal /home/user/.local/state/corewise/*.corewise-journal 2>/dev/null; true";

fn of_root(guest: &mut RigGuest) -> ScenarioOutcome {
    held(guest, |script| script.to_owned())?;
    Ok(Completion::Completed)
}

fn delegated(guest: &mut RigGuest) -> ScenarioOutcome {
    with_part(guest, |guest| held(guest, in_part))
}

/// Commands on several sets, started by a script that `wrap` puts into its place.
fn held(guest: &mut RigGuest, wrap: fn(&str) -> String) -> Result<(), Failed> {
    let all = reachable(guest.machine());
    let tell = TELL.replace("ALL", &cpus::format_list(&all));
    text(guest, &format!("cat >/tmp/tell <<'END OF TELL'\n{tell}\nEND OF TELL"))?;
    let before = text(guest, GROUPS)?;
    for (at, wanted) in choices(&all).into_iter().enumerate() {
        let list = cpus::format_list(&wanted);
        // Watched and unwatched commands are waited for in different ways.
        let option = ["", "--enforce boundary"][at % 2];
        let outcome = guest.run(&wrap(&format!("corewise run {option} --cgroup --on {list} -- sh /tmp/tell")))?;
        let told = outcome.stdout_text() + &outcome.stderr;
        same(&format!("the exit status of {list}\n{told}"), outcome.code, 0)?;
        for word in ["mask", "effective", "widened", "child"] {
            same(&format!("{word} of {list} in\n{told}"), said(&told, word), Some(list.clone()))?;
        }
        same(&format!("the group of {list} in\n{told}"), told.contains("/corewise-"), true)?;
        same(&format!("the groups after {list}\n{told}"), text(guest, GROUPS)?, before.clone())?;
    }
    bound(guest, &all, wrap)?;
    text(guest, "rm /tmp/tell")?;
    Ok(())
}

/// Memory nodes that the command is bound to hold in the group, too.
fn bound(guest: &mut RigGuest, all: &CpuNumbers, wrap: fn(&str) -> String) -> Result<(), Failed> {
    let Some(node) = guest.machine().nodes.iter().rposition(|node| node.size_mib > 0) else { return Ok(()) };
    let cpu = all.first().copied().unwrap_or_default();
    let command = format!("corewise run --cgroup --on {cpu} --memory bind:{node} -- sh /tmp/tell");
    let told = text(guest, &wrap(&command))?;
    same(&format!("the nodes in\n{told}"), said(&told, "nodes"), Some(node.to_string()))
}

/// The cpus behind a word, as the kernel lists them.
pub fn said(told: &str, word: &str) -> Option<String> {
    let rest = told.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))?;
    Some(mask(rest).unwrap_or_else(|| sorted(rest)))
}

/// Every other cpu, the last one, all but the first, and all.
fn choices(all: &CpuNumbers) -> [CpuNumbers; 4] {
    let every_other = all.iter().step_by(2).copied().collect();
    let last = all.last().copied().into_iter().collect();
    [every_other, last, all.iter().skip(1).copied().collect(), all.clone()]
}

/// A user in somebody else's group gets none: an error, and nothing has changed.
fn not_delegated(guest: &mut RigGuest) -> ScenarioOutcome {
    let before = text(guest, GROUPS)?;
    let cpu = reachable(guest.machine()).first().copied().unwrap_or_default();
    let cases = ["error: --cgroup: ", "Delegate=yes"].map(|words| (format!("-v --cgroup --on {cpu}"), words, 3));
    all_refused(guest, &cases)?;
    same("the groups", text(guest, GROUPS)?, before)?;
    Ok(Completion::Completed)
}

/// A group above that has fewer cpus: those outside are refused, and nothing has changed; those inside are had.
fn limited(guest: &mut RigGuest) -> ScenarioOutcome {
    let all = reachable(guest.machine());
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Err("there are no two cpus".into()) };
    with_part(guest, |guest| {
        text(guest, &format!("echo {first} >/sys/fs/cgroup/part/cpuset.cpus"))?;
        let before = text(guest, GROUPS)?;
        let outcome = guest.run(&in_part(&format!("corewise run --cgroup --on {last} -- touch /tmp/started")))?;
        let told = outcome.stderr.clone();
        same(&told, (outcome.code, told.contains(&format!("cpu {last} is outside the cpuset"))), (3, true))?;
        same("it was started", guest.run("[ -e /tmp/started ]")?.code, 1)?;
        text(guest, &in_part(&format!("corewise run --cgroup --on {first} -- true")))?;
        same("the groups", text(guest, GROUPS)?, before)
    })
}

/// The first of two commands to end leaves the other where it is.
fn two(guest: &mut RigGuest) -> ScenarioOutcome {
    let all = reachable(guest.machine());
    let (first, last) = (all.first().copied().unwrap_or_default(), all.last().copied().unwrap_or_default());
    with_part(guest, |guest| {
        let before = text(guest, GROUPS)?;
        let pid = start(guest, in_part, first)?;
        let told = text(guest, &in_part(&format!("corewise run --cgroup --on {last} -- sh -c '{SHORT_TELL}'")))?;
        same("the second command", mask(&told), Some(last.to_string()))?;
        same("the first command", mask_of(guest, &pid)?, Some(first.to_string()))?;
        text(guest, &format!("kill {pid}"))?;
        guest.wait_for("the first corewise to end", "! pidof corewise")?;
        same("the groups", text(guest, GROUPS)?, before)
    })
}

const SHORT_TELL: &str = "cat /proc/self/status";

fn killed_of_root(guest: &mut RigGuest) -> ScenarioOutcome {
    killed(guest, |script| script.to_owned())?;
    Ok(Completion::Completed)
}

fn killed_of_user(guest: &mut RigGuest) -> ScenarioOutcome {
    with_part(guest, |guest| killed(guest, in_part))
}

/// A corewise that is killed leaves its group, with the command in it; `corewise undo` puts back all, and the command lives on.
fn killed(guest: &mut RigGuest, wrap: fn(&str) -> String) -> Result<(), Failed> {
    let before = text(guest, GROUPS)?;
    let cpu = reachable(guest.machine()).last().copied().unwrap_or_default();
    let pid = start(guest, wrap, cpu)?;
    let home = text(guest, "cut -d: -f3 /proc/$(pidof corewise)/cgroup")?;
    text(guest, "kill -9 $(pidof corewise)")?;
    guest.wait_for("corewise to be gone", "! pidof corewise")?;
    same("the command is still held", mask_of(guest, &pid)?, Some(cpu.to_string()))?;
    same("the group is still there", text(guest, GROUPS)? == before, false)?;
    let shown = text(guest, &wrap("corewise undo --dry-run"))?;
    same(&format!("what would be undone is told\n{shown}"), shown.contains("/corewise-"), true)?;
    same("the group is there after a look", text(guest, GROUPS)? == before, false)?;
    let undone = text(guest, &wrap("corewise undo --json"))?;
    let document = serde_json::from_str(&undone)?;
    same(&undone, fates(&document).iter().all(|fate| *fate == "reverted"), true)?;
    same(&format!("the groups after\n{undone}"), text(guest, GROUPS)?, before)?;
    let moved = text(guest, &format!("cut -d: -f3 /proc/{pid}/cgroup"))?;
    same("the group of the command", moved, home)?;
    text(guest, &format!("kill {pid}"))?;
    guest.wait_for("the command to end", &format!("[ ! -e /proc/{pid} ]"))?;
    let again: serde_json::Value = serde_json::from_str(&text(guest, &wrap("corewise undo --json"))?)?;
    same("what is left to undo", fates(&again).len(), 0)
}

/// What became of all changes of all journals.
fn fates(document: &serde_json::Value) -> Vec<&str> {
    let changes = entries(&document["journals"]).flat_map(|journal| entries(&journal["changes"]));
    changes.filter_map(|change| change["fate"].as_str()).collect()
}

/// Starts a command in a group on one cpu, which waits to be killed; its process number.
fn start(guest: &mut RigGuest, wrap: fn(&str) -> String, cpu: u32) -> Result<String, Failed> {
    let command = "echo $$ >/tmp/waiting; exec sleep 100000";
    let script = format!("corewise run --cgroup --on {cpu} -- sh -c '{command}' >/dev/null 2>&1 &");
    text(guest, &format!("rm -f /tmp/waiting\n{}", wrap(&script)))?;
    let seen = guest.wait_for("the command to run", "[ -s /tmp/waiting ] && cat /tmp/waiting && rm /tmp/waiting")?;
    Ok(seen.stdout_text().trim().to_owned())
}

fn mask_of(guest: &mut RigGuest, pid: &str) -> Result<Option<String>, Failed> {
    Ok(mask(&text(guest, &format!("cat /proc/{pid}/status"))?))
}

/// A group that belongs to the user, for as long as a scenario lasts.
fn with_part(guest: &mut RigGuest, scenario: impl FnOnce(&mut RigGuest) -> Result<(), Failed>) -> ScenarioOutcome {
    text(
        guest,
        "cd /sys/fs/cgroup && mkdir part && \
         chown user part part/cgroup.procs part/cgroup.threads part/cgroup.subtree_control",
    )?;
    scenario(guest)?;
    guest.wait_for("the group to be empty", "rmdir /sys/fs/cgroup/part")?;
    Ok(Completion::Completed)
}

/// A script that runs another one as the user, in the user's group.
fn in_part(script: &str) -> String {
    format!("echo $$ >/sys/fs/cgroup/part/cgroup.procs\n{}", as_user(script))
}
