//! The JSON document of a comparison.

use corewise_model::fleet::compare::FleetChanges;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::document::SentencesDocument;
use crate::draw::story::Story;

/// The output of `corewise history compare --json` for two fleets.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/fleet-comparison/1")]
pub struct FleetComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/fleet-comparison/1"))]
    schema: &'static str,
    /// Number of the earlier fleet.
    before: i64,
    /// Number of the later fleet.
    after: i64,
    /// Sentences of the screen.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// The nodes that changed.
    changes: &'a FleetChanges,
}

impl<'a> FleetComparisonDocument<'a> {
    /// Creates the document.
    pub fn new([before, after]: [i64; 2], story: &Story, changes: &'a FleetChanges) -> Self {
        let sentences = SentencesDocument::new(story);
        Self { schema: "corewise/fleet-comparison/1", before, after, sentences, changes }
    }
}
