//! `corewise fleet` over real engines: Slurm with four nodes on this machine's loopback, and sshd there. Each test has daemons of its own,
//! which end with it.

#[path = "../support/mod.rs"]
mod support;

mod experiment;
mod other_means;
mod slurm;
mod slurm_cluster;
mod ssh;
mod ssh_daemon;

use std::process::Output;

use support::text;

/// A node as `fleet --json` shows it: its name, the number of its visits, and the kind and reason of its problem.
pub type ShownNode = (String, usize, Option<(String, String)>);

/// Returns the nodes that a command printed as JSON.
pub fn shown_nodes(output: &Output) -> Vec<ShownNode> {
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}\n{}", String::from_utf8_lossy(&output.stdout), text(&output.stderr));
    });
    let fleet = shown.get("observed").unwrap_or(&shown);
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let node = |node: &serde_json::Value| {
        let problem = node.get("problem").map(|problem| (word(&problem["kind"]), word(&problem["reason"])));
        (word(&node["name"]), node["visits"].as_array().unwrap().len(), problem)
    };
    fleet["nodes"].as_array().unwrap().iter().map(node).collect()
}

/// Returns the problem of a node.
pub fn problem_of(nodes: &[ShownNode], name: &str) -> (String, String) {
    let found = nodes.iter().find(|(node, ..)| node == name).and_then(|(.., problem)| problem.clone());
    found.unwrap_or_else(|| panic!("{name} has no problem: {nodes:?}"))
}

/// Returns the nodes without a problem, with the number of their visits.
pub fn healthy_nodes(nodes: &[ShownNode]) -> Vec<(&str, usize)> {
    let healthy = nodes.iter().filter(|(.., problem)| problem.is_none());
    healthy.map(|(name, visits, _)| (name.as_str(), *visits)).collect()
}

/// Prints why a test is skipped if one of these programs is missing.
pub fn is_missing(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let missing = programs.iter().find(|program| !folders.iter().any(|folder| folder.join(program).is_file()));
    if let Some(program) = missing {
        println!("skipped: {program} is not installed");
    }
    missing.is_some()
}
