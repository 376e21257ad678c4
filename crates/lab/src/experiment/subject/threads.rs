//! A command with several numbers of threads.

use corewise_model::trial::{Arm, Experiment, Metric, Workload};

use super::{CommandSubject, ExperimentSubject};
use crate::experiment::Runner;
use crate::experiment::candidates::{CandidatePlanner, CandidateRequest, ThreadCounts};
use crate::experiment::context::ExperimentContext;
use crate::experiment::error::ExperimentError;

/// A command that is tried with several numbers of threads, pinned or left to the operating system.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadsSubject {
    /// The command.
    pub command: CommandSubject,
    /// The numbers of threads.
    pub threads: ThreadCounts,
}

impl ExperimentSubject for ThreadsSubject {
    fn describe_workload(&self, metric: Metric, guards: Vec<Metric>) -> Result<Workload, ExperimentError> {
        Ok(Workload {
            threads_as: self.threads.variables.clone(),
            pins_as: self.threads.pins.clone(),
            ..self.command.describe_workload(metric, guards)?
        })
    }

    fn plan_arms(
        &self,
        _request: &CandidateRequest,
        planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<Arm>, ExperimentError> {
        planner.arms_of_threads(&self.threads)
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn Runner + 'a>, ExperimentError> {
        self.command.open_runner(experiment, context)
    }
}
