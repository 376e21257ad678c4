//! Whether a metric's values measure anything: the same value in every run does not, and values that are far apart may be misread.

use super::{Experiment, Outcome, Trial};
use crate::experiment::Doubt;
use crate::quantity::{MeasuredQuantity, QuantityUnit, QuotedQuantity};

/// Least number of runs that have to agree before a metric counts as constant.
const LEAST_RUNS: usize = 4;
/// Ratio of two values from which on one of them may be misread.
const FAR_APART: f64 = 20.0;
/// The same for placements of different sizes, in terms of the ratio of their cpus: so much more work is possible.
const OF_SIZES: f64 = 2.0;
/// Largest ratio of two wall times that count as equal.
const EQUAL_TIMES: f64 = 2.0;

/// The values so far, with their lines.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    is_wall_time: bool,
    /// Rare values differ by much from run to run: of them the medians of placements count.
    is_tail: bool,
    /// How many cpus, or threads, each arm has.
    sizes: Vec<f64>,
    unit: QuantityUnit,
    values: Vec<f64>,
    runs: Vec<MeasuredRun>,
}

/// One value with its line and its circumstances.
#[derive(Clone, Debug)]
struct MeasuredRun {
    arm: usize,
    wall_s: f64,
    run: QuotedQuantity,
}

impl MeasuredRun {
    fn value(&self) -> f64 {
        self.run.quantity.value
    }
}

impl Measurement {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let metric = &experiment.workload.metric;
        let all = experiment.machine.allowed.len();
        let size = |arm: &super::Arm| match arm.threads {
            Some(threads) => f64::from(threads),
            None => arm.cpus.as_ref().map_or(all, crate::CpuSet::len).max(1) as f64,
        };
        Self {
            is_wall_time: metric.is_wall_time(),
            is_tail: metric.is_tail(),
            sizes: experiment.arms.iter().map(size).collect(),
            unit: metric.usual_unit(),
            values: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Takes the trials of a block into account.
    pub(super) fn add(&mut self, trials: &[&Trial]) {
        for trial in trials {
            let Outcome::Value(value) = trial.outcome else { continue };
            self.values.push(value);
            let Some(reading) = trial.readings.first() else { continue };
            let (arm, wall_s) = (trial.arm, trial.observed.wall_s);
            self.unit = reading.unit.clone();
            self.runs.extend(reading.runs.iter().map(|run| MeasuredRun { arm, wall_s, run: run.clone() }));
        }
    }

    /// What is wrong with the values, if anything.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        if self.is_wall_time { None } else { self.constant().or_else(|| self.far_apart()) }
    }

    fn constant(&self) -> Option<Doubt> {
        let first = *self.values.first().filter(|_| self.values.len() >= LEAST_RUNS)?;
        let unread = || QuotedQuantity {
            quantity: MeasuredQuantity { value: first, unit: self.unit.clone() },
            line: String::new(),
        };
        let run = self.runs.first().map_or_else(unread, |run| run.run.clone());
        self.values.iter().all(|value| *value == first).then_some(Doubt::ConstantMetric { run })
    }

    fn far_apart(&self) -> Option<Doubt> {
        let medians: Vec<&MeasuredRun> = (0..self.sizes.len()).filter_map(|arm| self.median_of(arm)).collect();
        let all = || self.runs.iter().collect();
        let candidates: Vec<&MeasuredRun> = if self.is_tail { medians } else { all() };
        let by_value = |a: &&&MeasuredRun, b: &&&MeasuredRun| a.value().total_cmp(&b.value());
        let (least, greatest) = (candidates.iter().min_by(by_value)?, candidates.iter().max_by(by_value)?);
        let is_equal = |a: f64, b: f64| a.max(b) <= EQUAL_TIMES * a.min(b);
        let sizes = [least, greatest].map(|run| self.sizes.get(run.arm).copied().unwrap_or(1.0));
        let enough = FAR_APART.max(OF_SIZES * sizes[0].max(sizes[1]) / sizes[0].min(sizes[1]));
        let is_far = greatest.value() > 0.0 && greatest.value() >= enough * least.value();
        // Counts of what is rare go from none to some.
        let is_doubtful = is_far && least.value() > 0.0 && is_equal(least.wall_s, greatest.wall_s);
        is_doubtful.then(|| Doubt::FarApartMetric {
            times: greatest.value() / least.value(),
            least: least.run.clone(),
            greatest: greatest.run.clone(),
        })
    }

    /// The run of an arm whose value is in the middle.
    fn median_of(&self, arm: usize) -> Option<&MeasuredRun> {
        let mut runs: Vec<&MeasuredRun> = self.runs.iter().filter(|run| run.arm == arm).collect();
        runs.sort_by(|a, b| a.value().total_cmp(&b.value()));
        runs.get(runs.len() / 2).copied()
    }
}
