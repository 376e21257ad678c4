//! The JSON document.

use corewise_model::experiment::Standing;
use corewise_model::trial::{Experiment, ThreadsReport, Trial};
use schemars::JsonSchema;
use serde::Serialize;

use super::screen::{Shown, in_words};

/// What `corewise try --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/experiment/1")]
pub struct ExperimentDocument<'a> {
    #[schemars(extend("const" = "corewise/experiment/1"))]
    schema: &'static str,
    /// The verdict in words.
    sentence: String,
    /// What the runs show.
    standing: &'a Standing,
    /// What they show of numbers of threads, where these are what was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<&'a ThreadsReport>,
    /// What was tried, and how it is judged.
    experiment: &'a Experiment,
    /// The runs, in the order in which they were made.
    trials: &'a [Trial],
    /// Its number in the store; null where it is not stored.
    stored: Option<i64>,
}

impl<'a> ExperimentDocument<'a> {
    /// The document of an experiment.
    pub fn new(shown: Shown<'a>) -> Self {
        let Shown { experiment, trials, standing, threads, stored, .. } = shown;
        Self {
            schema: "corewise/experiment/1",
            sentence: in_words(shown).to_plain(),
            standing,
            threads,
            experiment,
            trials,
            stored,
        }
    }
}
