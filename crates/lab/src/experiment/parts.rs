//! Runs a command as the load of services that are started for it, each part on a placement of its own.
//!
//! Usually every trial starts all services anew, on their cpus from the first instruction. Services that are kept
//! started move between placements instead, as running processes do, while the command runs.

mod service;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_model::trial::{
    Experiment, PlacementArm, ServiceParts, TrialObservations, TrialOutcome, TriedWorkload, wash_out_s,
};
use corewise_sys::change::ChangeJournal;

use super::live::arm_places::{self, RolePatterns};
use super::live::crew::{CrewError, ProcessCrew};
use super::process::{ProcessRunner, arm_environment, kernel_policy};
use super::thread_placer::ThreadPlacer;
use super::{RunnerEnd, TrialRequest, TrialResult, TrialRunner};
use crate::LabError;
pub use crate::script::ScriptError;
use service::{RunningService, ServiceStart, ask_script};

/// Starts services, runs a command beside them, and ends them.
pub struct PartsRunner<'a> {
    workload: TriedWorkload,
    parts: ServiceParts,
    arms: Vec<PlacementArm>,
    names: RolePatterns,
    load: ProcessRunner<'a>,
    /// Running services, in the order in which they were started.
    running: Vec<RunningService>,
    any_ended: Arc<AtomicBool>,
    /// Places services that are kept started.
    crew: Option<ProcessCrew>,
    journal: Option<ChangeJournal>,
    last_run: Duration,
    stop: &'a AtomicBool,
}

impl<'a> PartsRunner<'a> {
    /// Returns a runner for an experiment with parts; it starts nothing yet. Services that are kept started are placed
    /// through the journal.
    ///
    /// # Errors
    /// [`LabError::NoParts`] if the experiment has none, [`LabError::Pattern`] if the name of a role of threads is not
    /// a regular expression.
    pub fn new(
        experiment: &Experiment,
        load: ProcessRunner<'a>,
        journal: Option<ChangeJournal>,
        stop: &'a AtomicBool,
    ) -> Result<Self, LabError> {
        let parts = experiment.workload.parts.clone().ok_or(LabError::NoParts)?;
        let any_ended = Arc::new(AtomicBool::new(false));
        Ok(Self {
            names: RolePatterns::new(&experiment.workload.thread_roles)?,
            workload: experiment.workload.clone(),
            parts,
            arms: experiment.arms.clone(),
            load: load.with_end_flag(&any_ended),
            running: Vec::new(),
            any_ended,
            crew: None,
            journal,
            last_run: Duration::ZERO,
            stop,
        })
    }

    /// Starts all services once without any placement, waits until they are ready, and ends them.
    ///
    /// # Errors
    /// The reason why they are not ready. Also fails if a check for readiness succeeds before its service is started.
    pub fn check_services(&mut self) -> Result<(), ScriptError> {
        let Some(baseline) = self.arms.first().cloned() else { return Ok(()) };
        for service in &self.workload.services_of(&baseline) {
            let Some(question) = &service.ready else { continue };
            if ask_script(question, self.stop).is_ok() {
                let why = format!(
                    "`{question}` succeeds before {} is started: another one may be running (is its port in use?), or the command asks something else",
                    service.name
                );
                return Err(ScriptError::Failed { why, output: String::new() });
            }
        }
        let started = self.start_services(&baseline);
        self.end_services();
        started
    }

    /// Starts the services on an arm, one after the other.
    fn start_services(&mut self, arm: &PlacementArm) -> Result<(), ScriptError> {
        self.any_ended.store(false, Ordering::SeqCst);
        let within = Duration::from_secs_f64(self.parts.ready_within_s);
        let environment = arm_environment(&self.workload, arm);
        for service in &self.workload.services_of(arm) {
            let memory = arm.memory_of(&service.name).and_then(kernel_policy);
            let beginning = ServiceStart {
                environment: &environment,
                cpus: arm.cpus_of(&service.name),
                memory,
                any_ended: &self.any_ended,
            };
            let started = RunningService::start_service(service, &beginning).map_err(|error| {
                let why = format!("{} could not be started: {error}", service.name);
                ScriptError::Failed { why, output: String::new() }
            })?;
            self.running.push(started);
            // The end of the last one is noticed while waiting for it.
            let before = self.running.len() - 1;
            self.running[..before].iter_mut().try_for_each(|running| match running.has_ended() {
                true => Err(running.explain_end("before all were ready")),
                false => Ok(()),
            })?;
            self.running.iter_mut().last().map_or(Ok(()), |last| last.wait_until_ready(within, self.stop))?;
        }
        Ok(())
    }

    /// Ends all services, the last one first.
    fn end_services(&mut self) {
        self.crew = None;
        while let Some(mut last) = self.running.pop() {
            last.end_service();
        }
    }

    /// Returns the failure of a service that has ended, if any.
    fn ended_service(&mut self) -> Option<ScriptError> {
        let ended = self.running.iter_mut().find(|running| running.has_ended())?;
        Some(ended.explain_end("while the command ran"))
    }

    /// Makes one trial with services of its own.
    fn run_anew(&mut self, arm: &PlacementArm, number: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        let ran = match self.start_services(arm) {
            Ok(()) => {
                let stand = self.names.places_on(arm, &[]);
                let roots = self.running.iter().filter_map(RunningService::root_process).map(|root| root.id).collect();
                let _held = (!stand.roles.is_empty()).then(|| ThreadPlacer::hold_threads(&stand, roots));
                self.run_beside(arm, number, request)
            }
            Err(trouble) => failed_trial(trouble),
        };
        // Leftover processes would run beside the next trial.
        self.end_services();
        ran
    }

    /// Runs the command beside running services; if one of these ends, the trial has failed.
    fn run_beside(
        &mut self,
        arm: &PlacementArm,
        number: usize,
        request: TrialRequest,
    ) -> Result<TrialResult, RunnerEnd> {
        let ran = self.load.run(arm, number, request)?;
        match self.ended_service() {
            Some(ScriptError::Failed { why, output }) => {
                Ok(TrialResult { outcome: TrialOutcome::Failed { why, output }, ..ran })
            }
            _ => Ok(ran),
        }
    }

    /// Makes one trial beside services that are kept started.
    fn run_beside_kept(
        &mut self,
        arm: &PlacementArm,
        number: usize,
        request: TrialRequest,
    ) -> Result<TrialResult, RunnerEnd> {
        if self.running.is_empty() {
            self.begin_to_keep()?;
        }
        let roles: Vec<&str> = self.parts.services.iter().map(|service| service.name.as_str()).collect();
        let stand = self.names.places_on(arm, &roles);
        let placed = self.crew.as_mut().map_or(Ok(()), |crew| crew.place_threads(&stand));
        placed.map_err(|error: CrewError| RunnerEnd::Gone(error.to_string()))?;
        self.wait_for(Duration::from_secs_f64(wash_out_s(self.last_run.as_secs_f64())))?;
        let ran = self.load.run(arm, number, request)?;
        if let Some(ScriptError::Failed { why, output }) = self.ended_service() {
            return Err(RunnerEnd::Gone(with_output(why, &output)));
        }
        let checked = self.crew.as_ref().map_or(Ok(()), ProcessCrew::check_placed);
        checked.map_err(|error| RunnerEnd::Gone(error.to_string()))?;
        self.last_run = Duration::from_secs_f64(ran.observed.wall_s.max(0.0));
        Ok(ran)
    }

    fn begin_to_keep(&mut self) -> Result<(), RunnerEnd> {
        let Some(baseline) = self.arms.first().cloned() else { return Ok(()) };
        self.start_services(&baseline).map_err(|trouble| match trouble {
            ScriptError::Interrupted => RunnerEnd::Stopped,
            ScriptError::Failed { why, output } => RunnerEnd::Gone(with_output(why, &output)),
        })?;
        let roots = self.running.iter().filter_map(RunningService::root_process).collect();
        self.crew = self
            .journal
            .take()
            .map(|journal| ProcessCrew::new(roots, arm_places::list_placements(&self.arms), journal));
        Ok(())
    }

    fn wait_for(&self, time: Duration) -> Result<(), RunnerEnd> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.stop.load(Ordering::SeqCst) {
                return Err(RunnerEnd::Stopped);
            }
            std::thread::sleep(super::PAUSE_STEP.min(time));
        }
        Ok(())
    }
}

impl TrialRunner for PartsRunner<'_> {
    fn run(&mut self, arm: &PlacementArm, number: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        if self.parts.keep_started {
            self.run_beside_kept(arm, number, request)
        } else {
            self.run_anew(arm, number, request)
        }
    }

    fn begin_block(&mut self, block: u32) {
        self.load.begin_block(block);
    }
}

impl Drop for PartsRunner<'_> {
    fn drop(&mut self) {
        self.end_services();
    }
}

/// Converts the failure of a start to a failed trial, or an interruption to a stop.
fn failed_trial(trouble: ScriptError) -> Result<TrialResult, RunnerEnd> {
    match trouble {
        ScriptError::Interrupted => Err(RunnerEnd::Stopped),
        ScriptError::Failed { why, output } => Ok(TrialResult::from_failure(why, output, TrialObservations::default())),
    }
}

/// Appends the last line of output to a reason.
fn with_output(why: String, output: &str) -> String {
    match output.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => format!("{why} ({})", last.trim()),
        None => why,
    }
}
