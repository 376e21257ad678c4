//! Runs a command as the load of services that are started for it, each part on a placement of its own.
//!
//! Usually every trial starts all services anew, on their cpus from the first instruction. Services that are kept
//! started move between placements instead, as running processes do, while the command runs.

mod by_name;
mod service;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_model::trial::{Arm, Experiment, Observed, Outcome, Parts, wash_out_s};
use corewise_sys::change::Journal;

use super::live::crew::{Crew, CrewError};
use super::live::stand::{self, Names};
use super::process::{ProcessRunner, policy};
use super::{Ended, Ran, Runner, TrialRequest};
use crate::LabError;
pub use crate::script::Trouble;
use by_name::ByName;
use service::{Beginning, RunningService, ask};

/// Starts services, runs a command beside them, and ends them.
pub struct PartsRunner<'a> {
    parts: Parts,
    arms: Vec<Arm>,
    names: Names,
    load: ProcessRunner<'a>,
    /// Running services, in the order in which they were started.
    running: Vec<RunningService>,
    any_ended: Arc<AtomicBool>,
    /// Places services that are kept started.
    crew: Option<Crew>,
    journal: Option<Journal>,
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
        journal: Option<Journal>,
        stop: &'a AtomicBool,
    ) -> Result<Self, LabError> {
        let parts = experiment.workload.parts.clone().ok_or(LabError::NoParts)?;
        let any_ended = Arc::new(AtomicBool::new(false));
        Ok(Self {
            names: Names::new(&experiment.workload.thread_roles)?,
            parts,
            arms: experiment.arms.clone(),
            load: load.ended_with(&any_ended),
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
    pub fn check(&mut self) -> Result<(), Trouble> {
        for service in &self.parts.services {
            let Some(question) = &service.ready else { continue };
            if ask(question, self.stop).is_ok() {
                let why = format!(
                    "`{question}` succeeds before {} is started: another one may be running (is its port in use?), or the command asks something else",
                    service.name
                );
                return Err(Trouble::Failed { why, output: String::new() });
            }
        }
        let started = self.arms.first().cloned().map_or(Ok(()), |baseline| self.start(&baseline));
        self.end();
        started
    }

    /// Starts the services on an arm, one after the other.
    fn start(&mut self, arm: &Arm) -> Result<(), Trouble> {
        self.any_ended.store(false, Ordering::SeqCst);
        let within = Duration::from_secs_f64(self.parts.ready_within_s);
        for service in &self.parts.services {
            let memory = arm.memory_of(&service.name).and_then(policy);
            let beginning = Beginning { cpus: arm.cpus_of(&service.name), memory, any_ended: &self.any_ended };
            let started = RunningService::start(service, &beginning).map_err(|error| {
                let why = format!("{} could not be started: {error}", service.name);
                Trouble::Failed { why, output: String::new() }
            })?;
            self.running.push(started);
            // The end of the last one is noticed while waiting for it.
            let before = self.running.len() - 1;
            self.running[..before].iter_mut().try_for_each(|running| match running.has_ended() {
                true => Err(running.failed("before all were ready")),
                false => Ok(()),
            })?;
            self.running.iter_mut().last().map_or(Ok(()), |last| last.wait_until_ready(within, self.stop))?;
        }
        Ok(())
    }

    /// Ends all services, the last one first.
    fn end(&mut self) {
        self.crew = None;
        while let Some(mut last) = self.running.pop() {
            last.end();
        }
    }

    /// Returns the failure of a service that has ended, if any.
    fn ended(&mut self) -> Option<Trouble> {
        let ended = self.running.iter_mut().find(|running| running.has_ended())?;
        Some(ended.failed("while the command ran"))
    }

    /// Makes one trial with services of its own.
    fn anew(&mut self, arm: &Arm, number: usize, request: TrialRequest) -> Result<Ran, Ended> {
        let ran = match self.start(arm) {
            Ok(()) => {
                let stand = self.names.stand(arm, &[]);
                let roots = self.running.iter().filter_map(RunningService::root).map(|root| root.id).collect();
                let _held = (!stand.roles.is_empty()).then(|| ByName::hold(&stand, roots));
                self.loaded(arm, number, request)
            }
            Err(trouble) => failed(trouble),
        };
        // Leftover processes would run beside the next trial.
        self.end();
        ran
    }

    /// Runs the command beside running services; if one of these ends, the trial has failed.
    fn loaded(&mut self, arm: &Arm, number: usize, request: TrialRequest) -> Result<Ran, Ended> {
        let ran = self.load.run(arm, number, request)?;
        match self.ended() {
            Some(Trouble::Failed { why, output }) => Ok(Ran { outcome: Outcome::Failed { why, output }, ..ran }),
            _ => Ok(ran),
        }
    }

    /// Makes one trial beside services that are kept started.
    fn beside_kept(&mut self, arm: &Arm, number: usize, request: TrialRequest) -> Result<Ran, Ended> {
        if self.running.is_empty() {
            self.begin_to_keep()?;
        }
        let roles: Vec<&str> = self.parts.services.iter().map(|service| service.name.as_str()).collect();
        let stand = self.names.stand(arm, &roles);
        let placed = self.crew.as_mut().map_or(Ok(()), |crew| crew.place(&stand));
        placed.map_err(|error: CrewError| Ended::Gone(error.to_string()))?;
        self.wait(Duration::from_secs_f64(wash_out_s(self.last_run.as_secs_f64())))?;
        let ran = self.load.run(arm, number, request)?;
        if let Some(Trouble::Failed { why, output }) = self.ended() {
            return Err(Ended::Gone(with_output(why, &output)));
        }
        let checked = self.crew.as_ref().map_or(Ok(()), Crew::check_placed);
        checked.map_err(|error| Ended::Gone(error.to_string()))?;
        self.last_run = Duration::from_secs_f64(ran.observed.wall_s.max(0.0));
        Ok(ran)
    }

    fn begin_to_keep(&mut self) -> Result<(), Ended> {
        let Some(baseline) = self.arms.first().cloned() else { return Ok(()) };
        self.start(&baseline).map_err(|trouble| match trouble {
            Trouble::Interrupted => Ended::Stopped,
            Trouble::Failed { why, output } => Ended::Gone(with_output(why, &output)),
        })?;
        let roots = self.running.iter().filter_map(RunningService::root).collect();
        self.crew = self.journal.take().map(|journal| Crew::new(roots, stand::placements(&self.arms), journal));
        Ok(())
    }

    fn wait(&self, time: Duration) -> Result<(), Ended> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.stop.load(Ordering::SeqCst) {
                return Err(Ended::Stopped);
            }
            std::thread::sleep(super::PAUSE_STEP.min(time));
        }
        Ok(())
    }
}

impl Runner for PartsRunner<'_> {
    fn run(&mut self, arm: &Arm, number: usize, request: TrialRequest) -> Result<Ran, Ended> {
        if self.parts.keep_started { self.beside_kept(arm, number, request) } else { self.anew(arm, number, request) }
    }

    fn begin_block(&mut self, block: u32) {
        self.load.begin_block(block);
    }
}

impl Drop for PartsRunner<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Converts the failure of a start to a failed trial, or an interruption to a stop.
fn failed(trouble: Trouble) -> Result<Ran, Ended> {
    match trouble {
        Trouble::Interrupted => Err(Ended::Stopped),
        Trouble::Failed { why, output } => Ok(Ran::failed(why, output, Observed::default())),
    }
}

/// Appends the last line of output to a reason.
fn with_output(why: String, output: &str) -> String {
    match output.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => format!("{why} ({})", last.trim()),
        None => why,
    }
}
