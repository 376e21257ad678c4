//! The JSON document.

use corewise_machine::Machine;
use corewise_machine::machine_file::Description;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise topology --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/topology/1")]
pub struct TopologyDocument<'a> {
    #[schemars(extend("const" = "corewise/topology/1"))]
    schema: &'static str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// The machine.
    machine: &'a Machine,
    /// What the machine file says of itself, where the machine comes from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a Description>,
}

impl<'a> TopologyDocument<'a> {
    /// The document of a machine.
    pub fn new(machine: &'a Machine, description: Option<&'a Description>) -> Self {
        Self { schema: "corewise/topology/1", fingerprint: machine.fingerprint(), machine, description }
    }
}
