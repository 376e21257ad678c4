//! The JSON document.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

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

/// An article's experiment that was made.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Made {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// The source: author, publication, machine.
    pub source: String,
    /// What was published.
    pub published: String,
    /// What to look at here.
    pub look: String,
    /// Its steps.
    pub steps: Vec<MadeStep>,
}

/// A step that was made, or why it was not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MadeStep {
    /// What it shows.
    pub title: String,
    /// The words behind `corewise`; empty where it was not made.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// What was put in for the machine; null where nothing was.
    pub remark: Option<String>,
    /// Why it was not made; null where it was.
    pub left_out: Option<String>,
    /// Its exit status; null where it was not made, or ended by a signal.
    pub exit: Option<i32>,
    /// The document that it printed as JSON, of the schema that it names; null where there is none.
    pub document: Value,
}
