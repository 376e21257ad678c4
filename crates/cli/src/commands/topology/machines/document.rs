//! The JSON document.

use corewise_machine::machine_file::{Description, MachineFile};
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise topology --machine list --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/machines/1")]
pub struct MachinesDocument<'a> {
    #[schemars(extend("const" = "corewise/machines/1"))]
    schema: &'static str,
    /// The machines that the program holds, in order of their names.
    machines: &'a [MachinesEntry],
}

impl<'a> MachinesDocument<'a> {
    /// The document of a list.
    pub fn new(machines: &'a [MachinesEntry]) -> Self {
        Self { schema: "corewise/machines/1", machines }
    }
}

/// A machine that the program holds.
#[derive(Serialize, JsonSchema)]
pub struct MachinesEntry {
    /// What `--machine` calls it.
    pub name: String,
    /// The name that the processor gives itself.
    pub processor: Option<String>,
    /// How many cores it has.
    pub cores: usize,
    /// How many cpus it has.
    pub cpus: usize,
    /// What its file says of itself.
    pub description: Description,
}

impl MachinesEntry {
    /// The entry of a machine file.
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
