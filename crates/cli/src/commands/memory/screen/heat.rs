//! What each group of cpus pays for each node, as heat maps: latency, and the bandwidth of all its cores.

use corewise_model::memory::conclude::{Cost, MemoryConclusions, Stream};
use corewise_model::memory::{MemoryMap, Operation};

use super::streams::Who;
use crate::draw::heat::{HeatMap, Side};
use crate::draw::text::Line;

/// A label has at most so many columns.
const LONGEST_LABEL: usize = 20;

/// The latency of a load from each node; nothing where there is one node, or no latency is known.
pub fn latency(conclusions: &MemoryConclusions) -> Option<HeatMap> {
    heat_map(conclusions, "ns", |cost| Some((cost.huge_ns?.median, cost.predicted)))
}

/// What all cores of each group together read from each node.
pub fn bandwidth(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<HeatMap> {
    let of_group = |cost: &&Cost, stream: &&Stream| {
        stream.operation == Operation::Read && matches!(Who::of(map, cost, stream), Who::Core | Who::Cache)
    };
    heat_map(conclusions, "GB/s", |cost| {
        let streams = cost.streams.iter().filter(|stream| of_group(&cost, stream));
        Some((streams.max_by_key(|stream| stream.cpus.len())?.gb_s.median, false))
    })
}

/// A row for each group of cpus, by the node that they are on, and a column for each node with memory; `value` is a cost, and whether it is
/// predicted.
fn heat_map(
    conclusions: &MemoryConclusions,
    unit: &str,
    value: impl Fn(&Cost) -> Option<(f64, bool)>,
) -> Option<HeatMap> {
    let mut nodes: Vec<u32> = conclusions.costs.iter().map(|cost| cost.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut rows: Vec<&Cost> = Vec::new();
    for cost in &conclusions.costs {
        if !rows.iter().any(|row| row.initiator == cost.initiator) {
            rows.push(cost);
        }
    }
    rows.sort_by_key(|row| row.own_node.map_or((1, 0), |node| (0, node)));
    let at = |row: &Cost, node: u32| {
        let cost = conclusions.costs.iter().find(|cost| cost.initiator == row.initiator && cost.node == node);
        cost.and_then(&value).unwrap_or((f64::NAN, false))
    };
    let values: Vec<(f64, bool)> =
        rows.iter().flat_map(|row| nodes.iter().map(|node| at(row, *node)).collect::<Vec<_>>()).collect();
    if nodes.len() < 2 || values.iter().all(|(value, _)| value.is_nan()) {
        return None;
    }
    let is_predicted = values.iter().any(|(_, predicted)| *predicted);
    let label = |row: &&Cost| Line::new().plain(row.initiator.to_string()).cut(LONGEST_LABEL).to_plain();
    let groups: Vec<_> = rows.chunk_by(|one, other| one.own_node == other.own_node).collect();
    let name = |group: &&[&Cost]| group[0].own_node.map_or_else(String::new, |node| format!("node {node}"));
    let mut end = 0;
    let mut range = |group: &&[&Cost]| {
        let start = end;
        end += group.len();
        start..end
    };
    Some(HeatMap {
        rows: Side {
            title: "cpus".to_owned(),
            labels: rows.iter().map(label).collect(),
            groups: groups.iter().map(&mut range).collect(),
            names: groups.iter().map(name).collect(),
        },
        columns: Side::plain("node", nodes.iter().map(u32::to_string).collect()),
        costs: values.iter().map(|(value, _)| *value).collect(),
        predicted: if is_predicted { values.iter().map(|(_, predicted)| *predicted).collect() } else { Vec::new() },
        is_of_pairs: false,
        unit: unit.to_owned(),
        ends: None,
    })
}
