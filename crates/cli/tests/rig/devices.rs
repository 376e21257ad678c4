//! Scenarios: a disk at a node is found there, `near` means the cpus of that node, and its interrupts are moved to them and back.

use corewise_rig::{DiskPlace, RigGuest, cpus};
use libtest_mimic::Completion;
use serde_json::Value;

use crate::found::{entries, json, list_of, same, text};
use crate::interrupts::MODULES;
use crate::{EVERYWHERE, Scenario, ScenarioOutcome};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    name: "a_disk_is_at_its_node_and_its_interrupts_go_there",
    each_change: EVERYWHERE,
    applies: |machine| matches!(machine.disk, Some(DiskPlace::AtNode(_))),
    run: at_its_node,
}];

/// The cpus of all interrupts: those allowed, as the kernel has them.
const ALLOWED: &str = "grep . /proc/irq/*/smp_affinity_list";

fn at_its_node(guest: &mut RigGuest) -> ScenarioOutcome {
    let Some(DiskPlace::AtNode(node)) = guest.machine().disk else { return Err("no disk at a node".into()) };
    let near = guest.machine().expected_machine().nodes[node as usize].cpus.clone();
    let before = text(guest, ALLOWED)?;
    let disk = disk(guest)?;
    let place = disk["device"]["address"].as_str().unwrap_or_default().to_owned();
    same("its node", disk["device"]["node"].as_u64(), Some(u64::from(node)))?;
    same("the cpus near it", list_of(&disk["near"]["cpus"]), near.clone())?;
    same("nothing is doubtful", disk["near"]["doubt"].clone(), Value::Null)?;
    let placed = text(guest, &format!("corewise place 'near(pci:{place})' --as list 2>/dev/null"))?;
    same("near, by its place on the bus", placed.trim(), &near)?;
    let ran =
        text(guest, &format!("corewise run --on 'near(pci:{place})' -- grep Cpus_allowed_list /proc/self/status"))?;
    same("a command runs near it", ran.split_whitespace().last(), Some(near.as_str()))?;

    // What would be tried, without trying it: times in an emulator mean nothing.
    let tried = format!(
        "sleep 600 & corewise try --near pci:{place} --pid $! --metric run-delay --dry-run --json 2>/dev/null; code=$?; kill $!; exit $code"
    );
    let planned = json(guest, &tried)?;
    let arm = |name: String| {
        let found = entries(&planned["placements"]).find(|placement| placement["name"] == name);
        found.map(|placement| list_of(&placement["cpus"]))
    };
    let others: cpus::CpuNumbers = &cpus::parse(&guest.machine().expected_machine().online) - &cpus::parse(&near);
    same("near is tried", arm(format!("near(pci:{place})")), Some(near.clone()))?;
    same("not near is tried", arm(format!("!near(pci:{place})")), Some(cpus::format_list(&others)))?;
    let of_roles =
        format!("corewise try --start 'server=sleep 600' --near pci:{place} --dry-run --json -- true 2>/dev/null");
    let planned = json(guest, &of_roles)?;
    for (at, expected) in [("near", near.clone()), ("!near", cpus::format_list(&others))] {
        let name = format!("server={at}(pci:{place})");
        let arm = entries(&planned["placements"]).find(|placement| placement["name"] == name);
        let place = arm.and_then(|arm| entries(&arm["roles"]).next()).map(|role| list_of(&role["cpus"]));
        same(&format!("{name} in {planned}"), place, Some(expected))?;
    }

    if guest.run("[ -e /lib/modules/virtio_blk.ko ]")?.code != 0 {
        return Ok(Completion::ignored_with("there are no modules of this kernel: `cargo xtask setup`"));
    }
    text(guest, &format!("for name in {MODULES}; do insmod /lib/modules/$name.ko; done"))?;
    guest.wait_for("the disk", "[ -e /sys/block/vda ]")?;
    same("its name", self::disk(guest)?["device"]["names"][0].as_str(), Some("vda"))?;
    let document = json(guest, "corewise irq --near vda --json || [ $? = 3 ]")?;
    let moves = || entries(&document["away"]["moves"]);
    same(&format!("some are moved: {document}"), moves().count() > 0, true)?;
    same("to its node alone", moves().all(|step| list_of(&step["planned"]["to"]) == near), true)?;
    for step in moves().filter(|step| step["fate"] != "refused") {
        let number = &step["planned"]["number"];
        let now = text(guest, &format!("cat /proc/irq/{number}/smp_affinity_list"))?;
        same(&format!("interrupt {number}"), now.trim(), &near)?;
    }
    json(guest, "corewise undo --json")?;
    text(guest, &format!("for name in {MODULES}; do echo $name; done | tac | while read name; do rmmod $name; done"))?;
    same("the interrupts at the end", text(guest, ALLOWED)?, before)?;
    Ok(Completion::Completed)
}

/// The only disk at a node; the machine's own controller of disks is at none that the firmware would name.
fn disk(guest: &mut RigGuest) -> Result<Value, libtest_mimic::Failed> {
    let listed = json(guest, "corewise topology --devices --json")?;
    let mut disks = entries(&listed["devices"])
        .filter(|placed| placed["device"]["kind"] == "storage" && placed["device"]["node"].is_number());
    match (disks.next(), disks.next()) {
        (Some(disk), None) => Ok(disk.clone()),
        _ => Err(format!("not one disk in {listed}").into()),
    }
}
