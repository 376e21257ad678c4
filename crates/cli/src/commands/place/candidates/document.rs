//! The JSON document.

use corewise_machine::Machine;
use corewise_machine::placement::plan::PlacementPlan;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise place --candidates --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/candidates/1")]
pub struct CandidatesDocument<'a> {
    #[schemars(extend("const" = "corewise/candidates/1"))]
    schema: &'static str,
    /// The name of the machine in the history.
    fingerprint: String,
    /// The cpu with the most interruptions in the latest survey, which is equivalent to no other; null without a survey.
    busiest: Option<u32>,
    /// The placements worth trying.
    plan: &'a PlacementPlan,
}

impl<'a> CandidatesDocument<'a> {
    /// Creates the document.
    pub fn new(machine: &Machine, busiest: Option<u32>, plan: &'a PlacementPlan) -> Self {
        Self { schema: "corewise/candidates/1", fingerprint: machine.fingerprint(), busiest, plan }
    }
}
