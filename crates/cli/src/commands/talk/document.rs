//! The JSON document of a comparison.

use corewise_model::talk::compare::TalkChange;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::document::SentencesDocument;
use crate::draw::story::Story;

/// The output of `corewise history compare --json` for two talk graphs.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/talk-comparison/1")]
pub struct TalkComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/talk-comparison/1"))]
    schema: &'static str,
    /// Number of the earlier graph.
    before: i64,
    /// Number of the later graph.
    after: i64,
    /// Sentences of the screen.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// One entry for each edge with at least 1 % of the wakes of either graph, the greatest change first.
    edges: &'a [TalkChange],
}

impl<'a> TalkComparisonDocument<'a> {
    /// Creates the document.
    pub fn new([before, after]: [i64; 2], story: &Story, edges: &'a [TalkChange]) -> Self {
        let sentences = SentencesDocument::new(story);
        Self { schema: "corewise/talk-comparison/1", before, after, sentences, edges }
    }
}
