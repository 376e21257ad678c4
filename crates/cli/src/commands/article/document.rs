//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

use super::screen::Made;

/// What `corewise article --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/article/1")]
pub struct ArticlesDocument<'a> {
    #[schemars(extend("const" = "corewise/article/1"))]
    schema: &'static str,
    /// Whether they were made in the short way.
    quick: bool,
    /// The articles in the order in which they were made.
    articles: &'a [Made],
}

impl<'a> ArticlesDocument<'a> {
    /// The document of some articles.
    pub fn new(quick: bool, articles: &'a [Made]) -> Self {
        Self { schema: "corewise/article/1", quick, articles }
    }
}
