//! The JSON document.

use corewise_machine::machine_file::{MachineDescription, MachineFile};
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise topology --machine list --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/machines/1")]
pub struct MachinesDocument<'a> {
    #[schemars(extend("const" = "corewise/machines/1"))]
    schema: &'static str,
    /// The built-in machines, in order of their names.
    machines: &'a [MachinesEntry],
}

impl<'a> MachinesDocument<'a> {
    /// Creates the document.
    pub fn new(machines: &'a [MachinesEntry]) -> Self {
        Self { schema: "corewise/machines/1", machines }
    }
}

/// A built-in machine.
#[derive(Serialize, JsonSchema)]
pub struct MachinesEntry {
    /// Its name for `--machine`.
    pub name: String,
    /// The model name that the processor reports.
    pub processor: Option<String>,
    /// Its number of cores.
    pub cores: usize,
    /// Its number of cpus.
    pub cpus: usize,
    /// The description in its file.
    pub description: MachineDescription,
}

impl MachinesEntry {
    /// Creates the entry of a machine file.
    pub fn new(name: &str, file: &MachineFile) -> Self {
        let MachineFile { machine, description } = file;
        Self {
            name: name.to_owned(),
            processor: machine.processor.model_name.clone(),
            cores: machine.cores.len(),
            cpus: machine.online.len(),
            description: description.clone(),
        }
    }
}
