//! How far each visit of each node is from its peers: machines of its model, in its rack if that has enough.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::visit_policy::VisitPolicy;
use super::{Fleet, FleetNode, FleetQuantity, NodeConfiguration, NodeVisit};
use corewise_statistics::order::median;
use corewise_statistics::peers::LEAST_OF_MODEL;

/// Minimum number of nodes of a rack for a level of its own; nodes of smaller racks are compared with all of their model.
pub const LEAST_OF_RACK: usize = 5;

/// A model of machine, with its nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineModel {
    /// Short name of processor and topology.
    pub fingerprint: String,
    /// The processor's name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Places of its nodes in the fleet, in rising order. Among them are nodes of the same processor with another topology (SMT off, cpus
    /// offline), if these are too few to be compared with each other.
    pub nodes: Vec<usize>,
}

impl MachineModel {
    /// Returns true if it has enough nodes to compare them.
    pub const fn is_comparable(&self) -> bool {
        self.nodes.len() >= LEAST_OF_MODEL
    }
}

/// Deviations of all visits of a fleet.
pub(super) struct FleetDeviations {
    /// The models, the one with the most nodes first.
    pub models: Vec<MachineModel>,
    /// The place in `models` of each node's model; `None` without visits that count.
    pub model_of: Vec<Option<usize>>,
    /// Each quantity that some visit has.
    pub quantities: Vec<QuantityDeviations>,
    /// The number of additions of the visits that are compared; `None` without visits.
    pub additions: Option<u32>,
}

/// Deviations of one quantity.
pub(super) struct QuantityDeviations {
    pub quantity: FleetQuantity,
    /// For each node its visits, earliest first, on the scale of [`FleetQuantity::judge_value`]: below zero is worse than its peers. Empty
    /// if the node's model is not compared.
    pub nodes: Vec<Vec<f64>>,
}

impl FleetDeviations {
    pub fn new(fleet: &Fleet, policy: &VisitPolicy) -> Self {
        let additions = find_additions(fleet);
        let model_by_fingerprint = group_models(fleet, additions);
        let (models, model_of) = assign_nodes(fleet, additions, &model_by_fingerprint);
        let quantities = fleet.quantities.iter().enumerate().filter_map(|(column, quantity)| {
            let read = |visit: &NodeVisit| visit.values.get(column).copied().flatten();
            let nodes = fleet.nodes.iter().zip(&model_of).map(|(node, model)| {
                let is_compared = model.is_some_and(|model| models[model].is_comparable());
                let visits = counted_visits(fleet, node, additions).filter(|_| is_compared);
                visits.filter_map(|visit| quantity.judge_value(read(visit)?)).collect()
            });
            let mut nodes: Vec<Vec<f64>> = nodes.collect();
            centre_values(&mut nodes, fleet, &models, policy.first_visits);
            let is_measured = nodes.iter().any(|visits| !visits.is_empty());
            is_measured.then_some(QuantityDeviations { quantity: *quantity, nodes })
        });
        let quantities = quantities.collect();
        Self { models, model_of, quantities, additions }
    }
}

/// Returns the visits of a node that timed the compared amount of work.
pub(super) fn counted_visits<'a>(
    fleet: &'a Fleet,
    node: &'a FleetNode,
    additions: Option<u32>,
) -> impl DoubleEndedIterator<Item = &'a NodeVisit> {
    let is_counted = move |visit: &&NodeVisit| {
        fleet.configurations.get(visit.configuration).map(|configuration| configuration.additions) == additions
    };
    node.visits.iter().filter(is_counted)
}

/// Returns the configuration at a node's last visit that counts.
pub(super) fn last_configuration<'a>(
    fleet: &'a Fleet,
    node: &'a FleetNode,
    additions: Option<u32>,
) -> Option<&'a NodeConfiguration> {
    counted_visits(fleet, node, additions).next_back().map(|visit| &fleet.configurations[visit.configuration])
}

/// Returns the nodes of each configuration, by their last visit that counts.
pub(super) fn group_configurations(
    fleet: &Fleet,
    nodes: &[usize],
    additions: Option<u32>,
) -> BTreeMap<usize, Vec<usize>> {
    let mut groups = BTreeMap::<usize, Vec<usize>>::new();
    for place in nodes {
        let last = counted_visits(fleet, &fleet.nodes[*place], additions).next_back();
        if let Some(visit) = last {
            groups.entry(visit.configuration).or_default().push(*place);
        }
    }
    groups
}

/// Returns the amount of work that most visits timed.
fn find_additions(fleet: &Fleet) -> Option<u32> {
    let mut visits = BTreeMap::<u32, usize>::new();
    for visit in fleet.nodes.iter().flat_map(|node| &node.visits) {
        *visits.entry(fleet.configurations[visit.configuration].additions).or_default() += 1;
    }
    visits.into_iter().max_by_key(|(_, count)| *count).map(|(additions, _)| additions)
}

/// Returns the fingerprint of the model that each fingerprint is compared with: its own, or that of the most common machine with the same
/// processor if it has too few nodes.
fn group_models(fleet: &Fleet, additions: Option<u32>) -> BTreeMap<&str, &str> {
    let mut counts = BTreeMap::<&str, (usize, Option<&str>)>::new();
    for configuration in fleet.nodes.iter().filter_map(|node| last_configuration(fleet, node, additions)) {
        let entry = counts.entry(&configuration.fingerprint).or_insert((0, configuration.processor.as_deref()));
        entry.0 += 1;
    }
    let most_common = |processor: Option<&str>| {
        let same = counts.iter().filter(|(_, (_, other))| processor.is_some() && *other == processor);
        same.max_by_key(|(_, (count, _))| *count).filter(|(_, (count, _))| *count >= LEAST_OF_MODEL)
    };
    let entries = counts.iter().map(|(fingerprint, (count, processor))| match most_common(*processor) {
        Some((common, _)) if *count < LEAST_OF_MODEL => (*fingerprint, *common),
        _ => (*fingerprint, *fingerprint),
    });
    entries.collect()
}

fn assign_nodes(
    fleet: &Fleet,
    additions: Option<u32>,
    model_by_fingerprint: &BTreeMap<&str, &str>,
) -> (Vec<MachineModel>, Vec<Option<usize>>) {
    let mut models = BTreeMap::<&str, MachineModel>::new();
    for (place, node) in fleet.nodes.iter().enumerate() {
        let Some(configuration) = last_configuration(fleet, node, additions) else { continue };
        let fingerprint = model_by_fingerprint[configuration.fingerprint.as_str()];
        let new = || MachineModel {
            fingerprint: fingerprint.to_owned(),
            processor: configuration.processor.clone(),
            nodes: Vec::new(),
        };
        models.entry(fingerprint).or_insert_with(new).nodes.push(place);
    }
    let mut models: Vec<MachineModel> = models.into_values().collect();
    models.sort_by_key(|model| std::cmp::Reverse(model.nodes.len()));
    let mut model_of = vec![None; fleet.nodes.len()];
    for (number, model) in models.iter().enumerate() {
        model.nodes.iter().for_each(|node| model_of[*node] = Some(number));
    }
    (models, model_of)
}

/// Subtracts from each node the median of the first visits of its rack's nodes of its model, or of all nodes of its model.
fn centre_values(nodes: &mut [Vec<f64>], fleet: &Fleet, models: &[MachineModel], first_visits: usize) {
    for model in models.iter().filter(|model| model.is_comparable()) {
        let level = first_level(nodes, &model.nodes, first_visits);
        let mut racks = BTreeMap::<&str, Vec<usize>>::new();
        for place in &model.nodes {
            let rack = fleet.nodes[*place].rack.as_deref().unwrap_or_default();
            racks.entry(rack).or_default().push(*place);
        }
        for (rack, places) in racks {
            let measured = places.iter().filter(|place| !nodes[**place].is_empty()).count();
            let has_level = !rack.is_empty() && measured >= LEAST_OF_RACK;
            let level = if has_level { first_level(nodes, &places, first_visits) } else { level };
            for place in places {
                nodes[place].iter_mut().for_each(|value| *value -= level);
            }
        }
    }
}

/// Returns the median of the first visits of some nodes.
fn first_level(nodes: &[Vec<f64>], places: &[usize], first_visits: usize) -> f64 {
    let first = places.iter().flat_map(|place| nodes[*place].iter().take(first_visits).copied());
    median(&first.collect::<Vec<_>>())
}

/// Returns the median of some values, or `None` without any.
pub(super) fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| median(&values))
}
