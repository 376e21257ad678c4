//! The JSON document.

use corewise_machine::Machine;
use corewise_machine::placement::plan::Plan;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise place --candidates --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/candidates/1")]
pub struct CandidatesDocument<'a> {
    #[schemars(extend("const" = "corewise/candidates/1"))]
    schema: &'static str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// The cpu that the latest survey found to be interrupted most; null where none did. No other is like it.
    busiest: Option<u32>,
    /// The placements that are worth trying.
    plan: &'a Plan,
}

impl<'a> CandidatesDocument<'a> {
    /// The document of a plan.
    pub fn new(machine: &Machine, busiest: Option<u32>, plan: &'a Plan) -> Self {
        Self { schema: "corewise/candidates/1", fingerprint: machine.fingerprint(), busiest, plan }
    }
}
