//! The JSON document of deleted artifacts.

use corewise_store::StoredEntry;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise history delete --json` and `history prune --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/deletion/1")]
pub struct DeletionDocument<'a> {
    #[schemars(extend("const" = "corewise/deletion/1"))]
    schema: &'static str,
    /// True for a dry run, which changes nothing.
    dry_run: bool,
    /// The artifacts that were deleted, or would be, as lists showed them before.
    artifacts: &'a [StoredEntry],
}

impl<'a> DeletionDocument<'a> {
    /// Creates the document.
    pub fn new(dry_run: bool, artifacts: &'a [StoredEntry]) -> Self {
        Self { schema: "corewise/deletion/1", dry_run, artifacts }
    }
}
