//! A command that is started for each run.

use std::path::Path;
use std::time::Duration;

use corewise_machine::CpuSet;
use corewise_model::trial::{
    CommandVariant, Experiment, FolderText, LOAD, PlacementArm, ThreadRole, TrialMetric, TriedWorkload,
};
use corewise_sys::cpuset;
use corewise_sys::execution::{NO_LEAVING, NO_TERMINAL};
use corewise_sys::input::open_for_command;
use corewise_sys::installed::is_installed;

use super::ExperimentSubject;
use crate::experiment::TrialRunner;
use crate::experiment::candidates::{CandidatePlanner, CandidateRequest};
use crate::experiment::context::{ExperimentContext, PreparationEvent};
use crate::experiment::error::ExperimentError;
use crate::experiment::process::ProcessRunner;

/// A command, and how its runs are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandSubject {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variants of it, of which the first is the baseline; empty if only placements are tried.
    pub variants: Vec<CommandVariant>,
    /// The number of threads to plan placements for; `None` if it is not known.
    pub threads: Option<u32>,
    /// The file that the program writes its metrics to; its output if absent.
    pub metric_file: Option<String>,
    /// The file that the command reads as its standard input, if any.
    pub input: Option<String>,
    /// True to give the command a terminal of its own instead of pipes.
    pub on_terminal: bool,
    /// True to leave processes that outlive the command.
    pub leaves_processes: bool,
    /// A shell script that is run before each block, if any.
    pub vary: Option<String>,
    /// A shell script that is run before each run, if any.
    pub prepare: Option<String>,
    /// The exit statuses of a run that has not failed; 0 alone if empty.
    pub accepted: Vec<i32>,
    /// The name of a process that the command leaves running, which ends the run when it ends; `None` if the command ends it.
    pub follow: Option<String>,
    /// Limit of a run, after which it has failed; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Its threads that may have a placement of their own.
    pub thread_roles: Vec<ThreadRole>,
}

impl CommandSubject {
    /// Returns a command that is run in the current folder.
    pub fn new<Word: Into<String>>(command: impl IntoIterator<Item = Word>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Returns the command of a stored workload.
    pub fn from_workload(workload: &TriedWorkload) -> Self {
        Self {
            command: workload.command.clone(),
            variants: workload.variants.clone(),
            threads: None,
            metric_file: workload.metric_file.clone(),
            input: workload.input.clone(),
            on_terminal: workload.on_terminal,
            leaves_processes: workload.leaves_processes,
            vary: workload.vary.clone(),
            prepare: workload.prepare.clone(),
            accepted: workload.accepted.clone(),
            follow: workload.follow.clone(),
            timeout: workload.run_timeout(),
            thread_roles: if workload.parts.is_none() { workload.thread_roles.clone() } else { Vec::new() },
        }
    }
}

impl CommandSubject {
    /// Returns the roles that may be placed: threads by their names, and all others. None if everything is placed as one.
    fn roles(&self) -> Vec<&str> {
        let threads: Vec<&str> = self.thread_roles.iter().map(|role| role.name.as_str()).collect();
        if threads.is_empty() { threads } else { [threads, vec![LOAD]].concat() }
    }
}

impl ExperimentSubject for CommandSubject {
    fn describe_workload(
        &self,
        metric: TrialMetric,
        guards: Vec<TrialMetric>,
    ) -> Result<TriedWorkload, ExperimentError> {
        let folder = std::env::current_dir().map_err(ExperimentError::Folder)?;
        let folder = FolderText::of_bytes(folder.as_os_str().as_encoded_bytes().to_vec());
        Ok(TriedWorkload {
            variants: self.variants.clone(),
            guards,
            metric_file: self.metric_file.clone(),
            input: self.input.clone(),
            on_terminal: self.on_terminal,
            leaves_processes: self.leaves_processes,
            vary: self.vary.clone(),
            prepare: self.prepare.clone(),
            accepted: self.accepted.clone(),
            follow: self.follow.clone(),
            timeout_s: self.timeout.map(|timeout| timeout.as_secs_f64()),
            thread_roles: self.thread_roles.clone(),
            ..TriedWorkload::new(self.command.clone(), folder, metric)
        })
    }

    fn plan_arms(
        &self,
        request: &CandidateRequest,
        planner: &mut CandidatePlanner<'_>,
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        if !self.variants.is_empty() {
            return planner.arms_with_variants(request, &self.variants, self.threads, &self.roles());
        }
        let mut arms = planner.arms(request, self.threads, &self.roles())?;
        if request.is_planned() {
            planner.planned_without_eco_qos().into_iter().for_each(|arm| arms.insert(1, arm));
        }
        Ok(arms)
    }

    /// Refuses a program that is not installed, and an input that cannot be read, before anything is stored.
    fn prepare(
        &self,
        experiment: &mut Experiment,
        _: &ExperimentContext<'_>,
        _: &mut dyn FnMut(PreparationEvent),
    ) -> Result<(), ExperimentError> {
        let Experiment { workload, arms, .. } = experiment;
        let refused =
            [("--tty", workload.on_terminal, NO_TERMINAL), ("--leave", workload.leaves_processes, NO_LEAVING)];
        for (option, _, why) in refused.into_iter().filter(|(_, is_asked, _)| *is_asked) {
            why.map_or(Ok(()), |why| Err(ExperimentError::NotHere { option, why }))?;
        }
        if let Some(file) = &workload.input {
            let unreadable = |source| ExperimentError::Input { file: file.clone(), source };
            open_for_command(Path::new(file)).map_err(unreadable)?;
        }
        arms.iter().try_for_each(|arm| check_installed(&workload.command_of(arm)))
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn TrialRunner + 'a>, ExperimentError> {
        let runner = open_process_runner(experiment, context)?;
        // A visit that estimates the clock takes a cpu for a millisecond, and makes a tail of its own.
        let estimates = context.estimates_clock && !experiment.workload.tells_of_tails();
        Ok(Box::new(if estimates { runner.with_clock_estimates() } else { runner }))
    }
}

/// Refuses a command if its program is not a file that can be run.
pub fn check_installed(command: &[String]) -> Result<(), ExperimentError> {
    let Some((program, path)) = command.first().zip(std::env::var_os("PATH")) else { return Ok(()) };
    if is_installed(program, Some(&path)) { Ok(()) } else { Err(ExperimentError::NotInstalled(program.clone())) }
}

/// Opens the runner of an experiment's command.
pub(super) fn open_process_runner<'a>(
    experiment: &Experiment,
    context: &ExperimentContext<'a>,
) -> Result<ProcessRunner<'a>, ExperimentError> {
    let all: CpuSet = cpuset::reachable_cpus().unwrap_or_else(|_| experiment.machine.allowed.clone());
    Ok(ProcessRunner::new(&experiment.workload, all, experiment.seed, context.stop)?)
}
