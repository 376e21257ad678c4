//! The JSON document of a comparison.

use corewise_model::memory::compare::MemoryChange;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::document::SentencesDocument;
use crate::draw::story::Story;

/// The output of `corewise history compare --json` for two maps of memory.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/memory-comparison/1")]
pub struct MemoryComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/memory-comparison/1"))]
    schema: &'static str,
    /// The earlier map's number.
    before: i64,
    /// The later map's number.
    after: i64,
    /// The sentences of the screen.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// Every number that both maps have.
    numbers: &'a [MemoryChange],
}

impl<'a> MemoryComparisonDocument<'a> {
    /// Creates the document.
    pub fn new([before, after]: [i64; 2], story: &Story, numbers: &'a [MemoryChange]) -> Self {
        let sentences = SentencesDocument::new(story);
        Self { schema: "corewise/memory-comparison/1", before, after, sentences, numbers }
    }
}
