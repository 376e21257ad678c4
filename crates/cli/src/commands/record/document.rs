//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise record --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/record/1")]
pub struct RecordDocument {
    #[schemars(extend("const" = "corewise/record/1"))]
    schema: &'static str,
    /// The file that was written.
    file: String,
    /// Its size in bytes.
    size_bytes: u64,
}

impl RecordDocument {
    /// Creates the document.
    pub fn new(file: String, size_bytes: u64) -> Self {
        Self { schema: "corewise/record/1", file, size_bytes }
    }
}
