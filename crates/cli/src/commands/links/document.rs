//! The JSON document.

use corewise_model::links::compare::LinkComparison;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise links compare --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/links-comparison/1")]
pub struct LinksComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/links-comparison/1"))]
    schema: &'static str,
    /// The earlier map: "map 3", or a file.
    before: String,
    /// The later map.
    after: String,
    /// One entry for each way to talk that both have.
    kinds: &'a [LinkComparison],
}

impl<'a> LinksComparisonDocument<'a> {
    /// The document of a comparison.
    pub fn new(before: String, after: String, kinds: &'a [LinkComparison]) -> Self {
        Self { schema: "corewise/links-comparison/1", before, after, kinds }
    }
}
