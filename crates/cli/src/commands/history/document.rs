//! The JSON document of what was deleted.

use corewise_store::Entry;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise history delete --json` and `history prune --json` print.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/deletion/1")]
pub struct DeletionDocument<'a> {
    #[schemars(extend("const" = "corewise/deletion/1"))]
    schema: &'static str,
    /// Whether nothing was to be changed.
    dry_run: bool,
    /// What was deleted, or would be, as lists had it before.
    artifacts: &'a [Entry],
}

impl<'a> DeletionDocument<'a> {
    /// The document of what was deleted, or would be.
    pub fn new(dry_run: bool, artifacts: &'a [Entry]) -> Self {
        Self { schema: "corewise/deletion/1", dry_run, artifacts }
    }
}
