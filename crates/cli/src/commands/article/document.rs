//! The JSON document.

use std::collections::BTreeMap;

use corewise_model::article::comparison::ComparedRow;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The output of `corewise article --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/article/1")]
pub struct ArticlesDocument<'a> {
    #[schemars(extend("const" = "corewise/article/1"))]
    schema: &'static str,
    /// True if the steps were run with `--quick`.
    quick: bool,
    /// The articles in the order in which they were run.
    articles: &'a [MadeArticle],
}

impl<'a> ArticlesDocument<'a> {
    /// Creates the document.
    pub fn new(quick: bool, articles: &'a [MadeArticle]) -> Self {
        Self { schema: "corewise/article/1", quick, articles }
    }
}

/// An article with its repeated experiment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MadeArticle {
    /// Its name.
    pub name: String,
    /// The question of the article.
    pub question: String,
    /// The source: author, publication, machine.
    pub source: String,
    /// The published result.
    pub published: String,
    /// The result to look at here.
    pub look: String,
    /// Its steps.
    pub steps: Vec<MadeStep>,
    /// The published results beside those found here; empty if the steps were not run.
    pub table: Vec<ComparedRow>,
}

/// A step that was run, or the reason why it was not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MadeStep {
    /// The title of the step.
    pub title: String,
    /// The words behind `corewise`; empty if the step was not run.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// A remark on values that were substituted for this machine; null without one.
    pub remark: Option<String>,
    /// Why it was left out; null if it was run.
    pub left_out: Option<String>,
    /// Its exit status; null if it was not run, or was ended by a signal.
    pub exit: Option<i32>,
    /// The JSON document that it printed, of the schema that it names; null without one.
    pub document: Value,
}
