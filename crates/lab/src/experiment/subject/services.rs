//! Services that are started for a command, which is their load.

use corewise_model::trial::{
    Experiment, LOAD, PlacementArm, ServiceParts, ThreadRole, TrialMetric, TriedWorkload, policy_of_kept,
};
use corewise_statistics::experiment::JudgingPolicy;

use super::command::open_process_runner;
use super::{CommandSubject, ExperimentSubject};
use crate::experiment::TrialRunner;
use crate::experiment::candidates::{CandidatePlanner, CandidateRequest, ThreadCounts};
use crate::experiment::context::{ExperimentContext, PreparationEvent};
use crate::experiment::error::ExperimentError;
use crate::experiment::parts::PartsRunner;

/// Services with a load.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicesSubject {
    /// The command.
    pub load: CommandSubject,
    /// The services.
    pub parts: ServiceParts,
    /// Threads of services that may have a placement of their own.
    pub thread_roles: Vec<ThreadRole>,
    /// Numbers of threads to try; `None` for placements or variants.
    pub threads: Option<ThreadCounts>,
}

impl ServicesSubject {
    /// Returns the subject of a stored workload, or `None` if it has no services.
    pub fn from_workload(workload: &TriedWorkload) -> Option<Self> {
        let parts = workload.parts.clone()?;
        let load = CommandSubject::from_workload(workload);
        Some(Self { load, parts, thread_roles: workload.thread_roles.clone(), threads: None })
    }

    /// Returns the roles that may be placed: services, threads, and the load.
    pub fn roles(&self) -> Vec<&str> {
        let services = self.parts.services.iter().map(|service| service.name.as_str());
        let threads = self.thread_roles.iter().map(|role| role.name.as_str());
        services.chain(threads).chain(std::iter::once(LOAD)).collect()
    }
}

impl ExperimentSubject for ServicesSubject {
    fn describe_workload(
        &self,
        metric: TrialMetric,
        guards: Vec<TrialMetric>,
    ) -> Result<TriedWorkload, ExperimentError> {
        let (threads_as, pins_as) =
            self.threads.as_ref().map(|threads| (threads.variables.clone(), threads.pins.clone())).unwrap_or_default();
        let (parts, thread_roles) = (Some(self.parts.clone()), self.thread_roles.clone());
        Ok(TriedWorkload { parts, thread_roles, threads_as, pins_as, ..self.load.describe_workload(metric, guards)? })
    }

    fn plan_arms(
        &self,
        request: &CandidateRequest,
        planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        if let Some(threads) = &self.threads {
            return planner.arms_of_threads(threads, &self.roles());
        }
        if !self.load.variants.is_empty() {
            return planner.arms_with_variants(request, &self.load.variants, None, &self.roles());
        }
        if request.is_planned() {
            return planner.planned_arms_of_services(request, &self.parts, &self.roles());
        }
        planner.arms(request, None, &self.roles())
    }

    fn revise_policy(&self, policy: &JudgingPolicy) -> JudgingPolicy {
        if self.parts.keep_started { policy_of_kept(policy) } else { policy.clone() }
    }

    /// Starts the services once: a mistake in one is a mistake on every placement.
    fn prepare(
        &self,
        experiment: &mut Experiment,
        context: &ExperimentContext<'_>,
        events: &mut dyn FnMut(PreparationEvent),
    ) -> Result<(), ExperimentError> {
        self.load.prepare(experiment, context, events)?;
        self.open_services(experiment, context)?.check_services().map_err(ExperimentError::Service)
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn TrialRunner + 'a>, ExperimentError> {
        Ok(Box::new(self.open_services(experiment, context)?))
    }
}

impl ServicesSubject {
    fn open_services<'a>(
        &self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<PartsRunner<'a>, ExperimentError> {
        // A service that is started for one trial ends with it, and needs no journal.
        let journal = self.parts.keep_started.then(|| context.open_journal()).transpose()?;
        let load = open_process_runner(experiment, context)?;
        Ok(PartsRunner::new(experiment, load, journal, context.stop)?)
    }
}
