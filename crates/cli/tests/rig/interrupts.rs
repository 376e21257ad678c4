//! Scenarios: interrupts are kept away from cpus and come back, after a crash in the middle of it and after hotplug too.
//!
//! Every step comes over the second serial port, so that its interrupt strikes all the time: it is observed.

use corewise_rig::cpus::{self, CpuNumbers};
use corewise_rig::{DiskPlace, RigGuest, RigMachine};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::changes::switch;
use crate::found::{as_user, entries, json, list_of, same, text};
use crate::placement::HAS_TWO;
use crate::{ONCE, Scenario, ScenarioOutcome, WITH_NODES};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "interrupts_are_moved_and_come_back", each_change: ONCE, applies: HAS_TWO, run: moved },
    Scenario {
        name: "an_interrupt_without_a_cpu_gets_others",
        each_change: WITH_NODES,
        applies: HAS_TWO,
        run: widened,
    },
    Scenario {
        name: "an_interrupt_that_the_kernel_holds_is_refused",
        each_change: ONCE,
        applies: HAS_TWO,
        run: refused,
    },
    Scenario { name: "no_interrupt_is_moved_by_a_user", each_change: ONCE, applies: HAS_TWO, run: of_user },
    Scenario {
        name: "interrupts_moved_by_a_killed_corewise_come_back",
        each_change: ONCE,
        applies: HAS_TWO,
        run: killed,
    },
    Scenario {
        name: "an_interrupt_that_is_managed_stays",
        each_change: ONCE,
        applies: |machine| machine.disk == Some(DiskPlace::Somewhere),
        run: managed,
    },
    Scenario {
        name: "an_interrupt_whose_cpu_goes_away_is_the_kernels",
        each_change: ONCE,
        applies: HAS_TWO_ALIKE,
        run: unplugged,
    },
];

/// The number of the second serial port's interrupt on every PC.
const STEPS: u64 = 3;
/// The number of the timer's on every PC, which the kernel moves for nobody.
const TIMER: u64 = 0;

/// An isolated cpu is not given all interrupts.
const HAS_TWO_ALIKE: fn(&RigMachine) -> bool =
    |machine| HAS_TWO(machine) && machine.isolated.is_empty() && machine.nohz_full.is_empty();

/// The modules of the disk's driver, each after what it needs.
pub const MODULES: &str = "virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk";

/// The cpus of all interrupts: those allowed, as the kernel has them.
const ALLOWED: &str = "grep . /proc/irq/*/smp_affinity_list";

/// The interrupt goes elsewhere, the kernel counts it there, and the old cpus come back.
fn moved(guest: &mut RigGuest) -> ScenarioOutcome {
    let before = text(guest, ALLOWED)?;
    let cpu = now_on(guest)?;
    let planned = json(guest, &format!("corewise irq --away-from {cpu} --dry-run --json"))?;
    same("the fate of a dry run", move_of(&planned, STEPS)["fate"].clone(), "would-move".into())?;
    same("the interrupts after a dry run", text(guest, ALLOWED)?, before.clone())?;

    let document = json(guest, &format!("corewise irq --away-from {cpu} --json"))?;
    let step = move_of(&document, STEPS);
    let to = list_of(&step["planned"]["to"]);
    same("the cpu is left out", cpus::parse(&to).contains(&cpu), false)?;
    same("the allowed cpus", allowed(guest)?, to.clone())?;
    let expected = guest.machine().expected_machine();
    let isolated = [expected.isolated, expected.nohz_full].map(|cpus| cpus::parse(&cpus));
    same("isolated cpus among them", isolated.iter().any(|cpus| !cpus.is_disjoint(&cpus::parse(&to))), false)?;
    let is_known = ["moved", "waits"].iter().any(|fate| step["fate"] == *fate);
    same(&format!("the fate is known: {step}"), is_known, true)?;
    guest.wait_for("the interrupt to strike elsewhere", &format!("[ {cpu} != $(cat {}) ]", effective_file()))?;
    let new = now_on(guest)?;
    same(&format!("{new} is one of {to}"), cpus::parse(&to).contains(&new), true)?;
    let struck = |guest: &mut RigGuest, cpu: u32| text(guest, &count_on(cpu));
    let (old_count, new_count) = (struck(guest, cpu)?, struck(guest, new)?);
    guest
        .wait_for("the interrupt to be counted there", &format!("[ $({}) -gt {} ]", count_on(new), new_count.trim()))?;
    same("its count on the old cpu", struck(guest, cpu)?, old_count)?;

    // Where the timer alone is left there, nothing more can be done.
    let again = json(guest, &format!("corewise irq --away-from {cpu} --json || [ $? = 3 ]"))?;
    same("it is not moved twice", move_of(&again, STEPS).clone(), Value::Null)?;
    let told = text(guest, "corewise doctor")?;
    same(&told, told.contains("moved interrupts: ") && told.contains("by `corewise irq`"), true)?;
    undone(guest, &before)
}

/// Undoes, and looks that all interrupts are as they were and that nothing is left to undo.
fn undone(guest: &mut RigGuest, before: &str) -> ScenarioOutcome {
    let document = json(guest, "corewise undo --json")?;
    let fates: Vec<&Value> = changes(&document).map(|change| &change["fate"]).collect();
    same(&format!("{document}"), !fates.is_empty() && fates.iter().all(|fate| **fate == "reverted"), true)?;
    same("the interrupts after undo", text(guest, ALLOWED)?, before.to_owned())?;
    same("the journals after undo", guest.run("ls /run/corewise/*.corewise-journal")?.stdout_text(), String::new())?;
    Ok(Completion::Completed)
}

/// All but the first cpu are given up, then that one: it gets the others of its node, and no isolated ones; two runs are undone.
fn widened(guest: &mut RigGuest) -> ScenarioOutcome {
    let before = text(guest, ALLOWED)?;
    let expected = guest.machine().expected_machine();
    let online = cpus::parse(&expected.online);
    let first = online.first().copied().unwrap_or_default();
    let others: CpuNumbers = online.iter().copied().filter(|cpu| *cpu != first).collect();
    json(guest, &format!("corewise irq --away-from {} --json", cpus::format_list(&others)))?;
    same("one cpu is left", cpus::parse(&allowed(guest)?).intersection(&online).count(), 1)?;

    let kept = [&expected.isolated, &expected.nohz_full].map(|cpus| cpus::parse(cpus));
    let wanted: CpuNumbers = others.iter().copied().filter(|cpu| !kept.iter().any(|kept| kept.contains(cpu))).collect();
    // -1 where the kernel knows none.
    let node = text(guest, &format!("cat /proc/irq/{STEPS}/node"))?.trim().parse::<usize>().ok();
    let near = node.and_then(|node| expected.nodes.get(node)).map(|node| cpus::parse(&node.cpus)).unwrap_or_default();
    let near: CpuNumbers = near.intersection(&wanted).copied().collect();
    let wanted = if near.is_empty() { wanted } else { near };
    let document = json(guest, &format!("corewise irq --away-from {first} --json"))?;
    let step = move_of(&document, STEPS);
    // Cpus that could be plugged in are allowed from the beginning, and stay so; only online ones count.
    let found: CpuNumbers = cpus::parse(&list_of(&step["planned"]["to"])).intersection(&online).copied().collect();
    same(&format!("the cpus that it gets\n{step}"), cpus::format_list(&found), cpus::format_list(&wanted))?;
    same("why is told", step["planned"]["reason"].is_string(), true)?;
    undone(guest, &before)
}

/// The timer's file can be written, and the kernel refuses: that is told, the others are moved. Where it alone is left, nothing
/// could be done.
fn refused(guest: &mut RigGuest) -> ScenarioOutcome {
    let before = text(guest, ALLOWED)?;
    let timer_on = text(guest, &format!("cat /proc/irq/{TIMER}/effective_affinity_list"))?;
    let timer_on = timer_on.trim();
    let document = json(guest, &format!("corewise irq --away-from {timer_on} --json"))?;
    let timer = move_of(&document, TIMER);
    same(&timer.to_string(), timer["fate"] == "refused" && timer["planned"]["name"] == "timer", true)?;
    let why = timer["why"].as_str().unwrap_or_default().to_owned();
    same(&why, why.starts_with("the kernel does not allow moving it"), true)?;
    // Others may still wait to strike; they are no failure.
    let again = guest.run(&format!("corewise irq --away-from {timer_on} --json"))?;
    let document: Value = serde_json::from_slice(&again.stdout)?;
    let is_alone = entries(&document["away"]["moves"]).count() == 1;
    same(&again.stdout_text(), again.code, if is_alone { 3 } else { 0 })?;
    same(&again.stdout_text(), move_of(&document, TIMER)["fate"] == "refused", true)?;
    for (expression, words) in [("all", "covers every online cpu"), ("0-", "0-")] {
        let outcome = guest.run(&format!("corewise irq --away-from {expression}"))?;
        same(&format!("{expression}: {}", outcome.stderr), (outcome.code, outcome.stderr.contains(words)), (2, true))?;
    }
    undone(guest, &before)
}

/// A user who is not root may look, and is told what to type; nothing is changed, and nothing is left to undo.
fn of_user(guest: &mut RigGuest) -> ScenarioOutcome {
    let before = text(guest, ALLOWED)?;
    let shown = json(guest, &as_user("corewise irq --budget 100ms --json"))?;
    let ports = entries(&shown["interrupts"]).filter(|interrupt| interrupt["number"] == STEPS);
    same("the serial port is listed", ports.count(), 1)?;
    let cpu = now_on(guest)?;
    let outcome = guest.run(&as_user(&format!("corewise irq --away-from {cpu}")))?;
    let told =
        format!("error: this user may not move interrupts\n  Only root may:  sudo corewise irq --away-from {cpu}\n");
    same("what a user is told", (outcome.code, outcome.stderr), (3, told))?;
    same("the interrupts", text(guest, ALLOWED)?, before)?;
    let left = json(guest, &as_user("corewise undo --json"))?;
    same("what a user has to undo", changes(&left).count(), 0)?;
    Ok(Completion::Completed)
}

/// The kernel kills a process that makes a file larger than its limit, as surely as `kill -9` does; the limit is such that the
/// journal is what gets too large, after the first moves and before the last.
fn killed(guest: &mut RigGuest) -> ScenarioOutcome {
    let before = text(guest, ALLOWED)?;
    let cpu = now_on(guest)?;
    let limited = format!("(ulimit -f 2; exec corewise irq --away-from {cpu} >/dev/null 2>&1)");
    let outcome = guest.run(&limited)?;
    same(&format!("killed by SIGXFSZ\n{}", outcome.stderr), outcome.code, 128 + 25)?;
    let lines = text(guest, "cat /run/corewise/*.corewise-journal")?;
    let (begun, made) = (lines.matches("{\"begun\":").count(), lines.matches("{\"made\":").count());
    same(&format!("some moves were made, and not all\n{lines}"), made > 0 && !lines.contains("{\"kept\":"), true)?;
    same(&format!("the last line was torn off\n{lines}"), begun >= made && !lines.ends_with('\n'), true)?;
    let (now, last) = (text(guest, ALLOWED)?, text(guest, "cat /proc/irq/12/smp_affinity_list")?);
    same("some interrupts are moved", now == before, false)?;
    same("the last is not", cpus::parse(last.trim()).contains(&cpu), true)?;
    let shown = text(guest, "corewise undo --dry-run")?;
    same(&shown, shown.contains("ended without undoing its changes"), true)?;
    undone(guest, &before)
}

/// A disk's queues are placed by the kernel, its other interrupt is not: that one is moved, the queues stay, with the reason. Newer
/// kernels mark them, older ones refuse.
fn managed(guest: &mut RigGuest) -> ScenarioOutcome {
    if guest.run("[ -e /lib/modules/virtio_blk.ko ]")?.code != 0 {
        return Ok(Completion::ignored_with("there are no modules of this kernel: `cargo xtask setup`"));
    }
    let before = text(guest, ALLOWED)?;
    text(guest, &format!("for name in {MODULES}; do insmod /lib/modules/$name.ko; done"))?;
    guest.wait_for("the disk", "[ -e /sys/block/vda ]")?;
    let listed = json(guest, "corewise irq --budget 100ms --json")?;
    let of_disk = |interrupt: &&Value| interrupt["driver"] == "virtio-pci";
    let disk: Vec<Value> = entries(&listed["interrupts"]).filter(of_disk).cloned().collect();
    let with = |text: &str| disk.iter().find(|one| one["handlers"][0].as_str().is_some_and(|name| name.contains(text)));
    let (Some(config), Some(queue)) = (with("config"), with("-req.")) else {
        return Err(format!("no interrupts of a disk in {listed}").into());
    };
    let cpu = cpus::parse(&list_of(&queue["effective"])).first().copied().unwrap_or_default();
    let document = json(guest, &format!("corewise irq --away-from {cpu} --json"))?;
    let number = queue["number"].as_u64().unwrap_or_default();
    let marked =
        entries(&document["away"]["staying"]).any(|one| one["number"] == number && one["mobility"] == "managed");
    let step = move_of(&document, number);
    let refused = step["fate"] == "refused" && step["why"].as_str().is_some_and(|why| why.contains("it is managed"));
    same(&format!("the queue stays: {step}"), (marked, refused), (!refused, !marked))?;
    same(
        "the queue's cpus",
        text(guest, &format!("cat /proc/irq/{number}/smp_affinity_list"))?.trim(),
        &list_of(&queue["allowed"]),
    )?;
    let config = move_of(&document, config["number"].as_u64().unwrap_or_default());
    same(&format!("the other is moved: {config}"), config["fate"] == "moved" || config["fate"] == "waits", true)?;
    json(guest, "corewise undo --json")?;
    text(guest, &format!("for name in {MODULES}; do echo $name; done | tac | while read name; do rmmod $name; done"))?;
    same("the interrupts at the end", text(guest, ALLOWED)?, before)?;
    Ok(Completion::Completed)
}

/// The last cpu alone is left, and goes: the kernel breaks the affinity and says so, and undo leaves it to the kernel.
fn unplugged(guest: &mut RigGuest) -> ScenarioOutcome {
    let before = text(guest, ALLOWED)?;
    let online = cpus::parse(&guest.machine().expected_machine().online);
    let last: CpuNumbers = online.last().copied().into_iter().collect();
    let others: CpuNumbers = online.difference(&last).copied().collect();
    json(guest, &format!("corewise irq --away-from {} --json", cpus::format_list(&others)))?;
    let wanted = cpus::format_list(&last);
    guest.wait_for("the interrupt to go to the last cpu", &format!("[ {wanted} = $(cat {}) ]", effective_file()))?;
    switch(guest, &last, false)?;
    let broken = allowed(guest)?;
    same("the kernel has given it other cpus", cpus::parse(&broken).is_disjoint(&last), true)?;
    let document = json(guest, "corewise undo --json")?;
    let file = format!("/proc/irq/{STEPS}/");
    let of_steps = |change: &&Value| change["what"].as_str().is_some_and(|what| what.contains(&file));
    let change = changes(&document).find(of_steps).cloned().unwrap_or_default();
    let why = change["why"].as_str().unwrap_or_default();
    same(
        &change.to_string(),
        change["fate"] == "left-alone" && why.ends_with(&format!("it is now \"{broken}\"")),
        true,
    )?;
    same("what is allowed after undo", allowed(guest)?, broken)?;
    switch(guest, &last, true)?;
    put_back(guest, &before)
}

/// Gives all interrupts the cpus that they had, one by one.
fn put_back(guest: &mut RigGuest, before: &str) -> ScenarioOutcome {
    let now = text(guest, ALLOWED)?;
    for line in before.lines().filter(|line| !now.contains(*line)) {
        let (file, cpus) = line.split_once(':').ok_or("a line of grep has no colon")?;
        text(guest, &format!("echo {cpus} >{file}"))?;
    }
    Ok(Completion::Completed)
}

/// What became of an interrupt that was to be moved; nothing where it was not.
fn move_of(document: &Value, number: u64) -> &Value {
    let mut moves = entries(&document["away"]["moves"]).filter(|step| step["planned"]["number"] == number);
    moves.next().unwrap_or(&Value::Null)
}

fn changes(document: &Value) -> impl Iterator<Item = &Value> {
    entries(&document["journals"]).flat_map(|journal| entries(&journal["changes"]))
}

fn effective_file() -> String {
    format!("/proc/irq/{STEPS}/effective_affinity_list")
}

/// The cpu that handles the steps' interrupt.
fn now_on(guest: &mut RigGuest) -> Result<u32, Failed> {
    Ok(text(guest, &format!("cat {}", effective_file()))?.trim().parse()?)
}

/// The cpus that may handle it.
fn allowed(guest: &mut RigGuest) -> Result<String, Failed> {
    Ok(text(guest, &format!("cat /proc/irq/{STEPS}/smp_affinity_list"))?.trim().to_owned())
}

/// A script that prints how often it struck a cpu; offline cpus have no column.
fn count_on(cpu: u32) -> String {
    format!(
        "awk 'NR == 1 {{ for (i = 1; i <= NF; i++) if ($i == \"CPU{cpu}\") column = i + 1 }} \
         $1 == \"{STEPS}:\" {{ print $column }}' /proc/interrupts"
    )
}
