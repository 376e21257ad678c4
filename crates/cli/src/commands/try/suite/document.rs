//! The JSON document.

use std::borrow::Cow;

use corewise_model::Artifact as _;
use corewise_model::conducted::Conducted;
use corewise_model::experiment::Policy;
use corewise_model::suite::results::{Mean, Results, Row, RowResult, Tried};
use corewise_model::trial::Arm;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::document::{ArtifactDocument, SentencesDocument};
use crate::commands::r#try::screen::{Shown, story};
use crate::draw::story::Story;

/// The output of `corewise try --suite --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/suite/2")]
pub struct SuiteDocument<'a> {
    #[schemars(extend("const" = "corewise/suite/2"))]
    schema: &'static str,
    /// The suite's name.
    suite: &'a str,
    /// The sentences of the screen and the page.
    #[serde(flatten)]
    sentences: SentencesDocument,
    /// The policy of each benchmark, unless its experiment has its own.
    policy: &'a Policy,
    /// The placements of each benchmark: the OS default first.
    arms: &'a [Arm],
    /// The benchmarks in their order.
    benchmarks: Vec<SuiteEntry<'a>>,
    /// The geometric means.
    means: Vec<Mean>,
}

impl<'a> SuiteDocument<'a> {
    /// Creates the document of a suite.
    pub fn new(shown: &'a Results<'a>, story: &Story) -> Self {
        let entry = |row: &'a Row<'a>| SuiteEntry {
            name: &row.benchmark.name,
            category: &row.benchmark.category,
            experiment: row.tried().map(experiment),
            missing: if let RowResult::Missing(programs) = &row.result { programs } else { &[] },
            failure: if let RowResult::Failed { why, .. } = &row.result { Some(why) } else { None },
            output: if let RowResult::Failed { output, .. } = &row.result { Some(output) } else { None },
            failed: if let RowResult::Failed { stored, .. } = &row.result { *stored } else { None },
        };
        Self {
            schema: "corewise/suite/2",
            suite: &shown.suite.name,
            sentences: SentencesDocument::new(story),
            policy: shown.policy,
            arms: shown.arms,
            benchmarks: shown.rows.iter().map(entry).collect(),
            means: shown.means(),
        }
    }
}

/// Returns the document of a benchmark's experiment, as for a stored one.
fn experiment<'a>(tried: &Tried) -> ArtifactDocument<'a, Conducted> {
    let made = Conducted { experiment: tried.experiment.clone(), trials: tried.trials.clone() };
    let told = story(Shown::alone(tried), Vec::new());
    ArtifactDocument::new(Cow::Owned(made.clone()), made.conclude(), &told, tried.stored)
}

/// A benchmark of a suite, and its result.
#[derive(Serialize, JsonSchema)]
pub struct SuiteEntry<'a> {
    /// Its name.
    name: &'a str,
    /// Its category.
    category: &'a str,
    /// Its experiment; null without one.
    experiment: Option<ArtifactDocument<'a, Conducted>>,
    /// The missing programs.
    missing: &'a [String],
    /// Why there is no value or no run at all; null if a run gave a value, and if none was tried.
    failure: Option<&'a str>,
    /// The last lines of output of the failure; null without a failure.
    output: Option<&'a str>,
    /// The number of the stored experiment, if all its runs failed; null otherwise.
    failed: Option<i64>,
}
