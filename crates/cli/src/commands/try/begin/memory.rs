//! Placements with memory policies: crossed only as far as what they come to differs.

use corewise_lab::placing::memory_to_try;
use corewise_machine::placement::memory::{MemoryPolicy, Mode, comes_to, policies_to_try};
use corewise_machine::{CpuSet, Machine};
use corewise_model::trial::{Arm, ArmMemory, MEMORY_SIGN};
use corewise_sys::memory_policy;

use crate::app::failure::Failure;
use crate::draw::printable::named;

/// What a policy comes to: how nodes are chosen, and among which.
pub type Effect = (Mode, CpuSet);

/// The operating system's choice, by the word that is typed for it.
const SYSTEM: &str = "os";

/// A placement, or the operating system's choice, with a memory policy.
pub fn arm(placement: Option<&Arm>, policy: &MemoryPolicy, reason: &str, machine: &Machine) -> Result<Arm, Failure> {
    let memory = memory_to_try(policy, machine)?;
    let name = placement.map_or(SYSTEM, |arm| &arm.name);
    let cpus = placement.and_then(|arm| arm.cpus.clone());
    Ok(Arm { memory: Some(memory), ..Arm::new(format!("{name} {MEMORY_SIGN} {policy}"), cpus, reason) })
}

/// The operating system's choice and each placement with each policy that was named; those that come to what is tried without one are left out
/// later.
pub fn crossed(placements: &[Arm], policies: &[MemoryPolicy], machine: &Machine) -> Result<Vec<Arm>, Failure> {
    if let Some(arm) = placements.iter().find(|arm| !arm.roles.is_empty() && !policies.is_empty()) {
        let what = format!("--memory has no role, and --on '{}' places several", named(&arm.name));
        return Err(Failure::usage(what).next("Give each role its policy: --on 'server=node:0@bind:0, load=1'"));
    }
    let plain = || placements.iter().filter(|arm| arm.memory.is_none() && arm.cpus.is_some());
    let with = |policy| std::iter::once(None).chain(plain().map(Some)).map(move |placement| (placement, policy));
    let reason = "named on the command line";
    policies.iter().flat_map(with).map(|(placement, policy)| arm(placement, policy, reason, machine)).collect()
}

/// The policies that are worth trying where there are several memory nodes: each with the operating system's choice, and with the largest
/// placement within one node. Other placements on several nodes differ from the first in their cpus alone, which is tried without policies.
pub fn planned(placements: &[Arm], machine: &Machine) -> Vec<Arm> {
    let is_in_one_node =
        |arm: &&Arm| arm.cpus.as_ref().is_some_and(|cpus| machine.nodes.iter().any(|node| cpus.is_subset(&node.cpus)));
    let cpus = |arm: &&Arm| arm.cpus.as_ref().map_or(0, CpuSet::len);
    let largest = placements.iter().rev().filter(is_in_one_node).max_by_key(cpus);
    let policies = policies_to_try(machine, weights(machine).as_deref());
    let with = |placement| policies.iter().map(move |found| (placement, found));
    let pairs = with(None).chain(largest.map(Some).into_iter().flat_map(with));
    // What the kernel refuses is not planned.
    pairs.filter_map(|(placement, found)| arm(placement, &found.policy, found.reason, machine).ok()).collect()
}

/// What a memory policy, or none, comes to for a program on these cpus, or on all.
pub fn effect(cpus: Option<&CpuSet>, memory: Option<&ArmMemory>, machine: &Machine) -> Effect {
    let cpus = cpus.unwrap_or(&machine.allowed);
    let (mode, nodes) = match memory {
        Some(memory) => (memory.mode(), memory.nodes.clone()),
        None => (None, CpuSet::new()),
    };
    let weights = memory_policy::weights(&nodes.iter().collect::<Vec<_>>());
    comes_to(machine, cpus, mode, &nodes, weights.as_deref())
}

/// The kernel's weights of the nodes that may be used.
fn weights(machine: &Machine) -> Option<Vec<u32>> {
    let nodes = machine.nodes.iter().filter(|node| machine.has_memory(node)).map(|node| node.number);
    memory_policy::weights(&nodes.collect::<Vec<_>>())
}
