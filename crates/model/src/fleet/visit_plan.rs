//! Which nodes are visited again: first all, then those in question.

use super::deviations::FleetDeviations;
use super::outliers::ListedEvidence;
use super::visit_policy::VisitPolicy;
use super::{Fleet, FleetNode};
use corewise_statistics::peers::LEAST_OF_POOL;

/// Share of the nodes that are visited again at most, and the least logarithm of an e-value for that: nodes that may be slow, with the
/// strongest evidence first.
const MAYBE_SLOW: (f64, f64) = (0.15, -1.5);
/// The same for nodes that may be noisy.
const MAYBE_NOISY: (f64, f64) = (0.07, -0.3);

/// Returns the places of the nodes to visit next, once each, in rising order; empty if more visits would change nothing. Nodes that have a
/// problem are left out.
///
/// All nodes come first, [`VisitPolicy::visits_of_each`] times. Then nodes come again if their evidence may still grow to a proof: of a large
/// model single nodes, of a small model all of its nodes, since only visits of the same round are comparable there.
pub fn next_visits(fleet: &Fleet, policy: &VisitPolicy) -> Vec<usize> {
    let is_reachable = |node: &FleetNode| node.problem.is_none() && node.visits.len() < policy.most_visits;
    let is_new =
        |node: &FleetNode| is_reachable(node) && node.visits.len() < policy.first_visits.max(policy.visits_of_each);
    let select = |wanted: &dyn Fn(usize, &FleetNode) -> bool| -> Vec<usize> {
        fleet.nodes.iter().enumerate().filter(|(place, node)| wanted(*place, node)).map(|(place, _)| place).collect()
    };
    let first = select(&|_, node| is_new(node));
    if !first.is_empty() {
        return first;
    }
    let deviations = FleetDeviations::new(fleet, policy);
    let [maybe_slow, maybe_noisy] = find_open_nodes(&deviations, policy);
    let is_open = |place: usize| {
        deviations.model_of[place].is_some_and(|model| {
            let nodes = &deviations.models[model].nodes;
            let is_small = nodes.len() < LEAST_OF_POOL;
            maybe_slow[place]
                || !is_small && maybe_noisy[place]
                || is_small && nodes.iter().any(|node| maybe_slow[*node])
        })
    };
    select(&|place, node| is_reachable(node) && is_open(place))
}

/// Returns for each node whether its evidence may still grow to a proof that it is slow, and that it is noisy.
fn find_open_nodes(deviations: &FleetDeviations, policy: &VisitPolicy) -> [Vec<bool>; 2] {
    let slow = ListedEvidence::of_slow(deviations, policy);
    let noisy = ListedEvidence::of_noisy(&slow);
    [(&slow, MAYBE_SLOW), (&noisy, MAYBE_NOISY)].map(|(evidence, (share, least))| {
        let judged = evidence.nodes.iter().enumerate().filter_map(|(node, log)| Some(((*log)?, node)));
        let mut judged: Vec<(f64, usize)> = judged.collect();
        judged.sort_by(|one, other| other.0.total_cmp(&one.0));
        judged.truncate((judged.len() as f64 * share).ceil() as usize);
        let mut is_open = vec![false; evidence.nodes.len()];
        let may_grow = |node: usize| !slow.is_listed(node) && !noisy.is_listed(node);
        for (_, node) in judged.into_iter().filter(|(log, node)| *log > least && may_grow(*node)) {
            is_open[node] = true;
        }
        is_open
    })
}
