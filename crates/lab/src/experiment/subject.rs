//! Subjects of experiments, side by side, each with its own runner.

mod closure;
pub(super) mod command;
mod processes;
mod services;
mod simulated;
mod threads;

use corewise_model::trial::{Experiment, PlacementArm, TrialMetric, TriedWorkload};
use corewise_statistics::experiment::JudgingPolicy;

use super::TrialRunner;
use super::candidates::{CandidatePlanner, CandidateRequest};
use super::context::{ExperimentContext, PreparationEvent};
use super::error::ExperimentError;
pub use closure::ClosureSubject;
pub use command::CommandSubject;
pub use processes::ProcessesSubject;
pub use services::ServicesSubject;
pub use simulated::SimulatedSubject;
pub use threads::ThreadsSubject;

/// Something that can be tried on placements.
pub trait ExperimentSubject {
    /// Returns the workload for the record.
    ///
    /// # Errors
    /// [`ExperimentError::Folder`] if it runs in the current folder, and there is none.
    fn describe_workload(
        &self,
        metric: TrialMetric,
        guards: Vec<TrialMetric>,
    ) -> Result<TriedWorkload, ExperimentError>;

    /// Returns the arms of a request, the OS default first.
    ///
    /// # Errors
    /// Why a placement cannot be had, or why there is nothing to compare.
    fn plan_arms(
        &self,
        request: &CandidateRequest,
        planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        planner.arms(request, None, &[])
    }

    /// Returns the policy with the limits that this kind of subject needs.
    fn revise_policy(&self, policy: &JudgingPolicy) -> JudgingPolicy {
        policy.clone()
    }

    /// Returns the subject of an experiment on the OS default and one of the candidates; `None` if it is this one.
    fn with_candidate(&self, _arm: usize) -> Option<Box<dyn ExperimentSubject>> {
        None
    }

    /// Returns false if runs take no time, as simulated ones.
    fn takes_time(&self) -> bool {
        true
    }

    /// Checks that the subject can be tried on all arms, and completes the workload. Nothing is placed.
    ///
    /// # Errors
    /// Why it cannot be tried.
    fn prepare(
        &self,
        _experiment: &mut Experiment,
        _context: &ExperimentContext<'_>,
        _events: &mut dyn FnMut(PreparationEvent),
    ) -> Result<(), ExperimentError> {
        Ok(())
    }

    /// Opens the runner of an experiment with this subject, also of a stored experiment that goes on.
    ///
    /// # Errors
    /// Why it cannot be run.
    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn TrialRunner + 'a>, ExperimentError>;
}
