//! How even the machines of one model are, and which racks are at another level.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deviations::{LEAST_OF_RACK, MachineModel, counted_visits, median_of};
use super::{Fleet, FleetQuantity};
use corewise_statistics::order::quantile;

/// A rack is named if its typical node differs from its model's by this share or more.
const LEAST_RACK_CHANGE: f64 = 0.02;

/// The nodes of one model of machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSummary {
    /// Short name of processor and topology.
    pub fingerprint: String,
    /// The processor's name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Number of its nodes with visits.
    pub nodes: usize,
    /// False if it has too few nodes to compare them.
    pub is_judged: bool,
    /// Each measured quantity.
    pub quantities: Vec<ModelLevel>,
    /// Racks whose typical node is slower or faster than the model's by 2 % or more. Nodes are compared within their rack, so a slow rack
    /// lists none of them.
    pub racks: Vec<RackLevel>,
}

/// One quantity over the nodes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelLevel {
    /// The quantity.
    pub quantity: FleetQuantity,
    /// The median over the nodes of the median of each node's visits, in the quantity's unit.
    pub typical: f64,
    /// The 5th percentile over the nodes.
    pub low: f64,
    /// The 95th percentile.
    pub high: f64,
}

/// The level of a rack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RackLevel {
    /// Its name.
    pub rack: String,
    /// Number of its nodes of this model.
    pub nodes: usize,
    /// Time of its typical node against the model's, minus 1: 0.03 is 3 % slower.
    pub change: f64,
}

/// Summarizes a model.
pub(super) fn summarize_model(fleet: &Fleet, model: &MachineModel, additions: Option<u32>) -> ModelSummary {
    let level = |(column, quantity): (usize, &FleetQuantity)| {
        let values: Vec<f64> =
            model.nodes.iter().filter_map(|node| node_level(fleet, *node, column, additions)).collect();
        let at = |share: f64| quantile(&values, share);
        let level = ModelLevel { quantity: *quantity, typical: at(0.5), low: at(0.05), high: at(0.95) };
        (!values.is_empty()).then_some(level)
    };
    ModelSummary {
        fingerprint: model.fingerprint.clone(),
        processor: model.processor.clone(),
        nodes: model.nodes.len(),
        is_judged: model.is_comparable(),
        quantities: fleet.quantities.iter().enumerate().filter_map(level).collect(),
        racks: find_odd_racks(fleet, model, additions),
    }
}

/// Returns the median of one quantity over a node's visits.
fn node_level(fleet: &Fleet, node: usize, column: usize, additions: Option<u32>) -> Option<f64> {
    let visits = counted_visits(fleet, &fleet.nodes[node], additions);
    median_of(visits.filter_map(|visit| visit.values.get(column).copied().flatten()))
}

fn find_odd_racks(fleet: &Fleet, model: &MachineModel, additions: Option<u32>) -> Vec<RackLevel> {
    let Some(column) = fleet.quantities.iter().position(|quantity| *quantity == FleetQuantity::Speed) else {
        return Vec::new();
    };
    let mut racks = BTreeMap::<&str, Vec<f64>>::new();
    for node in &model.nodes {
        if let (Some(rack), Some(level)) = (&fleet.nodes[*node].rack, node_level(fleet, *node, column, additions)) {
            racks.entry(rack).or_default().push(level);
        }
    }
    let Some(typical) = median_of(racks.values().flatten().copied()) else { return Vec::new() };
    let compare = |(rack, levels): (&str, Vec<f64>)| {
        let nodes = levels.len();
        let change = median_of(levels.into_iter())? / typical - 1.0;
        let is_odd = nodes >= LEAST_OF_RACK && change.abs() >= LEAST_RACK_CHANGE;
        is_odd.then(|| RackLevel { rack: rack.to_owned(), nodes, change })
    };
    let mut odd: Vec<RackLevel> = racks.into_iter().filter_map(compare).collect();
    odd.sort_by(|one, other| other.change.abs().total_cmp(&one.change.abs()));
    odd
}
