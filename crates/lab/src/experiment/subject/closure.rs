//! A closure of the program that embeds this crate.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_model::trial::{
    Experiment, FolderText, LOAD, PlacementArm, TrialMetric, TrialObservations, TrialOutcome, TriedWorkload,
};
use corewise_sys::affinity;

use super::ExperimentSubject;
use crate::experiment::context::ExperimentContext;
use crate::experiment::error::ExperimentError;
use crate::experiment::process::kernel_policy;
use crate::experiment::{RunnerEnd, TrialRequest, TrialResult, TrialRunner};
use crate::placement::reachable_here;

type Measurement<'c> = Box<dyn FnMut() -> Option<f64> + Send + 'c>;

/// A closure that is called once a run, on a new thread that stands on the arm's placement. Threads that it starts inherit the placement.
pub struct ClosureSubject<'c> {
    measurement: Mutex<Measurement<'c>>,
}

impl<'c> ClosureSubject<'c> {
    /// Returns a subject that is judged by the time that the closure takes.
    pub fn timed<Answer>(mut work: impl FnMut() -> Answer + Send + 'c) -> Self {
        Self::from_measurement(Box::new(move || {
            work();
            None
        }))
    }

    /// Returns a subject that is judged by the value that the closure returns, in the unit of the experiment's metric.
    pub fn measured(mut work: impl FnMut() -> f64 + Send + 'c) -> Self {
        Self::from_measurement(Box::new(move || Some(work())))
    }

    fn from_measurement(measurement: Measurement<'c>) -> Self {
        Self { measurement: Mutex::new(measurement) }
    }
}

impl ExperimentSubject for ClosureSubject<'_> {
    fn describe_workload(
        &self,
        metric: TrialMetric,
        guards: Vec<TrialMetric>,
    ) -> Result<TriedWorkload, ExperimentError> {
        let program = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        Ok(TriedWorkload {
            guards,
            ..TriedWorkload::new(vec![program, "(closure)".to_owned()], FolderText::from(""), metric)
        })
    }

    fn open_runner<'a>(
        &'a self,
        experiment: &Experiment,
        _context: &ExperimentContext<'a>,
    ) -> Result<Box<dyn TrialRunner + 'a>, ExperimentError> {
        Ok(Box::new(ClosureRunner { measurement: &self.measurement, all: reachable_here(&experiment.machine) }))
    }
}

struct ClosureRunner<'a, 'c> {
    measurement: &'a Mutex<Measurement<'c>>,
    /// The cpus of an arm without its own.
    all: CpuSet,
}

impl TrialRunner for ClosureRunner<'_, '_> {
    fn run(&mut self, arm: &PlacementArm, _: usize, request: TrialRequest) -> Result<TrialResult, RunnerEnd> {
        let run = || {
            place_thread(arm, &self.all)?;
            let mut measurement = self.measurement.lock().unwrap_or_else(PoisonError::into_inner);
            let (began, mut values, mut wall) = (Instant::now(), Vec::new(), Duration::ZERO);
            loop {
                match request.needs_run(u32::try_from(values.len()).unwrap_or(u32::MAX), began) {
                    Ok(true) => {}
                    Ok(false) => break Ok(Ok((values, wall))),
                    Err(ended) => break Ok(Err(ended)),
                }
                let run_began = Instant::now();
                let value = measurement();
                let took = run_began.elapsed();
                values.push(value.unwrap_or(took.as_secs_f64()));
                wall += took;
            }
        };
        let made = std::thread::scope(|scope| match scope.spawn(run).join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        match made {
            Err(why) => Ok(TrialResult::from_failure(why, String::new(), TrialObservations::default())),
            Ok(Err(ended)) => Err(ended),
            Ok(Ok((values, wall))) => {
                let runs = values.len().max(1) as f64;
                let observed = TrialObservations { wall_s: wall.as_secs_f64() / runs, ..TrialObservations::default() };
                let outcome = TrialOutcome::Value(values.iter().sum::<f64>() / runs);
                let repeats = u32::try_from(values.len()).unwrap_or(u32::MAX);
                Ok(TrialResult { repeats, outcome, guards: Vec::new(), readings: Vec::new(), observed })
            }
        }
    }
}

/// Puts the calling thread on an arm's cpus and memory; returns why if the system refuses.
fn place_thread(arm: &PlacementArm, all: &CpuSet) -> Result<(), String> {
    let cpus = arm.cpus_of(LOAD).unwrap_or(all);
    affinity::set_current(cpus).map_err(|error| format!("cannot be placed on cpus {cpus}: {error}"))?;
    let Some(memory) = arm.memory_of(LOAD).and_then(kernel_policy) else { return Ok(()) };
    memory.set_current().map_err(|error| format!("cannot have its memory policy: {error}"))
}
