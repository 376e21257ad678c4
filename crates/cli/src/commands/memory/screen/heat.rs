//! The costs of each node to each group of cpus, in rows, and as heat maps of latency and of bandwidth with all cores.

use corewise_machine::CpuSet;
use corewise_model::memory::conclude::{MemoryConclusions, MemoryNodeCost, StreamRate};
use corewise_model::memory::{MemoryMap, StreamOperation};

use super::streams::StreamScope;
use crate::draw::heat::{HeatMap, HeatSide};
use crate::draw::text::StyledLine;

/// Maximum width of a label in columns.
const LONGEST_LABEL: usize = 20;

/// A row of costs: cpus with equal costs, and their cost for each node.
pub struct NodeCostsRow<'a> {
    /// The cpus.
    pub cpus: CpuSet,
    /// One cost for each node, in the order of the nodes.
    pub costs: Vec<&'a MemoryNodeCost>,
}

/// Returns a row for each group of cpus.
pub fn group_rows(conclusions: &MemoryConclusions) -> Vec<NodeCostsRow<'_>> {
    let groups = conclusions.costs.chunk_by(|one, other| one.initiator == other.initiator);
    groups.map(|costs| NodeCostsRow { cpus: costs[0].initiator.clone(), costs: costs.iter().collect() }).collect()
}

/// Returns the latency of a load from each node; `None` if there is one node, or no latency is known.
pub fn latency_map(rows: &[NodeCostsRow<'_>]) -> Option<HeatMap> {
    heat_map(rows, "ns", |cost| Some((cost.huge_ns?.median, cost.predicted)))
}

/// Returns the bandwidth with which all cores of each group together read from each node.
pub fn bandwidth_map(map: &MemoryMap, rows: &[NodeCostsRow<'_>]) -> Option<HeatMap> {
    let of_group = |cost: &MemoryNodeCost, stream: &StreamRate| {
        stream.operation == StreamOperation::Read
            && matches!(StreamScope::from_stream(map, cost, stream), StreamScope::Core | StreamScope::Cache)
    };
    heat_map(rows, "GB/s", |cost| {
        let streams = cost.streams.iter().filter(|stream| of_group(cost, stream));
        Some((streams.max_by_key(|stream| stream.cpus.len())?.gb_s.median, false))
    })
}

/// Sorts the rows by the node of their cpus, with a column for each node with memory. `value` returns a cost and
/// whether it is predicted.
fn heat_map(
    rows: &[NodeCostsRow<'_>],
    unit: &str,
    value: impl Fn(&MemoryNodeCost) -> Option<(f64, bool)>,
) -> Option<HeatMap> {
    let own_node = |row: &NodeCostsRow<'_>| row.costs.first().and_then(|cost| cost.own_node);
    let mut rows: Vec<&NodeCostsRow<'_>> = rows.iter().collect();
    rows.sort_by_key(|row| own_node(row).map_or((1, 0), |node| (0, node)));
    let nodes: Vec<String> = rows.first()?.costs.iter().map(|cost| cost.node.to_string()).collect();
    let costs = rows.iter().flat_map(|row| &row.costs);
    let values: Vec<(f64, bool)> = costs.map(|cost| value(cost).unwrap_or((f64::NAN, false))).collect();
    if nodes.len() < 2 || values.iter().all(|(value, _)| value.is_nan()) {
        return None;
    }
    let label =
        |row: &&NodeCostsRow<'_>| StyledLine::new().plain(row.cpus.to_string()).cut_to(LONGEST_LABEL).to_plain();
    let groups: Vec<_> = rows.chunk_by(|one, other| own_node(one) == own_node(other)).collect();
    let name =
        |group: &&[&NodeCostsRow<'_>]| own_node(group[0]).map_or_else(String::new, |node| format!("node {node}"));
    let mut end = 0;
    let range = |group: &&[&NodeCostsRow<'_>]| {
        let start = end;
        end += group.len();
        start..end
    };
    let is_predicted = values.iter().any(|(_, predicted)| *predicted);
    Some(HeatMap {
        rows: HeatSide {
            title: "cpus".to_owned(),
            labels: rows.iter().map(label).collect(),
            groups: groups.iter().map(range).collect(),
            names: groups.iter().map(name).collect(),
        },
        columns: HeatSide::from_labels("node", nodes),
        costs: values.iter().map(|(value, _)| *value).collect(),
        predicted: if is_predicted { values.iter().map(|(_, predicted)| *predicted).collect() } else { Vec::new() },
        is_of_pairs: false,
        unit: unit.to_owned(),
        unknown: None,
        ends: None,
    })
}
