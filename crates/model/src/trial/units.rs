//! A common unit for all values of a metric.

use super::{Experiment, Trial, TrialOutcome, TriedWorkload};
use crate::sample::MetricReading;
use corewise_statistics::quantity::{QuantityUnit, UnitChange};

/// The units of an experiment's metric and of its guards: the units of the first values.
#[derive(Clone, Debug)]
pub struct UnitLedger {
    /// Names for messages: "its metric p99", "its guard errors".
    names: Vec<String>,
    /// The unit and its line; the metric's first, then each guard's.
    first: Vec<Option<(QuantityUnit, String)>>,
}

impl UnitLedger {
    /// Creates the ledger after some of an experiment's trials.
    pub fn from_trials(workload: &TriedWorkload, trials: &[Trial]) -> Self {
        let names: Vec<String> = (0..=workload.guards.len()).map(|at| workload.describe_metric(at)).collect();
        let mut ledger = Self { first: vec![None; names.len()], names };
        for trial in trials {
            (0..trial.readings.len()).for_each(|at| ledger.remember_unit(at, &trial.readings[at]));
        }
        ledger
    }

    fn remember_unit(&mut self, at: usize, reading: &MetricReading) {
        if let Some(first @ None) = self.first.get_mut(at) {
            let line = reading.runs.first().map_or_else(String::new, |run| run.line.clone());
            *first = Some((reading.unit.clone(), line));
        }
    }

    /// Converts the values of a trial to the units of the first ones. The trial fails if they do not convert.
    pub fn unify_units(&mut self, trial: &mut Trial) {
        if matches!(trial.outcome, TrialOutcome::Failed { .. }) {
            trial.readings.clear();
            return;
        }
        for at in 0..trial.readings.len() {
            self.remember_unit(at, &trial.readings[at]);
            let Some(Some((unit, line))) = self.first.get(at) else { continue };
            if let Err(change) = convert_metric(trial, at, unit, line) {
                let why = format!("{} {change}", self.names[at]);
                trial.outcome = TrialOutcome::Failed { why, output: String::new() };
                trial.guards.clear();
                trial.readings.clear();
                return;
            }
        }
    }
}

/// Converts one metric of a trial to a unit.
fn convert_metric(trial: &mut Trial, at: usize, unit: &QuantityUnit, line: &str) -> Result<(), UnitChange> {
    let reading = &mut trial.readings[at];
    let from = std::mem::replace(&mut reading.unit, unit.clone());
    if from == *unit {
        return Ok(());
    }
    for run in &mut reading.runs {
        run.quantity.value = run.quantity.value_in(unit).ok_or_else(|| UnitChange::new(unit, line, &*run))?;
        run.quantity.unit = unit.clone();
    }
    let to_unit = |value: &mut f64| *value = from.convert_value(*value, unit).unwrap_or(*value);
    match (at, &mut trial.outcome) {
        (0, TrialOutcome::Value(value)) => {
            to_unit(value);
            trial.observed.halves.iter_mut().flatten().for_each(to_unit);
        }
        _ => trial.guards.get_mut(at.wrapping_sub(1)).into_iter().flatten().for_each(to_unit),
    }
    Ok(())
}

/// Returns the unit of a metric's values (0), or of a guard's (from 1 on), in an experiment.
fn unit_at(experiment: &Experiment, trials: &[Trial], at: usize) -> QuantityUnit {
    let workload = &experiment.workload;
    let of_trials = trials.iter().find_map(|trial| trial.readings.get(at)).map(|reading| reading.unit.clone());
    let metric = || std::iter::once(&workload.metric).chain(&workload.guards).nth(at);
    of_trials.or_else(|| Some(metric()?.usual_unit())).unwrap_or_default()
}

/// Returns the unit of an experiment's metric.
pub fn metric_unit(experiment: &Experiment, trials: &[Trial]) -> QuantityUnit {
    unit_at(experiment, trials, 0)
}

/// Returns the units of an experiment's metric and of its guards.
pub fn metric_units(experiment: &Experiment, trials: &[Trial]) -> Vec<QuantityUnit> {
    (0..=experiment.workload.guards.len()).map(|at| unit_at(experiment, trials, at)).collect()
}
