//! Changes between two memory maps of one machine.

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MemoryMap;
use super::conclude::{MemoryConclusions, MemoryNodeCost, conclude_memory};
use super::estimate::VisitEstimate;
use crate::finding::FindingEffect;

/// Smallest ratio that counts as a change.
const MARGIN: f64 = 1.05;

/// A number in both maps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryChange {
    /// Name of the number: "latency of node 1", "read of node 0 by one core".
    pub what: String,
    /// The cpus with this cost.
    pub cpus: CpuSet,
    /// Its unit: "ns", "GB/s".
    pub unit: String,
    /// Value in the earlier map.
    pub before: VisitEstimate,
    /// Value in the later map.
    pub after: VisitEstimate,
    /// Ratio of the later to the earlier value.
    pub effect: FindingEffect,
    /// True if the interval of the ratio lies completely beyond 5 %.
    pub is_change: bool,
}

/// Compares every number that both maps have.
pub fn compare_memory_maps(before: &MemoryMap, after: &MemoryMap) -> Vec<MemoryChange> {
    let (earlier, later) = (conclude_memory(before), conclude_memory(after));
    let same = |cost: &MemoryNodeCost| {
        later.costs.iter().find(|other| other.initiator == cost.initiator && other.node == cost.node).cloned()
    };
    let mut changes = Vec::new();
    for (cost, other) in earlier.costs.iter().filter_map(|cost| Some((cost, same(cost)?))) {
        let node = cost.node;
        let mut add =
            |what: String, cpus: &CpuSet, unit: &str, one: Option<VisitEstimate>, two: Option<VisitEstimate>| {
                changes.extend(one.zip(two).map(|(before, after)| number_change(what, cpus, unit, before, after)));
            };
        if !cost.predicted && !other.predicted {
            add(format!("latency of node {node}"), &cost.initiator, "ns", cost.huge_ns, other.huge_ns);
        }
        add(format!("latency of node {node}, small pages"), &cost.initiator, "ns", cost.small_ns, other.small_ns);
        for stream in &cost.streams {
            let now = other.find_stream(stream.operation, |cpus| *cpus == stream.cpus).map(|stream| stream.gb_s);
            add(
                format!("{} of node {node}", stream.operation.operation_name()),
                &stream.cpus,
                "GB/s",
                Some(stream.gb_s),
                now,
            );
        }
    }
    changes.extend(compare_levels(&earlier, &later));
    changes
}

/// Compares levels that both have at the same place.
fn compare_levels(earlier: &MemoryConclusions, later: &MemoryConclusions) -> Vec<MemoryChange> {
    let mut changes = Vec::new();
    for before in &earlier.levels {
        let Some(after) = later.levels.iter().find(|after| after.cpu == before.cpu) else { continue };
        let both = before.levels.iter().zip(&after.levels).enumerate();
        changes.extend(both.map(|(place, (one, two))| {
            number_change(format!("level {}", place + 1), &CpuSet::from_cpu(before.cpu), "ns", one.ns, two.ns)
        }));
    }
    changes
}

fn number_change(what: String, cpus: &CpuSet, unit: &str, before: VisitEstimate, after: VisitEstimate) -> MemoryChange {
    let effect = after.ratio_against(&before, &what, "the earlier map");
    let is_change = effect.low > MARGIN || effect.high < 1.0 / MARGIN;
    MemoryChange { what, cpus: cpus.clone(), unit: unit.to_owned(), before, after, effect, is_change }
}
