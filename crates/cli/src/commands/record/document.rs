//! The JSON documents.

use corewise_model::digest::MachineDigest;
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
    /// The digest in it; absent without `--survey`.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<MachineDigest>,
}

impl RecordDocument {
    /// Creates the document.
    pub fn new(file: String, size_bytes: u64, digest: Option<MachineDigest>) -> Self {
        Self { schema: "corewise/record/1", file, size_bytes, digest }
    }
}

/// The file `digest.json` in a recording by `corewise record --survey`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/digest/1")]
pub struct DigestDocument<'a> {
    #[schemars(extend("const" = "corewise/digest/1"))]
    schema: &'static str,
    /// What was measured on the machine.
    #[serde(flatten)]
    digest: &'a MachineDigest,
}

impl<'a> DigestDocument<'a> {
    /// Creates the document.
    pub fn new(digest: &'a MachineDigest) -> Self {
        Self { schema: "corewise/digest/1", digest }
    }
}
