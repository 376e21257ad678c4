//! The JSON document.

use corewise_machine::Machine;
use corewise_machine::machine_file::MachineDescription;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise topology --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/topology/1")]
pub struct TopologyDocument<'a> {
    #[schemars(extend("const" = "corewise/topology/1"))]
    schema: &'static str,
    /// The name of the machine in the history.
    fingerprint: String,
    /// The machine.
    machine: &'a Machine,
    /// The description in the machine file, if the machine comes from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a MachineDescription>,
}

impl<'a> TopologyDocument<'a> {
    /// Creates the document.
    pub fn new(machine: &'a Machine, description: Option<&'a MachineDescription>) -> Self {
        Self { schema: "corewise/topology/1", fingerprint: machine.fingerprint(), machine, description }
    }
}
