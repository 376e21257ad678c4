//! Scenarios: lscpu and hwloc find in a machine what corewise finds there, and others find a command where it was placed.

use std::collections::BTreeMap;

use corewise_rig::cpus::{self, CpuNumbers};
use corewise_rig::{CoreThreads, RigGuest};
use libtest_mimic::{Completion, Failed};

use crate::expressions::reachable;
use crate::found::{as_expected, as_user, has, machine, same, text};
use crate::{EVERYWHERE, Scenario, ScenarioOutcome, WITH_NODES};

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "lscpu_agrees", each_change: EVERYWHERE, applies: EVERYWHERE, run: lscpu },
    Scenario { name: "hwloc_agrees", each_change: EVERYWHERE, applies: EVERYWHERE, run: hwloc },
    Scenario {
        name: "others_find_the_command_where_it_was_placed",
        each_change: WITH_NODES,
        applies: EVERYWHERE,
        run: placed,
    },
];

fn lscpu(guest: &mut RigGuest) -> ScenarioOutcome {
    if !has(guest, "lscpu")? {
        return Ok(Completion::ignored_with("the host has no lscpu to compare with"));
    }
    let found = as_expected(&machine(guest, "")?);
    let table = text(guest, "lscpu --parse=CPU,CORE,SOCKET,NODE,CACHE")?;
    // There is a column for each kind of cache, from the first level to the last.
    let last_cache = |fields: &[&str]| fields.last().map(|&text| text.to_owned());
    let column = |at: usize| move |fields: &[&str]| Some(fields[at].to_owned()).filter(|text| !text.is_empty());
    // To lscpu, what the kernel calls siblings are a core: of a module it makes one.
    let is_module = guest.machine().threads == CoreThreads::Module;
    same("cores", if is_module { found.clusters } else { found.cores }, grouped(&table, column(1))?)?;
    same("packages", found.packages, grouped(&table, column(2))?)?;
    let nodes = found.nodes.into_iter().map(|node| node.cpus).filter(|cpus| !cpus.is_empty()).collect();
    same("nodes", in_order(nodes), in_order(grouped(&table, column(3))?))?;
    same("last-level caches", found.llcs, grouped(&table, last_cache)?)?;
    Ok(Completion::Completed)
}

/// The cpus of lscpu's table that have the same key, in order of their lowest cpu.
fn grouped(table: &str, key: impl Fn(&[&str]) -> Option<String>) -> Result<Vec<String>, Failed> {
    let mut groups: BTreeMap<Option<String>, CpuNumbers> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let cpu = fields[0].parse()?;
        groups.entry(key(&fields)).or_default().insert(cpu);
    }
    Ok(in_order(groups.values().map(cpus::format_list).collect()))
}

fn in_order(mut lists: Vec<String>) -> Vec<String> {
    lists.sort_by_key(|list| cpus::parse(list).first().copied());
    lists
}

fn hwloc(guest: &mut RigGuest) -> ScenarioOutcome {
    const PROGRAM: &str = "lstopo-no-graphics";
    if !has(guest, PROGRAM)? {
        return Ok(Completion::ignored_with("the host has no lstopo to compare with"));
    }
    let found = as_expected(&machine(guest, "")?);
    let xml = text(guest, &format!("{PROGRAM} --no-io --disallowed --of xml"))?;
    let sets = |name: &str| sets(&xml, name);
    same("packages", found.packages, sets("Package")?)?;
    same("last-level caches", found.llcs, sets("L3Cache")?)?;
    same("clusters", found.clusters, sets("L2Cache")?)?;
    same("cores", found.cores, sets("Core")?)?;
    same("cpus", found.online, cpus::format_list(&sets("PU")?.iter().flat_map(|list| cpus::parse(list)).collect()))?;
    // Of memory alone hwloc lists the cpus that are nearest to it.
    let alone = found.nodes.iter().filter(|node| node.cpus.is_empty()).count();
    let nodes = in_order(found.nodes.into_iter().map(|node| node.cpus).filter(|cpus| !cpus.is_empty()).collect());
    let of_hwloc = sets("NUMANode")?;
    same("how many nodes", of_hwloc.len(), nodes.len() + alone)?;
    let others: Vec<&String> = nodes.iter().filter(|cpus| !of_hwloc.contains(cpus)).collect();
    same("nodes that hwloc has with other cpus", others, Vec::new())?;
    Ok(Completion::Completed)
}

/// The cpus of hwloc's objects of a type, in order of their lowest cpu.
fn sets(xml: &str, name: &str) -> Result<Vec<String>, Failed> {
    // The type's definition is not needed to read it.
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(xml, options)?;
    let objects =
        document.descendants().filter(|node| node.has_tag_name("object") && node.attribute("type") == Some(name));
    let set = |node: roxmltree::Node<'_, '_>| {
        let mask = node.attribute("cpuset").ok_or_else(|| Failed::from(format!("a {name} without cpus")))?;
        cpus::of_mask(mask).map(|cpus| cpus::format_list(&cpus)).ok_or_else(|| format!("{mask} is no mask").into())
    };
    Ok(in_order(objects.map(set).collect::<Result<_, Failed>>()?))
}

/// A program that prints the cpus that it may use.
struct Witness {
    program: &'static str,
    command: &'static str,
    /// The cpus in what it prints.
    read: fn(&str) -> Option<CpuNumbers>,
}

const WITNESSES: [Witness; 3] = [
    // "pid 1's current affinity list: 0,2"
    Witness {
        program: "taskset",
        command: "taskset -pc $$",
        read: |told| cpus::parse_list(told.rsplit(": ").next()?.trim()),
    },
    Witness { program: "hwloc-bind", command: "hwloc-bind --get", read: |told| cpus::of_mask(told.trim()) },
    // "physcpubind: 0 2 "
    Witness {
        program: "numactl",
        command: "numactl --show",
        read: |told| {
            let line = told.lines().find_map(|line| line.strip_prefix("physcpubind:"))?;
            line.split_whitespace().map(|cpu| cpu.parse().ok()).collect()
        },
    },
];

fn placed(guest: &mut RigGuest) -> ScenarioOutcome {
    let all = reachable(guest.machine());
    let every_other: CpuNumbers = all.iter().step_by(2).copied().collect();
    let last: CpuNumbers = all.last().copied().into_iter().collect();
    let mut witnesses = Vec::new();
    for witness in WITNESSES {
        // Without nodes numactl has nothing to say.
        if has(guest, witness.program)? && !(witness.program == "numactl" && guest.machine().nodes.is_empty()) {
            witnesses.push(witness);
        }
    }
    if witnesses.is_empty() {
        return Ok(Completion::ignored_with("the host has neither taskset nor hwloc-bind nor numactl"));
    }
    for wanted in [every_other, last] {
        for Witness { program, command, read } in &witnesses {
            let told = text(
                guest,
                &as_user(&format!("corewise run --on {} -- sh -c '{command}'", cpus::format_list(&wanted))),
            )?;
            let found = read(&told).map(|cpus| cpus::format_list(&cpus));
            same(&format!("{program} says\n{told}"), found, Some(cpus::format_list(&wanted)))?;
        }
    }
    Ok(Completion::Completed)
}
