//! What other tools see from inside: exactly the set that was asked for, for every expression that this machine has.

use std::process::Command;

use corewise_machine::CpuSet;
use corewise_sys::affinity;
use libtest_mimic::{Completion, Failed, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("taskset_sees_the_set_asked_for", taskset),
        trial("hwloc_bind_sees_the_set_asked_for", hwloc_bind),
        trial("numactl_sees_the_set_asked_for_and_its_nodes", numactl),
        trial("numactl_sees_the_memory_policy_asked_for", numactl_memory),
    ]
}

fn taskset() -> RunTestResult {
    if !is_installed("taskset") {
        return Ok(Completion::ignored_with("taskset is not installed (Debian's package util-linux)"));
    }
    each("taskset -pc", |words| {
        let said = said(&mut run(&[words, &["sh", "-c", "taskset -pc $$"]].concat()))?;
        Ok(CpuSet::parse_list(said.trim().rsplit(' ').next().unwrap_or_default())?)
    })
}

fn hwloc_bind() -> RunTestResult {
    if !is_installed("hwloc-bind") {
        return Ok(Completion::ignored_with("hwloc-bind is not installed (Debian's package hwloc)"));
    }
    each("hwloc-bind --get", |words| {
        let said = said(&mut run(&[words, &["hwloc-bind", "--get", "--taskset"]].concat()))?;
        Ok(CpuSet::parse_mask(&said)?)
    })
}

fn numactl() -> RunTestResult {
    if let Some(why) = without_numactl() {
        return Ok(Completion::ignored_with(why));
    }
    each("numactl --show", |words| {
        let shown = ShownPolicy::from(words)?;
        let cpus = shown.numbers("physcpubind:")?;
        // The nodes that the tool names for the set must be those the kernel says its cpus are on.
        let nodes = nodes().into_iter().filter(|(_, of)| !of.is_disjoint(&cpus)).map(|(node, _)| node).collect();
        same(shown.numbers("cpubind:")?, nodes, "cpubind: of numactl --show")?;
        Ok(cpus)
    })
}

fn numactl_memory() -> RunTestResult {
    if let Some(why) = without_numactl() {
        return Ok(Completion::ignored_with(why));
    }
    // A container may not have every node.
    let status = std::fs::read_to_string("/proc/self/status")?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:")).unwrap_or_default();
    let with_memory = list_in("/sys/devices/system/node/has_memory")?;
    let node = CpuSet::parse_list(allowed.trim())?.intersection(&with_memory).lowest().ok_or("no node has memory")?;
    for (memory, policy) in [
        (format!("bind:{node}"), "bind"),
        (format!("preferred:{node}"), "preferred"),
        (format!("interleave:{node}"), "interleave"),
    ] {
        let shown = ShownPolicy::from(&["--on", one_cpu(), "--memory", &memory])?;
        same(shown.field("policy:")?, policy, &memory)?;
        if policy == "bind" {
            same(shown.numbers("membind:")?, CpuSet::from_cpu(node), &memory)?;
        }
    }
    Ok(Completion::Completed)
}

/// Asks a tool about every expression, run in corewise's place and watched by it.
fn each(tool: &str, sees: impl Fn(&[&str]) -> std::result::Result<CpuSet, Failed>) -> RunTestResult {
    for (expression, expected) in asked_for()? {
        for way in WAYS {
            let seen = sees(&[way, &["--on", &expression, "--"]].concat())?;
            same(seen.to_string(), expected.to_string(), &format!("{tool} inside {way:?} --on '{expression}'"))?;
        }
    }
    Ok(Completion::Completed)
}

/// Expressions that this machine has, and the sets that they are: worked out from the mask and the kernel's files, not by
/// corewise. Only for a pattern that has a choice, the set is the one of `corewise place`.
fn asked_for() -> std::result::Result<Vec<(String, CpuSet)>, Failed> {
    let all = affinity::current_affinity()?;
    // Numbers may name isolated cpus; words leave them out.
    let free = all.difference(&list_in("/sys/devices/system/cpu/isolated")?);
    let firsts = first_siblings(&free)?;
    let mut asked = vec![
        (all.to_string(), all.clone()),
        (format!("0x{}", all.to_hexadecimal()), all.clone()),
        ("all".to_owned(), free.clone()),
        (format!("spread({}, core)", free.len()), free.clone()),
        (format!("pack({}, package)", free.len()), free.clone()),
        ("spread(1, core)".to_owned(), placed("spread(1, core)")?),
    ];
    if !firsts.is_empty() {
        asked.push(("core:all.cpu:0".to_owned(), firsts));
    }
    for cpu in all.iter().take(3).chain(all.highest()) {
        let alone = CpuSet::from_cpu(cpu);
        let others = free.difference(&alone);
        asked.push((cpu.to_string(), alone.clone()));
        asked.push((format!("0x{}", alone.to_hexadecimal()), alone.clone()));
        asked.push((format!("all - {cpu}"), others.clone()));
        asked.push((format!("!({cpu}) & all"), others));
        asked.push((format!("all + {cpu}"), free.union(&alone)));
        asked.push((format!("all & {cpu}"), free.intersection(&alone)));
    }
    asked.retain(|(_, cpus)| !cpus.is_empty());
    Ok(asked)
}

/// The set that `corewise place` shows.
fn placed(expression: &str) -> std::result::Result<CpuSet, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corewise"));
    Ok(CpuSet::parse_list(said(command.args(["place", expression, "--as", "list"]))?.trim())?)
}

/// Those cpus that are the first of their core.
fn first_siblings(cpus: &CpuSet) -> std::result::Result<CpuSet, Failed> {
    let mut firsts = CpuSet::new();
    for cpu in cpus.iter() {
        let siblings = list_in(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))?;
        if siblings.lowest().is_none_or(|first| first == cpu) {
            firsts.insert(cpu);
        }
    }
    Ok(firsts)
}

/// The list in a file of the kernel; empty where there is no such file.
fn list_in(path: &str) -> std::result::Result<CpuSet, Failed> {
    Ok(CpuSet::parse_list(std::fs::read_to_string(path).unwrap_or_default().trim())?)
}

/// The nodes and the cpus of each, as the kernel lists them.
fn nodes() -> Vec<(u32, CpuSet)> {
    let entries = std::fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let node = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let cpus = CpuSet::parse_list(&std::fs::read_to_string(entry.path().join("cpulist")).ok()?).ok()?;
        Some((number, cpus))
    };
    entries.filter_map(node).collect()
}

/// Why numactl cannot be asked; nothing where it can.
fn without_numactl() -> Option<&'static str> {
    if !is_installed("numactl") {
        return Some("numactl is not installed (Debian's package numactl)");
    }
    let shows = said(Command::new("numactl").arg("--show")).is_ok_and(|text| text.contains("physcpubind:"));
    (!shows).then_some("numactl finds no NUMA in this kernel")
}

/// What `numactl --show` says.
struct ShownPolicy(String);

impl ShownPolicy {
    fn from(words: &[&str]) -> std::result::Result<Self, Failed> {
        Ok(Self(said(&mut run(&[words, &["numactl", "--show"]].concat()))?))
    }

    /// What stands behind a name at the beginning of a line.
    fn field(&self, name: &str) -> std::result::Result<&str, Failed> {
        let value = self.0.lines().find_map(|line| line.strip_prefix(name));
        value.map(str::trim).ok_or_else(|| format!("no {name} in {}", self.0).into())
    }

    /// Numbers with blanks between them.
    fn numbers(&self, name: &str) -> std::result::Result<CpuSet, Failed> {
        let numbers: std::result::Result<CpuSet, _> =
            self.field(name)?.split_whitespace().map(str::parse::<u32>).collect();
        numbers.map_err(|error| format!("{name} of {}: {error}", self.0).into())
    }
}
