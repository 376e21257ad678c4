//! The cpus near a device by the system's reports, with the reason and any doubt.
//!
//! "Near" is a report, not a measurement: `try` proves whether it helps a program.

mod find;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

use crate::facts::PciDevice;
use crate::machine::{ABOUT_AS_MUCH, NumaNode};
use crate::{CpuSet, Machine};
pub use find::{UnknownDevice, find_device};

/// The cpus near a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct NearCpus {
    /// Online cpus of the device's node, or closer ones; all online cpus if nothing is known.
    pub cpus: CpuSet,
    /// Reason for these cpus, in words that follow a colon: "node 1, as the system reports".
    pub reason: String,
    /// Objection, as a sentence; absent if there is none.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub doubt: Option<String>,
    /// True if the device's location is reported. If not, all cpus are equally near.
    pub is_known: bool,
}

impl NearCpus {
    fn without_doubt(cpus: CpuSet, reason: String) -> Self {
        Self { cpus, reason, doubt: None, is_known: true }
    }

    fn with_doubt(self, doubt: String) -> Self {
        Self { doubt: Some(doubt), ..self }
    }
}

/// Returns the cpus near a device of a machine.
///
/// The device's node decides if it has cpus; its local cpus decide if they are some of that node's. For a node without cpus, the nearest
/// node with cpus is used, by distance. Without a node the local cpus decide, unless they are all of the cpus.
pub fn cpus_near(device: &PciDevice, machine: &Machine) -> NearCpus {
    let local = device.local_cpus.as_ref().map(|cpus| cpus.intersection(&machine.online));
    let local = local.filter(|cpus| !cpus.is_empty());
    let Some(number) = device.node else { return without_node(local, machine) };
    match machine.nodes.iter().find(|node| node.number == number) {
        Some(node) if !node.cpus.is_empty() => of_node(node, local),
        Some(node) => cpus_nearest(node, machine).unwrap_or_else(|| {
            let doubt = format!("node {number} has no cpus, and no distances are reported");
            without_node(local, machine).with_doubt(doubt)
        }),
        None => {
            let doubt = format!("node {number} is reported, which this machine does not have");
            without_node(local, machine).with_doubt(doubt)
        }
    }
}

fn of_node(node: &NumaNode, local: Option<CpuSet>) -> NearCpus {
    let number = node.number;
    let whole = || NearCpus::without_doubt(node.cpus.clone(), format!("node {number}, as the system reports"));
    match local {
        Some(local) if local == node.cpus => whole(),
        Some(local) if local.is_subset(&node.cpus) => {
            NearCpus::without_doubt(local, format!("local cpus, a part of node {number}, as the system reports"))
        }
        Some(local) => whole().with_doubt(format!(
            "the reports contradict each other: node {number} (cpus {}), but local cpus {local}; the node is used",
            node.cpus
        )),
        None => whole(),
    }
}

/// Returns the cpus nearest to a node without cpus: by measured memory cost, otherwise by distance. `None` if neither is known.
fn cpus_nearest(node: &NumaNode, machine: &Machine) -> Option<NearCpus> {
    if let Some(near) = nearest_as_measured(node, machine) {
        return Some(near);
    }
    let with_cpus = || machine.nodes.iter().zip(&node.distances).filter(|(other, _)| !other.cpus.is_empty());
    let least = with_cpus().map(|(_, distance)| *distance).min()?;
    let nodes = || with_cpus().filter(|(_, distance)| **distance == least).map(|(other, _)| other);
    let cpus = nodes().fold(CpuSet::new(), |all, other| all.union(&other.cpus));
    let numbers: CpuSet = nodes().map(|other| other.number).collect();
    let noun = if numbers.len() == 1 { "node" } else { "nodes" };
    let reason = format!("node {} has no cpus; {noun} {numbers} is nearest, at distance {least}", node.number);
    Some(NearCpus::without_doubt(
        cpus,
        if numbers.len() == 1 { reason } else { reason.replace(" is nearest", " are nearest") },
    ))
}

/// Returns the cpus with the cheapest access to a node's memory, or `None` without a map of memory.
fn nearest_as_measured(node: &NumaNode, machine: &Machine) -> Option<NearCpus> {
    let costs = || machine.memory_costs.iter().filter(|cost| cost.node == node.number);
    let least = costs().map(|cost| cost.ns).min()?;
    let is_cheap = |ns: u64| ns as f64 <= ABOUT_AS_MUCH * least as f64;
    let cpus = costs().filter(|cost| is_cheap(cost.ns)).fold(CpuSet::new(), |all, cost| all.union(&cost.cpus));
    let cpus = cpus.intersection(&machine.online);
    let reason = format!("node {} has no cpus; these pay least for its memory, {least} ns as measured", node.number);
    (!cpus.is_empty()).then(|| NearCpus::without_doubt(cpus, reason))
}

fn without_node(local: Option<CpuSet>, machine: &Machine) -> NearCpus {
    if let Some(local) = local.filter(|local| *local != machine.online) {
        return NearCpus::without_doubt(local, "local cpus, as the system reports, without a node".to_owned());
    }
    let all = machine.online.clone();
    if machine.nodes.iter().filter(|node| !node.cpus.is_empty()).count() < 2 {
        return NearCpus::without_doubt(all, "all cpus are of one node".to_owned());
    }
    let doubt =
        "no node is reported for it (numa_node is -1 or absent), and all cpus as local; its firmware may not say";
    let unknown = NearCpus { cpus: all, reason: "where it is, is not known".to_owned(), doubt: None, is_known: false };
    unknown.with_doubt(doubt.to_owned())
}
