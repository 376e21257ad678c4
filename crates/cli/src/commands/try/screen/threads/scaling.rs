//! The data of the charts of an experiment with numbers of threads: speed-ups on one scale, the ideal, and the law.

use corewise_model::trial::{ThreadsReport, trial_blocks};
use corewise_statistics::experiment::{CellStanding, LawFit, MOST_FAILURES, ScalingLaw, ThreadsCell};
use corewise_statistics::order::{median, quantile};

use super::answer::is_pinned;
use super::format_threads;
use crate::commands::r#try::screen::ShownExperiment;

/// Maximum end of the scale, as a multiple of the best measurement, even if the ideal lies beyond.
const FARTHEST: f64 = 1.5;

/// Speed-ups of all cells, each a ratio of throughputs: more is better for every metric.
pub struct ThreadScaling {
    /// The cell with speed-up 1: the fewest threads with a value, in the column in which numbers are compared.
    pub base: ThreadsCell,
    /// The median of the base as judged, the logarithm of a cost.
    pub base_x: f64,
    /// The cells: the fewest threads first, the OS default before pinned.
    pub points: Vec<ScalingPoint>,
    /// The fitted law, and its factor to this scale; `None` without a fit.
    law: Option<(ScalingLaw, f64)>,
    cpus: u32,
}

/// The measurements of a cell.
#[derive(Clone, Copy, Debug)]
pub struct ScalingPoint {
    /// The cell.
    pub cell: ThreadsCell,
    /// Its speed-up; `None` if it failed or has no value yet.
    pub speed_up: Option<f64>,
    /// The interquartile range of its runs, around its speed-up; `None` for fewer than two runs.
    pub spread: Option<(f64, f64)>,
    /// True if it was given up after failures, or failed without any value.
    pub has_failed: bool,
}

impl ThreadScaling {
    /// Collects the data; `None` for a single number of threads, or without any value.
    pub fn from_report(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Option<Self> {
        report.standing.counts.as_ref()?;
        let is_pinned = is_pinned(report);
        let mut cells: Vec<&CellStanding> = report.standing.cells.iter().collect();
        cells.sort_by_key(|cell| (cell.cell.threads, cell.cell.pinned));
        let base = *cells
            .iter()
            .find(|cell| cell.cell.pinned == is_pinned && cell.median.is_some() && !is_failed_cell(cell))?;
        let base_x = base.median?;
        let points: Vec<ScalingPoint> =
            cells.iter().map(|cell| measure_point(shown, report, base, base_x, cell)).collect();
        let law = match &report.law {
            LawFit::Fitted(law) => law_factor(law, &points, is_pinned).map(|lift| (law.clone(), lift)),
            LawFit::TooFewCounts { .. } | LawFit::TooFewBlocks { .. } => None,
        };
        Some(Self { base: base.cell, base_x, points, law, cpus: report.standing.cpus })
    }

    /// Returns the speed-up if each thread did as much as one of the base, with at most one thread for each cpu.
    pub fn ideal_speed_up(&self, threads: f64) -> f64 {
        let base = f64::from(self.base.threads);
        (threads.min(f64::from(self.cpus)) / base).max(1.0)
    }

    /// Returns the speed-up by the law; `None` beyond the number of cpus, which the law does not describe.
    pub fn law_speed_up(&self, threads: f64) -> Option<f64> {
        let (law, lift) = self.law.as_ref()?;
        (threads <= f64::from(self.cpus)).then(|| lift * law.speed_up(threads))
    }

    /// Returns the fewest and the most threads to which the law is fitted.
    pub fn law_range(&self) -> Option<(u32, u32)> {
        let (law, _) = self.law.as_ref()?;
        Some((*law.counts.first()?, *law.counts.last()?))
    }

    /// Returns true if the law is fitted to the column of a cell, and covers its number of threads.
    pub fn is_of_law(&self, cell: ThreadsCell) -> bool {
        let is_within = |(fewest, most): (u32, u32)| (fewest..=most).contains(&cell.threads);
        cell.pinned == self.base.pinned && self.law_range().is_some_and(is_within)
    }

    /// Returns the number of cpus available under the OS default.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Returns the numbers of threads in ascending order.
    pub fn thread_counts(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.points.iter().map(|point| point.cell.threads).collect();
        counts.dedup();
        counts
    }

    /// Returns true if a column has cells.
    pub fn has_column(&self, pinned: bool) -> bool {
        self.points.iter().any(|point| point.cell.pinned == pinned)
    }

    /// Returns the end of a scale that shows all measurements, and the ideal unless it is far away.
    pub fn highest_speed_up(&self) -> f64 {
        let best = self.points.iter().filter_map(|point| point.speed_up).fold(1.0, f64::max);
        let most = self.thread_counts().last().copied().unwrap_or(1);
        best.max(self.ideal_speed_up(f64::from(most)).min(FARTHEST * best))
    }

    /// Describes the base, such as "against 1 thread, OS default".
    pub fn describe_base(&self) -> String {
        let place = if self.base.pinned { "pinned" } else { "OS default" };
        format!("against {}, {place}", format_threads(self.base.threads))
    }
}

fn is_failed_cell(cell: &CellStanding) -> bool {
    cell.failures >= MOST_FAILURES || (cell.median.is_none() && cell.failures > 0)
}

/// Returns the factor of the law. The law is fitted to ratios alone, so the factor centres it on the measurements.
fn law_factor(law: &ScalingLaw, points: &[ScalingPoint], is_pinned: bool) -> Option<f64> {
    let is_fitted = |point: &&ScalingPoint| point.cell.pinned == is_pinned && law.counts.contains(&point.cell.threads);
    let above = |point: &ScalingPoint| Some((point.speed_up? / law.speed_up(f64::from(point.cell.threads))).ln());
    let all: Vec<f64> = points.iter().filter(is_fitted).filter_map(above).collect();
    (!all.is_empty()).then(|| median(&all).exp())
}

fn measure_point(
    shown: ShownExperiment<'_>,
    report: &ThreadsReport,
    base: &CellStanding,
    base_x: f64,
    cell: &CellStanding,
) -> ScalingPoint {
    let has_failed = is_failed_cell(cell);
    let speed_up = estimate_speed_up(report, base, base_x, cell).filter(|_| !has_failed).map(f64::exp);
    let values: Vec<f64> = trial_blocks(shown.trials, &shown.experiment.workload.metric)
        .iter()
        .flat_map(|block| &block.runs)
        .filter(|run| run.arm == cell.arm)
        .filter_map(|run| run.x)
        .collect();
    let around = |at: f64| (median(&values) - quantile(&values, at)).exp();
    let spread = speed_up.filter(|_| values.len() > 1).map(|ratio| (ratio * around(0.75), ratio * around(0.25)));
    ScalingPoint { cell: cell.cell, speed_up, spread, has_failed }
}

/// Returns the logarithm of a cell's speed-up, consistent with the table. It is the speed-up of its number of threads, and for a pinned
/// cell also the effect of pinning at that number. Cells missing in the table use the medians.
fn estimate_speed_up(report: &ThreadsReport, base: &CellStanding, base_x: f64, cell: &CellStanding) -> Option<f64> {
    let of_column = |cell: &CellStanding| {
        let fewest = report.standing.cells.iter().filter(|other| other.cell.pinned == cell.cell.pinned);
        let is_base_the_fewest = fewest.map(|other| other.cell.threads).min() == Some(base.cell.threads);
        let known = cell.speed_up.filter(|_| is_base_the_fewest && !is_failed_cell(cell));
        known.or_else(|| cell.median.map(|x| base_x - x))
    };
    if cell.cell.pinned == base.cell.pinned {
        return of_column(cell);
    }
    let question = report.standing.pinned.iter().find(|pinned| pinned.threads == cell.cell.threads);
    let effect = question.and_then(|pinned| pinned.standing.arms.get(1)?.effect);
    let unpinned = report.standing.find_cell(ThreadsCell { pinned: base.cell.pinned, ..cell.cell }).and_then(of_column);
    let compared = unpinned.zip(effect).map(|(unpinned, effect)| unpinned + effect.estimate);
    compared.or_else(|| cell.median.map(|x| base_x - x))
}
