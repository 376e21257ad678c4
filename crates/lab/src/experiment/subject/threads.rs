//! A command with several numbers of threads.

use corewise_model::trial::{Experiment, PlacementArm, TrialMetric, TriedWorkload};

use super::{CommandSubject, ExperimentSubject};
use crate::experiment::TrialRunner;
use crate::experiment::candidates::{CandidatePlanner, CandidateRequest, ThreadCounts};
use crate::experiment::context::{ExperimentContext, PreparationEvent};
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
    fn describe_workload(
        &self,
        metric: TrialMetric,
        guards: Vec<TrialMetric>,
    ) -> Result<TriedWorkload, ExperimentError> {
        Ok(TriedWorkload {
            threads_as: self.threads.variables.clone(),
            pins_as: self.threads.pins.clone(),
            ..self.command.describe_workload(metric, guards)?
        })
    }

    fn plan_arms(
        &self,
        _request: &CandidateRequest,
        planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        planner.arms_of_threads(&self.threads, &[])
    }

    fn prepare(
        &self,
        experiment: &mut Experiment,
        context: &ExperimentContext<'_>,
        events: &mut dyn FnMut(PreparationEvent),
    ) -> Result<(), ExperimentError> {
        self.command.prepare(experiment, context, events)
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn TrialRunner + 'a>, ExperimentError> {
        self.command.open_runner(experiment, context)
    }
}
