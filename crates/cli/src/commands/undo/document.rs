//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

use super::screen::Report;

/// What `corewise undo --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/undo/1")]
pub struct UndoDocument<'a> {
    #[schemars(extend("const" = "corewise/undo/1"))]
    schema: &'static str,
    /// The folder of the journals.
    folder: String,
    /// Whether nothing was to be changed.
    dry_run: bool,
    /// The journals that were found, those of the latest process first.
    journals: &'a [Report],
}

impl<'a> UndoDocument<'a> {
    /// The document of what was found in a folder.
    pub fn new(folder: String, dry_run: bool, journals: &'a [Report]) -> Self {
        Self { schema: "corewise/undo/1", folder, dry_run, journals }
    }
}
