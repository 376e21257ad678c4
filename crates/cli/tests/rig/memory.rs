//! Scenarios: memory comes from the nodes that were asked for, as /proc/PID/numa_maps of a command that fills some shows, and as the buffers of
//! a map of memory are looked up.

use std::collections::{BTreeMap, BTreeSet};

use corewise_rig::{RigGuest, RigMachine};
use libtest_mimic::{Completion, Failed};
use serde_json::Value;

use crate::found::{as_user, entries, json, same, text};
use crate::placement::all_refused;
use crate::survey::in_time;
use crate::{EVERYWHERE, Scenario, ScenarioOutcome};

const HAS_NODES: fn(&RigMachine) -> bool = |machine| machine.nodes.len() > 1;
const HAS_MEMORY_ALONE: fn(&RigMachine) -> bool = |machine| machine.nodes.iter().any(|node| node.cpus.is_empty());
const HAS_EMPTY: fn(&RigMachine) -> bool = |machine| machine.nodes.iter().any(|node| node.size_mib == 0);

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "memory_comes_from_the_nodes_asked_for", each_change: EVERYWHERE, applies: HAS_NODES, run: nodes },
    Scenario {
        name: "nodes_without_memory_give_none",
        each_change: EVERYWHERE,
        applies: HAS_EMPTY,
        run: without_memory,
    },
    Scenario { name: "buffers_lie_on_their_nodes", each_change: EVERYWHERE, applies: HAS_NODES, run: buffers },
    Scenario { name: "a_full_node_is_a_gap", each_change: EVERYWHERE, applies: HAS_MEMORY_ALONE, run: full },
    Scenario {
        name: "a_group_of_one_node_measures_that",
        each_change: EVERYWHERE,
        applies: HAS_MEMORY_ALONE,
        run: few,
    },
];

/// Fills 24 MB, and prints where the kernel took them from: eleven large pages or more, so that by turns no node's share depends
/// on where the mapping begins.
const FILL: &str =
    r#"awk 'BEGIN { s = sprintf("%24000000s", "x"); while ((getline line < "/proc/self/numa_maps") > 0) print line }'"#;
/// A mapping of fewer pages is not what was filled.
const LEAST_PAGES: u64 = 512;

/// How many pages each node gave.
type NodePages = BTreeMap<u32, u64>;

fn nodes(guest: &mut RigGuest) -> ScenarioOutcome {
    let with: Vec<usize> = with_memory(guest.machine());
    let (alone, own): (Vec<usize>, Vec<usize>) =
        with.iter().partition(|node| guest.machine().nodes[**node].cpus.is_empty());
    let (near, far) = (own[0], own[own.len() - 1]);
    let of_memory_alone =
        |node: &usize| ["bind", "preferred"].map(|mode| (format!("--on node:{near} --memory {mode}:{node}"), *node));
    for (options, node) in alone.iter().flat_map(of_memory_alone).chain([
        (format!("--on node:{near}"), near),
        (format!("--on node:{far}"), far),
        (format!("--on node:{far} --memory local"), far),
        (format!("--on node:{near} --memory bind:{far}"), far),
        (format!("--on node:{far} --memory bind:{near}"), near),
        (format!("-v --on node:{near} --memory bind:{far}"), far),
        (format!("--on node:{near} --memory preferred:{far}"), far),
    ]) {
        let pages = pages(guest, &options)?;
        let others = pages.iter().filter(|(other, _)| **other != node as u32).count();
        same(&format!("{options}: pages of other nodes than {node} in {pages:?}"), others, 0)?;
    }
    for (nodes, memory) in [(with, "interleave:all".to_owned()), (vec![near, far], format!("interleave:{near},{far}"))]
    {
        let pages = pages(guest, &format!("--on node:{near} --memory {memory}"))?;
        let all: u64 = pages.values().sum();
        // In turn, large pages too: of eleven in four nodes the last gives two.
        let has_share =
            |node: &usize| pages.get(&(*node as u32)).is_some_and(|own| own * nodes.len() as u64 * 2 >= all);
        same(&format!("{memory}: {pages:?}"), nodes.iter().all(has_share), true)?;
    }
    Ok(Completion::Completed)
}

/// Where no cpu of a node has memory beside it, the nearest gives some; asked for by name, it is an error.
fn without_memory(guest: &mut RigGuest) -> ScenarioOutcome {
    let with = with_memory(guest.machine());
    let empty: Vec<usize> = (0..guest.machine().nodes.len()).filter(|node| !with.contains(node)).collect();
    for node in empty {
        for options in [format!("--on node:{node}"), format!("--on node:{node} --memory local")] {
            let pages = pages(guest, &options)?;
            same(&format!("{options}: {pages:?}"), pages.keys().all(|node| with.contains(&(*node as usize))), true)?;
        }
        let words = format!("node:{node} has no memory");
        let options =
            ["bind", "preferred", "interleave"].map(|mode| format!("--on node:{node} --memory {mode}:{node}"));
        all_refused(guest, &options.map(|options| (options, words.as_str(), 3)))?;
    }
    Ok(Completion::Completed)
}

/// A map of memory has a buffer on each node that has memory, by the kernel's own account, and none on others. What it finds under emulation is
/// not looked at.
fn buffers(guest: &mut RigGuest) -> ScenarioOutcome {
    let map = map(guest, "", "4MiB")?;
    let with: BTreeSet<u64> = with_memory(guest.machine()).into_iter().map(|node| node as u64).collect();
    same(&format!("the nodes that are measured, of {}", map["cells"]), measured(&map), with)?;
    same("buffers that are elsewhere or missing", about_buffers(&map), Vec::new())?;
    let visits = entries(&map["staircases"])
        .flat_map(|staircase| entries(&staircase["steps"]))
        .flat_map(|step| entries(&step["visits_ns"]));
    same("whether anything was visited", visits.count() > 0, true)?;
    Ok(Completion::Completed)
}

/// A node of memory alone that files have filled: it has no buffer, with the reason; the others have theirs, where they should be.
fn full(guest: &mut RigGuest) -> ScenarioOutcome {
    let machine = guest.machine();
    let Some(node) = (0..machine.nodes.len()).find(|node| machine.nodes[*node].cpus.is_empty()) else {
        return Err("no node of memory alone".into());
    };
    let others: BTreeSet<u64> =
        with_memory(machine).into_iter().filter(|other| *other != node).map(|other| other as u64).collect();
    // Nothing is written where the node has no page left: a binding does not let it come from others.
    let fill = format!(
        "mkdir /run/full && mount -t tmpfs -o mpol=bind:{node},size=100% full /run/full\n\
         free=$(sed -n 's/.*MemFree: *//p' /sys/devices/system/node/node{node}/meminfo | cut -d' ' -f1)\n\
         dd if=/dev/zero of=/run/full/file bs=1024 count=$((free - 8192)) 2>/dev/null"
    );
    text(guest, &fill)?;
    let map = map(guest, "", "4MiB")?;
    text(guest, "umount /run/full && rmdir /run/full")?;
    same("the nodes that are measured", measured(&map), others)?;
    let reason = "a quarter of its free memory holds no buffer of 4 MiB";
    same("what is missing", about_buffers(&map), vec![format!("the memory of node {node}: {reason}")])?;
    Ok(Completion::Completed)
}

/// In a control group that has one node and little memory the map is of that node, and its buffers are no larger than the group's limit allows.
fn few(guest: &mut RigGuest) -> ScenarioOutcome {
    let node = with_memory(guest.machine())[0];
    text(
        guest,
        &format!(
            "cd /sys/fs/cgroup && echo '+memory' >cgroup.subtree_control && mkdir few && echo {node} >few/cpuset.mems && \
             echo 64M >few/memory.max"
        ),
    )?;
    let map = map(guest, "echo $$ >/sys/fs/cgroup/few/cgroup.procs\n", "16MiB")?;
    guest.wait_for("the group to be empty", "rmdir /sys/fs/cgroup/few")?;
    text(guest, "echo '-memory' >/sys/fs/cgroup/cgroup.subtree_control")?;
    same("the nodes that are measured", measured(&map), BTreeSet::from([node as u64]))?;
    same("buffers that are elsewhere or missing", about_buffers(&map), Vec::new())?;
    let bytes = map["buffer_bytes"].as_u64().unwrap_or(0);
    same(&format!("whether buffers of {bytes} bytes fit into the group"), (1 << 20..=8 << 20).contains(&bytes), true)?;
    Ok(Completion::Completed)
}

/// What a map of memory observed; `before` stands before the command in the script.
fn map(guest: &mut RigGuest, before: &str, buffer: &str) -> Result<Value, Failed> {
    let command = in_time(&format!("corewise memory --json --no-store --seed 7 --buffer {buffer} --budget"), 5);
    Ok(json(guest, &format!("{before}{command}"))?["observed"].take())
}

/// The nodes that are measured: those of the map that have a buffer. How far the visits came is a matter of time.
fn measured(map: &Value) -> BTreeSet<u64> {
    let has_buffer = |node: &u64| {
        let missing = format!("the memory of node {node}");
        !entries(&map["gaps"]).any(|gap| gap["what"] == missing.as_str())
    };
    entries(&map["cells"]).filter_map(|cell| cell["node"].as_u64()).filter(has_buffer).collect()
}

/// The gaps about buffers that are missing, or not where they should be.
fn about_buffers(map: &Value) -> Vec<String> {
    let gap = |gap: &Value| format!("{}: {}", gap["what"].as_str().unwrap_or(""), gap["why"].as_str().unwrap_or(""));
    let is_of_buffers = |gap: &String| gap.starts_with("the memory of node") || gap.starts_with("where the pages");
    entries(&map["gaps"]).map(gap).filter(is_of_buffers).collect()
}

fn with_memory(machine: &RigMachine) -> Vec<usize> {
    (0..machine.nodes.len()).filter(|node| machine.nodes[*node].size_mib > 0).collect()
}

fn pages(guest: &mut RigGuest, options: &str) -> Result<NodePages, Failed> {
    // What -v says is not looked at here.
    let script = format!("corewise run {options} -- {FILL} 2>/tmp/told || cat /tmp/told >&2\nrm /tmp/told");
    let maps = text(guest, &as_user(&script))?;
    let mut pages = NodePages::new();
    for line in maps.lines() {
        let of_line: Vec<(u32, u64)> = line.split(' ').filter_map(node_of).collect();
        if line.contains(" anon=") && of_line.iter().map(|(_, count)| count).sum::<u64>() >= LEAST_PAGES {
            of_line.into_iter().for_each(|(node, count)| *pages.entry(node).or_default() += count);
        }
    }
    if pages.is_empty() { Err(format!("{options}: nothing was filled in\n{maps}").into()) } else { Ok(pages) }
}

/// "N1=512".
fn node_of(word: &str) -> Option<(u32, u64)> {
    let (node, count) = word.strip_prefix('N')?.split_once('=')?;
    Some((node.parse().ok()?, count.parse().ok()?))
}
