//! The same fleet at two times: which nodes changed, beyond what all of them did.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deviations::{FleetDeviations, QuantityDeviations};
use super::outliers::{ListedEvidence, ProvenDeviation};
use super::outlook::ProofOutlook;
use super::visit_policy::VisitPolicy;
use super::{Fleet, FleetQuantity};
use corewise_statistics::order::median;

/// Maximum number of unproven nodes that are named in each direction.
const MOST_CLOSEST: usize = 3;

/// The differences between two fleets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetChanges {
    /// Number of nodes that were compared.
    pub compared: usize,
    /// Nodes that became worse than their peers did, the strongest evidence first. At most 5 % of them are there by chance.
    pub worse: Vec<NodeChange>,
    /// Nodes that became better than their peers did; at most 5 % of them are there by chance.
    pub better: Vec<NodeChange>,
    /// The nodes with the most evidence of a change, without a proof; at most three in each direction.
    pub closest: Vec<NodeChange>,
    /// Visits that a proof would need; absent if a node is proven to have changed, or none is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlook: Option<ProofOutlook>,
    /// Names of nodes that only the earlier fleet has visits of.
    pub gone: Vec<String>,
    /// Names of nodes that only the later fleet has visits of.
    pub new: Vec<String>,
}

/// The change of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeChange {
    /// Its name.
    pub node: String,
    /// The quantity that changed most surely.
    pub quantity: FleetQuantity,
    /// The change beyond that of its peers: a share of its value (0.05 is 5 % more), or a difference in the quantity's unit.
    pub change: f64,
    /// The smallest such change that the visits prove; absent if they prove none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Natural logarithm of its e-value.
    pub log_evidence: f64,
}

/// Compares the visits of two fleets node by node.
///
/// The n-th visit after is compared with the n-th visit before, so that no visit counts twice. If one side has more visits, its first take
/// part with the median of all that remain. The differences are centred and judged as visits of one fleet are.
pub fn compare_fleets(before: &Fleet, after: &Fleet) -> FleetChanges {
    let policy = VisitPolicy::default();
    let [earlier, mut changes] = [before, after].map(|fleet| FleetDeviations::new(fleet, &policy));
    let is_same_work = earlier.additions == changes.additions;
    let places: BTreeMap<&str, usize> =
        before.nodes.iter().enumerate().map(|(place, node)| (node.name.as_str(), place)).collect();
    let place_before = |place: usize| places.get(after.nodes[place].name.as_str()).copied();
    for values in &mut changes.quantities {
        let own = earlier.quantities.iter().find(|own| own.quantity == values.quantity && is_same_work);
        for (place, visits) in values.nodes.iter_mut().enumerate() {
            let own = own.and_then(|own| Some(&own.nodes[place_before(place)?]));
            *visits = own.map(|own| subtract_visits(own, visits)).unwrap_or_default();
        }
    }
    let compared = (0..after.nodes.len()).filter(|place| has_visits(&changes.quantities, *place)).count();
    let judge = |changes: &FleetDeviations, sign: f64| judge_changes(after, changes, sign, &policy);
    let worse = judge(&changes, 1.0);
    let turn = |values: &mut QuantityDeviations| values.nodes.iter_mut().flatten().for_each(|value| *value = -*value);
    changes.quantities.iter_mut().for_each(turn);
    let better = judge(&changes, -1.0);
    let mut closest = [worse.closest, better.closest].concat();
    closest.sort_by(|one, other| other.log_evidence.total_cmp(&one.log_evidence));
    let outlooks = worse.outlook.zip(better.outlook);
    FleetChanges {
        compared,
        worse: worse.proven,
        better: better.proven,
        closest,
        outlook: outlooks
            .map(|(worse, better)| if closest_visits(&better) < closest_visits(&worse) { better } else { worse }),
        gone: names_missing(before, after),
        new: names_missing(after, before),
    }
}

/// Changes in one direction.
struct JudgedChanges {
    proven: Vec<NodeChange>,
    closest: Vec<NodeChange>,
    outlook: Option<ProofOutlook>,
}

/// Judges which nodes changed for the worse. `sign` is -1 if better and worse were exchanged.
fn judge_changes(after: &Fleet, changes: &FleetDeviations, sign: f64, policy: &VisitPolicy) -> JudgedChanges {
    let evidence = ListedEvidence::of_slow(changes, policy);
    let describe = |nodes: &[usize]| -> Vec<NodeChange> {
        let describe = |proven: ProvenDeviation| NodeChange {
            node: after.nodes[proven.node].name.clone(),
            quantity: proven.quantity,
            change: proven.quantity.change_of(sign * proven.estimate),
            at_least: proven.at_least.map(|least| proven.quantity.change_of(sign * least)),
            log_evidence: evidence.nodes[proven.node].unwrap_or(0.0),
        };
        evidence.measure_deviations(nodes).into_iter().map(describe).collect()
    };
    let log = |node: &usize| evidence.nodes[*node].unwrap_or(f64::NEG_INFINITY);
    let mut open: Vec<usize> =
        (0..after.nodes.len()).filter(|node| log(node) > 0.0 && !evidence.is_listed(*node)).collect();
    open.sort_by(|one, other| log(other).total_cmp(&log(one)));
    open.truncate(4 * MOST_CLOSEST);
    let mut closest = describe(&open);
    closest.truncate(MOST_CLOSEST);
    let outlook = ProofOutlook::new(&after.nodes, changes, &evidence, policy);
    JudgedChanges { proven: describe(&evidence.listed), closest, outlook }
}

/// Returns the number of visits that the closest node lacks.
fn closest_visits(outlook: &ProofOutlook) -> usize {
    outlook.closest.as_ref().and_then(|closest| closest.more_visits).unwrap_or(usize::MAX)
}

fn has_visits(quantities: &[QuantityDeviations], node: usize) -> bool {
    quantities.iter().any(|values| !values.nodes[node].is_empty())
}

/// Returns the differences of pairs of visits: as many as the shorter side has, the last one of the medians of what remains.
fn subtract_visits(before: &[f64], after: &[f64]) -> Vec<f64> {
    let pairs = before.len().min(after.len());
    let value = |visits: &[f64], pair: usize| if pair + 1 == pairs { median(&visits[pair..]) } else { visits[pair] };
    (0..pairs).map(|pair| value(after, pair) - value(before, pair)).collect()
}

/// Returns the nodes with visits in one fleet that have none in another.
fn names_missing(fleet: &Fleet, other: &Fleet) -> Vec<String> {
    let visited = |fleet: &Fleet| -> Vec<String> {
        fleet.nodes.iter().filter(|node| !node.visits.is_empty()).map(|node| node.name.clone()).collect()
    };
    let known = visited(other);
    visited(fleet).into_iter().filter(|name| known.binary_search(name).is_err()).collect()
}
