//! Conclusions from a fleet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deviations::FleetDeviations;
use super::outliers::{ListedEvidence, pair_spreads};
use super::{Fleet, VisitPolicy};

/// What a fleet shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetConclusions {
    /// Number of nodes that were asked.
    pub asked: usize,
    /// Number of nodes with at least one visit.
    pub answered: usize,
    /// Places of slow nodes.
    pub slow: Vec<usize>,
    /// Places of noisy nodes.
    pub noisy: Vec<usize>,
}

impl FleetConclusions {
    /// Computes them.
    pub fn new(fleet: &Fleet) -> Self {
        let answered = fleet.nodes.iter().filter(|node| !node.visits.is_empty()).count();
        let policy = VisitPolicy::default();
        let deviations = FleetDeviations::new(fleet, &policy);
        let slow = ListedEvidence::of_slow(&deviations, &policy);
        let spreads = pair_spreads(&deviations.quantities);
        let noisy = ListedEvidence::of_noisy(&deviations, &spreads, &policy);
        Self { asked: fleet.nodes.len(), answered, slow: slow.listed, noisy: noisy.listed }
    }
}
