//! The JSON document.

use corewise_model::compare::Comparison;
use corewise_store::{Entry, ExperimentEntry};
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise history --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/history/1")]
pub struct HistoryDocument<'a> {
    #[schemars(extend("const" = "corewise/history/1"))]
    schema: &'static str,
    /// The stored surveys in the order they were added.
    surveys: &'a [Entry],
    /// The stored experiments, likewise.
    experiments: &'a [ExperimentEntry],
}

impl<'a> HistoryDocument<'a> {
    /// The document of a list.
    pub fn new(surveys: &'a [Entry], experiments: &'a [ExperimentEntry]) -> Self {
        Self { schema: "corewise/history/1", surveys, experiments }
    }
}

/// What `corewise history compare --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/comparison/1")]
pub struct ComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/comparison/1"))]
    schema: &'static str,
    /// The number of the earlier survey.
    before: i64,
    /// The number of the later survey.
    after: i64,
    /// What changed.
    comparison: &'a Comparison,
}

impl<'a> ComparisonDocument<'a> {
    /// The document of a comparison.
    pub fn new(before: i64, after: i64, comparison: &'a Comparison) -> Self {
        Self { schema: "corewise/comparison/1", before, after, comparison }
    }
}
