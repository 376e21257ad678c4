//! An experiment as it is kept: with the trials that were made of it so far.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, Origin};
use crate::experiment::Standing;
use crate::trial::{Experiment, ThreadsReport, Trial, standing, threads};

/// An experiment of more blocks is none.
const MOST_BLOCKS: u32 = 1_000_000;

/// An experiment and its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conducted {
    /// What is tried, and how it is judged.
    pub experiment: Experiment,
    /// The trials, in the order in which they were made.
    pub trials: Vec<Trial>,
}

/// What an experiment shows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExperimentConclusions {
    /// The verdict, each placement's part in it, and the checks on the experiment itself.
    pub standing: Standing,
    /// What the trials show of numbers of threads, where these are what was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadsReport>,
}

impl From<Experiment> for Conducted {
    /// An experiment before its first trial.
    fn from(experiment: Experiment) -> Self {
        Self { experiment, trials: Vec::new() }
    }
}

impl Artifact for Conducted {
    const KIND: &'static str = "experiment";
    const SCHEMA: &'static str = "corewise/experiment/2";
    type Conclusions = ExperimentConclusions;

    fn check(&self) -> Result<(), String> {
        let Self { experiment, trials } = self;
        experiment.check()?;
        let arms = experiment.arms.len();
        match trials.iter().position(|trial| trial.arm >= arms || trial.block > MOST_BLOCKS) {
            Some(at) => Err(format!("trial {at} is none of its placements or blocks")),
            None => Ok(()),
        }
    }

    fn origin(&self) -> Origin<'_> {
        let Experiment { machine, started_unix_ms, corewise, seed, .. } = &self.experiment;
        Origin { machine: Some(machine), started_unix_ms: *started_unix_ms, corewise, seed: *seed, partial: false }
    }

    fn what(&self) -> String {
        self.experiment.workload.command.join(" ")
    }

    fn conclude(&self) -> ExperimentConclusions {
        let Self { experiment, trials } = self;
        ExperimentConclusions { standing: standing(experiment, trials), threads: threads(experiment, trials) }
    }
}
