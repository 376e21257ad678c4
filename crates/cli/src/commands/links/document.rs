//! The JSON document.

use corewise_model::links::compare::LinkComparison;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::document::SentencesDocument;
use crate::draw::story::Story;

/// The output of `corewise links compare --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/links-comparison/1")]
pub struct LinksComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/links-comparison/1"))]
    schema: &'static str,
    /// The earlier map: "map 3", or a file.
    before: String,
    /// The later map.
    after: String,
    /// The sentences of the screen.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// One entry for each way to talk that both maps have.
    kinds: &'a [LinkComparison],
}

impl<'a> LinksComparisonDocument<'a> {
    /// Creates the document.
    pub fn new([before, after]: [String; 2], story: &Story, kinds: &'a [LinkComparison]) -> Self {
        let sentences = SentencesDocument::new(story);
        Self { schema: "corewise/links-comparison/1", before, after, sentences, kinds }
    }
}
