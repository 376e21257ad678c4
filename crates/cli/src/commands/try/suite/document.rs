//! The JSON document.

use std::borrow::Cow;

use corewise_model::Artifact as _;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::suite::results::{CategoryMean, RowResult, SuiteResults, SuiteRow, TriedBenchmark};
use corewise_model::trial::PlacementArm;
use corewise_statistics::experiment::JudgingPolicy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::document::{ArtifactDocument, SentencesDocument};
use crate::commands::r#try::screen::{ShownExperiment, compose_story};
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
    policy: &'a JudgingPolicy,
    /// The placements of each benchmark: the OS default first.
    arms: &'a [PlacementArm],
    /// The benchmarks in their order.
    benchmarks: Vec<SuiteEntry<'a>>,
    /// The geometric means.
    means: Vec<CategoryMean>,
}

impl<'a> SuiteDocument<'a> {
    /// Creates the document of a suite.
    pub fn new(shown: &'a SuiteResults<'a>, story: &Story) -> Self {
        let entry = |row: &'a SuiteRow<'a>| SuiteEntry {
            name: &row.benchmark.name,
            category: &row.benchmark.category,
            experiment: row.tried_benchmark().map(experiment),
            missing: if let RowResult::Missing(programs) = &row.result { programs } else { &[] },
            failure: if let RowResult::Failed { why, .. } = &row.result { Some(why) } else { None },
            dropped: if let RowResult::Dropped { why } = &row.result { Some(why) } else { None },
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
            means: shown.all_means(),
        }
    }
}

/// Returns the document of a benchmark's experiment, as for a stored one.
fn experiment<'a>(tried: &TriedBenchmark) -> ArtifactDocument<'a, ExperimentRecord> {
    let made = ExperimentRecord { experiment: tried.experiment.clone(), trials: tried.trials.clone() };
    let told = compose_story(ShownExperiment::from_tried(tried), Vec::new());
    ArtifactDocument::new(Cow::Owned(made.clone()), made.draw_conclusions(), &told, tried.stored)
}

/// A benchmark of a suite, and its result.
#[derive(Serialize, JsonSchema)]
pub struct SuiteEntry<'a> {
    /// Its name.
    name: &'a str,
    /// Its category.
    category: &'a str,
    /// Its experiment; null without one.
    experiment: Option<ArtifactDocument<'a, ExperimentRecord>>,
    /// The missing programs.
    missing: &'a [String],
    /// Why there is no value or no run at all; null if a run gave a value, and if none was tried.
    failure: Option<&'a str>,
    /// Why the budget is too short for its verdict; null if it is not.
    dropped: Option<&'a str>,
    /// The last lines of output of the failure; null without a failure.
    output: Option<&'a str>,
    /// The number of the stored experiment, if all its runs failed; null otherwise.
    failed: Option<i64>,
}
