//! The JSON document.

use corewise_machine::worth::CpuWorth;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::worth::Origin;

/// What `corewise worth --json` prints; with --watch one after the other.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/worth/1")]
pub struct WorthDocument {
    #[schemars(extend("const" = "corewise/worth/1"))]
    schema: &'static str,
    /// Where the records come from.
    origin: Origin,
    /// What is known of each online cpu, by their numbers.
    cpus: Vec<CpuWorth>,
}

impl WorthDocument {
    /// The document of these records.
    pub fn new(origin: Origin, cpus: &[CpuWorth]) -> Self {
        Self { schema: "corewise/worth/1", origin, cpus: cpus.to_vec() }
    }
}
