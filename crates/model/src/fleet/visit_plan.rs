//! Which nodes are visited again.

use super::{Fleet, FleetNode};

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
pub fn next_visits(fleet: &Fleet, policy: &VisitPolicy) -> Vec<usize> {
    let is_new = |node: &FleetNode| node.problem.is_none() && node.visits.len() < policy.first_visits;
    fleet.nodes.iter().enumerate().filter(|(_, node)| is_new(node)).map(|(place, _)| place).collect()
}
