//! What scenarios share: running corewise in a machine, reading what it found, and comparing.

use std::collections::BTreeSet;
use std::fmt::Debug;

use corewise_rig::cpus;
use corewise_rig::{ExpectedMachine, ExpectedNode, RigGuest};
use libtest_mimic::Failed;
use serde_json::Value;

/// What a shell script writes to standard output; it has to succeed without a word on standard error.
pub fn text(guest: &mut RigGuest, script: &str) -> Result<String, Failed> {
    Ok(String::from_utf8(bytes(guest, script)?)?)
}

/// As [`text`], for what is no text.
pub fn bytes(guest: &mut RigGuest, script: &str) -> Result<Vec<u8>, Failed> {
    let outcome = guest.run(script)?;
    // Long commands tell now and then how far they have come.
    if outcome.code == 0 && outcome.stderr.lines().all(|line| line.contains(" % done, ")) {
        return Ok(outcome.stdout);
    }
    Err(format!("`{script}`: exit status {}\n{}{}", outcome.code, outcome.stdout_text(), outcome.stderr).into())
}

/// A script that runs another one as an ordinary user.
pub fn as_user(script: &str) -> String {
    format!("cat >/run/of-user <<'END OF SCRIPT'\n{script}\nEND OF SCRIPT\nsu user -c 'sh /run/of-user'")
}

/// The document that a shell script writes.
pub fn json(guest: &mut RigGuest, script: &str) -> Result<Value, Failed> {
    Ok(serde_json::from_str(&text(guest, script)?)?)
}

/// The machine as `corewise topology` finds it; `before` is what stands before the command, such as "taskset 3".
pub fn machine(guest: &mut RigGuest, before: &str) -> Result<Value, Failed> {
    Ok(json(guest, &format!("{before} corewise topology --json"))?["machine"].take())
}

/// Whether a program is in the machine.
pub fn has(guest: &mut RigGuest, program: &str) -> Result<bool, Failed> {
    Ok(guest.run(&format!("[ -x /usr/bin/{program} ]"))?.code == 0)
}

/// Fails, showing both, where two values differ.
pub fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}\n   found {found:?}\nexpected {expected:?}").into()) }
}

/// Fails, showing the facts that differ, where two machines do, as corewise prints them.
pub fn same_machine(found: &Value, expected: &Value) -> Result<(), Failed> {
    let names = |machine: &Value| machine.as_object().into_iter().flat_map(|facts| facts.keys()).cloned().collect();
    let all: BTreeSet<String> = [found, expected].into_iter().flat_map(names as fn(&Value) -> Vec<String>).collect();
    same("whether there are facts", all.is_empty(), false)?;
    all.iter().try_for_each(|name| same(&format!("{name} of the machine"), &found[name], &expected[name]))
}

/// A machine as corewise prints it, in the words of what is expected.
pub fn as_expected(machine: &Value) -> ExpectedMachine {
    let list = |name: &str| list_of(&machine[name]);
    let objects = |name: &str| entries(&machine[name]).map(|object| list_of(&object["cpus"])).collect();
    ExpectedMachine {
        present: list("present"),
        online: list("online"),
        allowed: list("allowed"),
        isolated: list("isolated"),
        nohz_full: list("nohz_full"),
        packages: objects("packages"),
        dies: objects("dies"),
        llcs: objects("llcs"),
        clusters: objects("clusters"),
        cores: objects("cores"),
        nodes: entries(&machine["nodes"]).map(node).collect(),
    }
}

fn node(node: &Value) -> ExpectedNode {
    let distances = entries(&node["distances"]).filter_map(Value::as_u64).map(|distance| distance as u32);
    ExpectedNode {
        cpus: list_of(&node["cpus"]),
        memory: node["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 0),
        distances: distances.collect(),
    }
}

/// The entries of a list; none where it is no list.
pub fn entries(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A list of cpus as the kernel writes it, which is how the rig writes them; where it is none, what it is instead.
pub fn list_of(value: &Value) -> String {
    let cpus = value.as_str().and_then(cpus::parse_list);
    cpus.map_or_else(|| value.to_string(), |cpus| cpus::format_list(&cpus))
}
