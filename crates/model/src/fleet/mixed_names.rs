//! Nodes whose visits are of several machines: one name was given to all of them.

use std::collections::BTreeSet;

use super::{Fleet, FleetNode, NodeConfiguration};
use crate::artifact::format_count;

/// Maximum number of nodes that are named.
const MOST_NAMED: usize = 3;

/// Returns a sentence for each node whose visits found different processors or numbers of cpus, and one for those beyond the first few.
pub(super) fn describe_mixed_names(fleet: &Fleet) -> Vec<String> {
    let mixed = fleet.nodes.iter().filter_map(|node| Some((node, list_machines(fleet, node)?)));
    let mut sentences: Vec<String> = mixed
        .map(|(node, machines)| {
            let machines = machines.into_iter().collect::<Vec<_>>().join(", and ");
            format!("The visits of {} are of different machines: {machines}. Give each a name of its own.", node.name)
        })
        .collect();
    let more = sentences.len().saturating_sub(MOST_NAMED);
    sentences.truncate(MOST_NAMED);
    if more > 0 {
        sentences.push(format!("{} have visits of different machines too.", format_count(more, "more node")));
    }
    sentences
}

/// Returns the machines that a node's visits found; `None` if they are one.
fn list_machines(fleet: &Fleet, node: &FleetNode) -> Option<BTreeSet<String>> {
    let places: BTreeSet<usize> = node.visits.iter().map(|visit| visit.configuration).collect();
    let machines: BTreeSet<String> =
        places.into_iter().map(|place| describe_machine(&fleet.configurations[place])).collect();
    (machines.len() > 1).then_some(machines)
}

fn describe_machine(configuration: &NodeConfiguration) -> String {
    let cpus = configuration.objects.get("cpu").copied().unwrap_or_default();
    let processor = configuration.processor.as_deref().unwrap_or(&configuration.fingerprint);
    format!("{processor} with {}", format_count(usize::try_from(cpus).unwrap_or(usize::MAX), "cpu"))
}
