//! What the charts of an experiment with numbers of threads show: speed-ups on one scale, the ideal, and the law.

use corewise_model::experiment::{Cell, CellStanding, Fit, Law, MOST_FAILURES};
use corewise_model::stats::order::{median, quantile};
use corewise_model::trial::{ThreadsReport, blocks};

use super::answer::is_pinned;
use super::threads;
use crate::commands::r#try::screen::Shown;

/// A scale reaches no further than this multiple of the best that was measured, however far away the ideal is.
const FARTHEST: f64 = 1.5;

/// Speed-ups of all cells, each a ratio of throughputs: more is better for every metric.
pub struct Scaling {
    /// What they are against: the fewest threads that gave a number in the column in which numbers are compared.
    pub base: Cell,
    /// The median of the base as it is judged, the logarithm of a cost.
    pub base_x: f64,
    /// The cells: the fewest threads first, left to the operating system before pinned.
    pub points: Vec<Point>,
    /// The fitted law, and what it is multiplied by to be on this scale; absent where none is fitted.
    law: Option<(Law, f64)>,
    cpus: u32,
}

/// What was measured of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Which cell.
    pub cell: Cell,
    /// Its speed-up; absent where it failed or has no number yet.
    pub speed_up: Option<f64>,
    /// The middle half of its runs, around its speed-up; absent for fewer than two.
    pub spread: Option<(f64, f64)>,
    /// Whether it failed so often that it was given up, or gave no number.
    pub has_failed: bool,
}

impl Scaling {
    /// What there is to draw; absent for one number of threads, and where none gave a number.
    pub fn of(shown: Shown<'_>, report: &ThreadsReport) -> Option<Self> {
        report.standing.counts.as_ref()?;
        let is_pinned = is_pinned(report);
        let mut cells: Vec<&CellStanding> = report.standing.cells.iter().collect();
        cells.sort_by_key(|cell| (cell.cell.threads, cell.cell.pinned));
        let base =
            *cells.iter().find(|cell| cell.cell.pinned == is_pinned && cell.median.is_some() && !failed(cell))?;
        let base_x = base.median?;
        let points: Vec<Point> = cells.iter().map(|cell| point(shown, report, base, base_x, cell)).collect();
        let law = match &report.law {
            Fit::Fitted(law) => lift(law, &points, is_pinned).map(|lift| (law.clone(), lift)),
            Fit::TooFewCounts { .. } | Fit::TooFewBlocks { .. } => None,
        };
        Some(Self { base: base.cell, base_x, points, law, cpus: report.standing.cpus })
    }

    /// The speed-up if each thread did as much as one of the base; more threads than cpus cannot do more.
    pub fn ideal(&self, threads: f64) -> f64 {
        let base = f64::from(self.base.threads);
        (threads.min(f64::from(self.cpus)) / base).max(1.0)
    }

    /// The speed-up that the law has; absent beyond the number of cpus, which it does not describe.
    pub fn law(&self, threads: f64) -> Option<f64> {
        let (law, lift) = self.law.as_ref()?;
        (threads <= f64::from(self.cpus)).then(|| lift * law.speed_up(threads))
    }

    /// The numbers of threads between which the law is drawn.
    pub fn law_range(&self) -> Option<(u32, u32)> {
        let (law, _) = self.law.as_ref()?;
        Some((*law.counts.first()?, *law.counts.last()?))
    }

    /// Whether a cell is of the column that the law is fitted to.
    pub fn is_of_law(&self, cell: Cell) -> bool {
        let is_within = |(fewest, most): (u32, u32)| (fewest..=most).contains(&cell.threads);
        cell.pinned == self.base.pinned && self.law_range().is_some_and(is_within)
    }

    /// The number of cpus that the operating system may choose from.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// The numbers of threads, in ascending order.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.points.iter().map(|point| point.cell.threads).collect();
        counts.dedup();
        counts
    }

    /// Whether a column has cells.
    pub fn has(&self, pinned: bool) -> bool {
        self.points.iter().any(|point| point.cell.pinned == pinned)
    }

    /// Where a scale has to end to show all that was measured, and the ideal if that is not far away.
    pub fn highest(&self) -> f64 {
        let best = self.points.iter().filter_map(|point| point.speed_up).fold(1.0, f64::max);
        let most = self.counts().last().copied().unwrap_or(1);
        best.max(self.ideal(f64::from(most)).min(FARTHEST * best))
    }

    /// "against 1 thread, left to the operating system".
    pub fn against(&self) -> String {
        let place = if self.base.pinned { "pinned" } else { "OS default" };
        format!("against {}, {place}", threads(self.base.threads))
    }
}

fn failed(cell: &CellStanding) -> bool {
    cell.failures >= MOST_FAILURES || (cell.median.is_none() && cell.failures > 0)
}

/// What the law is multiplied by. It is fitted to ratios alone, so it goes through the middle of what was measured.
fn lift(law: &Law, points: &[Point], is_pinned: bool) -> Option<f64> {
    let is_fitted = |point: &&Point| point.cell.pinned == is_pinned && law.counts.contains(&point.cell.threads);
    let above = |point: &Point| Some((point.speed_up? / law.speed_up(f64::from(point.cell.threads))).ln());
    let all: Vec<f64> = points.iter().filter(is_fitted).filter_map(above).collect();
    (!all.is_empty()).then(|| median(&all).exp())
}

fn point(shown: Shown<'_>, report: &ThreadsReport, base: &CellStanding, base_x: f64, cell: &CellStanding) -> Point {
    let has_failed = failed(cell);
    let speed_up = estimate(report, base, base_x, cell).filter(|_| !has_failed).map(f64::exp);
    let values: Vec<f64> = blocks(shown.trials, &shown.experiment.workload.metric)
        .iter()
        .flat_map(|block| &block.runs)
        .filter(|run| run.arm == cell.arm)
        .filter_map(|run| run.x)
        .collect();
    let around = |at: f64| (median(&values) - quantile(&values, at)).exp();
    let spread = speed_up.filter(|_| values.len() > 1).map(|ratio| (ratio * around(0.75), ratio * around(0.25)));
    Point { cell: cell.cell, speed_up, spread, has_failed }
}

/// The logarithm of a cell's speed-up. As the table has it: the speed-up of its number, and pinned what that is against the
/// operating system at the same number. Where the table has none, from the medians.
fn estimate(report: &ThreadsReport, base: &CellStanding, base_x: f64, cell: &CellStanding) -> Option<f64> {
    let of_column = |cell: &CellStanding| {
        let fewest = report.standing.cells.iter().filter(|other| other.cell.pinned == cell.cell.pinned);
        let is_base_the_fewest = fewest.map(|other| other.cell.threads).min() == Some(base.cell.threads);
        let known = cell.speed_up.filter(|_| is_base_the_fewest && !failed(cell));
        known.or_else(|| cell.median.map(|x| base_x - x))
    };
    if cell.cell.pinned == base.cell.pinned {
        return of_column(cell);
    }
    let question = report.standing.pinned.iter().find(|pinned| pinned.threads == cell.cell.threads);
    let effect = question.and_then(|pinned| pinned.standing.arms.get(1)?.effect);
    let unpinned = report.standing.cell(Cell { pinned: base.cell.pinned, ..cell.cell }).and_then(of_column);
    let compared = unpinned.zip(effect).map(|(unpinned, effect)| unpinned + effect.estimate);
    compared.or_else(|| cell.median.map(|x| base_x - x))
}
