//! Which nodes are visited again: first all, then those in question.

use super::deviations::FleetDeviations;
use super::outliers::{ListedEvidence, pair_spreads};
use super::peer_evidence::LEAST_OF_POOL;
use super::{Fleet, FleetNode};

/// Share of the nodes that are visited again at most, and the least logarithm of an e-value for that: nodes that may be slow, with the
/// strongest evidence first.
const MAYBE_SLOW: (f64, f64) = (0.15, -1.5);
/// The same for nodes that may be noisy.
const MAYBE_NOISY: (f64, f64) = (0.05, 0.0);

/// Limits of the visits to a fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitPolicy {
    /// Visits of every node before any is judged.
    pub first_visits: usize,
    /// Maximum number of visits of a node.
    pub most_visits: usize,
    /// Smallest difference of a node from its peers that matters: 0.02 is 2 %.
    pub margin: f64,
}

impl Default for VisitPolicy {
    fn default() -> Self {
        Self { first_visits: 2, most_visits: 16, margin: 0.02 }
    }
}

/// Returns the places of the nodes to visit next, once each, in rising order; empty if more visits would change nothing. Nodes that have a
/// problem are left out.
///
/// All nodes come first, [`VisitPolicy::first_visits`] times. Then those come again whose evidence may still grow to a proof: of a large
/// model single nodes, of a small model all of its nodes, since only visits of the same round are comparable there.
pub fn next_visits(fleet: &Fleet, policy: &VisitPolicy) -> Vec<usize> {
    let is_reachable = |node: &FleetNode| node.problem.is_none() && node.visits.len() < policy.most_visits;
    let is_new = |node: &FleetNode| is_reachable(node) && node.visits.len() < policy.first_visits;
    let select = |wanted: &dyn Fn(usize, &FleetNode) -> bool| -> Vec<usize> {
        fleet.nodes.iter().enumerate().filter(|(place, node)| wanted(*place, node)).map(|(place, _)| place).collect()
    };
    let first = select(&|_, node| is_new(node));
    if !first.is_empty() {
        return first;
    }
    let deviations = FleetDeviations::new(fleet, policy);
    let is_open = find_open_nodes(&deviations, policy);
    let is_open_model = |place: usize| {
        deviations.model_of[place].is_some_and(|model| {
            let nodes = &deviations.models[model].nodes;
            nodes.len() < LEAST_OF_POOL && nodes.iter().any(|node| is_open[*node])
        })
    };
    select(&|place, node| is_reachable(node) && (is_open[place] || is_open_model(place)))
}

/// Returns for each node whether its evidence may still grow to a proof.
fn find_open_nodes(deviations: &FleetDeviations, policy: &VisitPolicy) -> Vec<bool> {
    let slow = ListedEvidence::of_slow(deviations, policy);
    let spreads = pair_spreads(&deviations.quantities);
    let noisy = ListedEvidence::of_noisy(deviations, &spreads, policy);
    let mut is_open = vec![false; slow.nodes.len()];
    for (evidence, (share, least)) in [(&slow, MAYBE_SLOW), (&noisy, MAYBE_NOISY)] {
        let mut by_evidence: Vec<(f64, usize)> =
            evidence.nodes.iter().enumerate().filter_map(|(node, log)| Some(((*log)?, node))).collect();
        by_evidence.sort_by(|one, other| other.0.total_cmp(&one.0));
        by_evidence.truncate((by_evidence.len() as f64 * share).ceil() as usize);
        by_evidence.iter().filter(|(log, _)| *log > least).for_each(|(_, node)| is_open[*node] = true);
    }
    slow.listed.iter().chain(&noisy.listed).for_each(|node| is_open[*node] = false);
    is_open
}
