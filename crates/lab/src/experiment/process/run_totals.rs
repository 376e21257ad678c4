//! The runs of a trial, added up.

use corewise_model::sample::MetricReading;
use corewise_model::trial::{TrialObservations, TrialOutcome};
use corewise_statistics::quantity::{MeasuredQuantity, QuantityUnit, QuotedQuantity, UnitChange};
use corewise_sys::execution::ExecutionResult;

use super::super::TrialResult;
use super::ProcessRunner;
use super::metrics::FoundMetric;
use crate::script::last_lines;

/// Sum of runs in a row.
pub(super) struct RunTotals {
    pub observed: TrialObservations,
    pub supervisors_s: f64,
    wall_s: f64,
    /// Runs of the metric, and of each guard.
    pub runs: Vec<Vec<QuotedQuantity>>,
    gigahertz: Vec<f64>,
    pub failure: Option<(String, String)>,
}

impl RunTotals {
    pub fn new(metrics: usize) -> Self {
        Self {
            observed: TrialObservations { migrations: Some(0), ..TrialObservations::default() },
            supervisors_s: 0.0,
            wall_s: 0.0,
            runs: vec![Vec::new(); metrics],
            gigahertz: Vec::new(),
            failure: None,
        }
    }

    pub fn set_failure(&mut self, why: String, output: String) {
        self.failure = Some((why, output));
    }

    pub fn add_executed(&mut self, executed: &ExecutionResult, found: &[FoundMetric], runner: &ProcessRunner<'_>) {
        self.account_run(executed);
        if let Some(why) = runner.explain_failure(executed, found) {
            return self.set_failure(why, last_lines(&executed.output));
        }
        for (at, found) in found.iter().enumerate() {
            let run = match found {
                FoundMetric::Quantity(run) => run.clone(),
                _ => wall_time(executed),
            };
            if let Err(change) = self.add_run(at, run) {
                let why = format!("{} {change}", runner.workload.describe_metric(at));
                return self.set_failure(why, last_lines(&executed.output));
            }
        }
    }

    /// Adds a run of a metric, in the unit of the first one.
    fn add_run(&mut self, at: usize, mut run: QuotedQuantity) -> Result<(), UnitChange> {
        if let Some(first) = self.runs[at].first() {
            let value = run.in_unit_of(first)?;
            run.quantity = MeasuredQuantity { value, unit: first.quantity.unit.clone() };
        }
        self.runs[at].push(run);
        Ok(())
    }

    pub fn account_run(&mut self, executed: &ExecutionResult) {
        let (sum, usage, seen) = (&mut self.observed, &executed.usage, &executed.observed);
        self.wall_s += executed.wall.as_secs_f64();
        self.supervisors_s += executed.supervisor_s;
        sum.user_s += usage.user_s;
        sum.system_s += usage.system_s;
        sum.peak_memory_bytes = sum.peak_memory_bytes.max(usage.peak_memory_bytes);
        sum.voluntary_switches += usage.voluntary_switches;
        sum.involuntary_switches += usage.involuntary_switches;
        sum.minor_faults += usage.minor_faults;
        sum.major_faults += usage.major_faults;
        sum.migrations = sum.migrations.zip(executed.migrations).map(|(sum, more)| sum + more);
        let estimate = mean_of(&executed.estimated_gigahertz).filter(|_| executed.gigahertz.is_none());
        sum.gigahertz_is_estimate |= estimate.is_some();
        self.gigahertz.extend(executed.gigahertz.or(estimate));
        sum.used = sum.used.union(&seen.used);
        sum.own_mask = sum.own_mask.take().or_else(|| seen.own_mask.clone());
        sum.most_threads = sum.most_threads.max(seen.most_threads);
        sum.left_behind += executed.left_behind;
        sum.output_bytes += executed.output_bytes;
    }

    pub fn into_result(self) -> TrialResult {
        let means: Vec<Option<f64>> = self.runs.iter().map(|runs| mean_of_runs(runs)).collect();
        let made = self.runs[0].len() + usize::from(self.failure.is_some());
        let repeats = u32::try_from(made).unwrap_or(u32::MAX).max(1);
        let readings: Option<Vec<MetricReading>> =
            self.runs.iter().map(|runs| MetricReading::from_runs(runs)).collect();
        let are_lines = |readings: &Vec<MetricReading>| readings.iter().any(|reading| !reading.runs.is_empty());
        let mut observed = self.observed;
        observed.wall_s = self.wall_s / f64::from(repeats);
        observed.gigahertz = mean_of(&self.gigahertz);
        let outcome = match self.failure {
            Some((why, output)) => TrialOutcome::Failed { why, output },
            None => means[0].map_or_else(
                || TrialOutcome::Failed { why: "it was not run".to_owned(), output: String::new() },
                TrialOutcome::Value,
            ),
        };
        let readings = readings.filter(are_lines).unwrap_or_default();
        TrialResult { repeats, outcome, guards: means[1..].to_vec(), readings, observed }
    }
}

/// Returns the wall time as a quantity, which has no line of output.
fn wall_time(executed: &ExecutionResult) -> QuotedQuantity {
    let quantity = MeasuredQuantity { value: executed.wall.as_secs_f64(), unit: QuantityUnit::seconds() };
    QuotedQuantity { quantity, line: String::new() }
}

fn mean_of_runs(runs: &[QuotedQuantity]) -> Option<f64> {
    mean_of(&runs.iter().map(|run| run.quantity.value).collect::<Vec<f64>>())
}

fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
