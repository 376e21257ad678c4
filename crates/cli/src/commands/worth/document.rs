//! The JSON document.

use corewise_machine::worth::CpuWorth;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::worth::WorthOrigin;

/// The output of `corewise worth --json`; with --watch one document after the other.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/worth/1")]
pub struct WorthDocument {
    #[schemars(extend("const" = "corewise/worth/1"))]
    schema: &'static str,
    /// The origin of the records.
    origin: WorthOrigin,
    /// The record of each online cpu, by number.
    cpus: Vec<CpuWorth>,
}

impl WorthDocument {
    /// Creates the document.
    pub fn new(origin: WorthOrigin, cpus: &[CpuWorth]) -> Self {
        Self { schema: "corewise/worth/1", origin, cpus: cpus.to_vec() }
    }
}
