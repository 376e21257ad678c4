//! Conclusions from a fleet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fleet;

/// What a fleet shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetConclusions {
    /// Number of nodes that were asked.
    pub asked: usize,
    /// Number of nodes with at least one visit.
    pub answered: usize,
}

impl FleetConclusions {
    /// Computes them.
    pub fn new(fleet: &Fleet) -> Self {
        let answered = fleet.nodes.iter().filter(|node| !node.visits.is_empty()).count();
        Self { asked: fleet.nodes.len(), answered }
    }
}
