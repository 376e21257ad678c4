//! Running processes with threads that are placed slot by slot.

use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_model::keep::ObservedProcess;
use corewise_model::trial::{
    Experiment, LiveWorkload, PlacementArm, REST, ThreadRole, TrialMetric, TriedWorkload, policy_of_slots,
};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_sys::process;

use super::{CommandSubject, ExperimentSubject};
use crate::experiment::TrialRunner;
use crate::experiment::candidates::{CandidatePlanner, CandidateRequest};
use crate::experiment::context::{ExperimentContext, PreparationEvent};
use crate::experiment::error::ExperimentError;
use crate::experiment::live::{LiveRunner, SlotSearchEnd};

/// Share of the budget that the search for a slot's length may take.
const SEARCH_SHARE: u32 = 5;
/// Limit of the search without a budget.
const LONGEST_SEARCH: Duration = Duration::from_secs(160);

/// Running processes with all that descends from them.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessesSubject {
    /// The processes, and how they are measured.
    pub live: LiveWorkload,
    /// The processes as they are now; none of them descends from another one.
    pub processes: Vec<ObservedProcess>,
    /// Whether the length of slots is given; it is searched otherwise.
    pub has_slot: bool,
    /// Threads that may have a placement of their own.
    pub thread_roles: Vec<ThreadRole>,
}

impl ProcessesSubject {
    /// Returns the roles that may be placed: threads by their names, and the rest. None if everything is placed as one.
    fn roles(&self) -> Vec<&str> {
        let threads: Vec<&str> = self.thread_roles.iter().map(|role| role.name.as_str()).collect();
        if threads.is_empty() { threads } else { [threads, vec![REST]].concat() }
    }

    /// Checks that every process can use the cpus of every arm.
    ///
    /// # Errors
    /// [`ExperimentError::Unreachable`].
    pub fn check_reachable(&self, arms: &[PlacementArm]) -> Result<(), ExperimentError> {
        for process in &self.processes {
            let is_outside = |cpus: &&CpuSet| !cpus.is_subset(&process.reachable);
            if let Some(cpus) = arms.iter().filter_map(|arm| arm.cpus.as_ref()).find(is_outside) {
                return Err(ExperimentError::Unreachable {
                    id: process.id,
                    name: process.name.clone(),
                    reachable: process.reachable.clone(),
                    cpus: cpus.clone(),
                });
            }
        }
        Ok(())
    }

    fn open_slots<'a>(
        &self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<LiveRunner<'a>, ExperimentError> {
        self.check_reachable(&experiment.arms)?;
        let processes = self.processes.iter();
        let processes = processes
            .map(|process| process::ProcessIdentity { id: process.id, start_ticks: process.start_ticks })
            .collect();
        let journal = context.open_journal()?;
        Ok(LiveRunner::new(&experiment.workload, &experiment.arms, processes, journal, context.stop)?)
    }
}

impl ExperimentSubject for ProcessesSubject {
    fn describe_workload(
        &self,
        metric: TrialMetric,
        guards: Vec<TrialMetric>,
    ) -> Result<TriedWorkload, ExperimentError> {
        let command = CommandSubject::new(self.processes.first().map(command_of_process).unwrap_or_default());
        Ok(TriedWorkload {
            live: Some(self.live.clone()),
            thread_roles: self.thread_roles.clone(),
            ..command.describe_workload(metric, guards)?
        })
    }

    fn plan_arms(
        &self,
        request: &CandidateRequest,
        planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        planner.arms(request, None, &self.roles())
    }

    fn revise_policy(&self, policy: &JudgingPolicy) -> JudgingPolicy {
        policy_of_slots(policy)
    }

    /// Reads the metrics while nothing is changed, and finds the length of slots unless it is given.
    fn prepare(
        &self,
        experiment: &mut Experiment,
        context: &ExperimentContext<'_>,
        events: &mut dyn FnMut(PreparationEvent),
    ) -> Result<(), ExperimentError> {
        let mut runner = self.open_slots(experiment, context)?;
        runner.limit_readings(context.budget);
        if self.has_slot {
            return runner.check_metrics().map_err(ExperimentError::NotBegun);
        }
        let limit = context.budget.map_or(LONGEST_SEARCH, |budget| budget / SEARCH_SHARE);
        let mut report = |elapsed| events(PreparationEvent::SearchingSlot { elapsed, limit });
        let found = runner.find_slot(limit, &mut report).map_err(|end| match end {
            SlotSearchEnd::Over(end) => ExperimentError::NotBegun(end),
            SlotSearchEnd::Rare(rare) => ExperimentError::Rare(rare),
        })?;
        experiment.workload.live.iter_mut().for_each(|live| live.slot_s = found.slot_s);
        events(PreparationEvent::FoundSlot(found));
        Ok(())
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn TrialRunner + 'a>, ExperimentError> {
        Ok(Box::new(self.open_slots(experiment, context)?))
    }
}

/// Returns the file that a process executes, and its arguments.
fn command_of_process(process: &ObservedProcess) -> Vec<String> {
    let program = process.exe.clone().or_else(|| process.argv.first().cloned()).unwrap_or_else(|| process.name.clone());
    std::iter::once(program).chain(process.argv.iter().skip(1).cloned()).collect()
}
