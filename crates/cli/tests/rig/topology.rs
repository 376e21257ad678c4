//! Scenarios: a machine is found as it is described, and so from its recording elsewhere.

use std::process::Command;

use corewise_rig::RigGuest;
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::found::{as_expected, bytes, machine, same, same_machine, text};
use crate::{EVERYWHERE, Scenario, ScenarioOutcome};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "topology_is_as_described", each_change: EVERYWHERE, applies: EVERYWHERE, run: as_described },
    Scenario {
        name: "a_recording_shows_the_same_machine",
        each_change: EVERYWHERE,
        applies: EVERYWHERE,
        run: recorded,
    },
    Scenario {
        name: "nodes_without_memory_are_said_to_have_none",
        each_change: EVERYWHERE,
        applies: |machine| machine.nodes.iter().any(|node| node.size_mib == 0),
        run: without_memory,
    },
];

fn as_described(guest: &mut RigGuest) -> ScenarioOutcome {
    let described = guest.machine();
    let found = machine(guest, "")?;
    same("the machine", as_expected(&found), described.expected_machine())?;
    let processor = &found["processor"];
    same("its maker", processor["vendor"].as_str(), Some(described.processor.vendor))?;
    same("its family", processor["family"].as_u64(), Some(described.processor.family.into()))?;
    same("its model", processor["model"].as_u64(), Some(described.processor.model.into()))?;
    same("its name", processor["model_name"].as_str(), Some(described.processor.name))?;
    let system = &found["system"];
    same("what it runs on", (&system["hypervisor"], &system["emulated"]), (&"QEMU".into(), &true.into()))?;
    same("facts that are missing", &found["gaps"], &Value::Array(vec![]))?;
    Ok(Completion::Completed)
}

fn recorded(guest: &mut RigGuest) -> ScenarioOutcome {
    let there = machine(guest, "")?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("recording.tar");
    std::fs::write(&path, bytes(guest, "corewise record -o -")?)?;
    same_machine(&shown(&path)?, &there)?;
    Ok(Completion::Completed)
}

/// The machine of a recording, as the program shows it on this host.
pub fn shown(path: &std::path::Path) -> Result<Value, Failed> {
    let mut corewise = Command::new(env!("CARGO_BIN_EXE_corewise"));
    let output = corewise.args(["topology", "--json", "--root"]).arg(path).output()?;
    same("what is said", String::from_utf8_lossy(&output.stderr).as_ref(), "")?;
    let mut document: Value = serde_json::from_slice(&output.stdout)?;
    Ok(document["machine"].take())
}

fn without_memory(guest: &mut RigGuest) -> ScenarioOutcome {
    let without = guest.machine().nodes.iter().filter(|node| node.size_mib == 0).count();
    let screen = text(guest, "corewise topology --width 200")?;
    let lines = screen.lines().filter(|line| line.contains("node:") && line.contains("no memory"));
    same(&format!("how many nodes have none in\n{screen}"), lines.count(), without)?;
    Ok(Completion::Completed)
}
