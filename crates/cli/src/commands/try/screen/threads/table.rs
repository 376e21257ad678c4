//! The table: a row for each number of threads, a column for the OS default and for pinned.

use corewise_model::experiment::{ArmStanding, Cell, CellStanding, ThreadsStanding, Verdict};
use corewise_model::trial::Experiment;

use crate::commands::r#try::screen::Shown;
use crate::commands::r#try::screen::gain::{gain, interval};
use crate::commands::r#try::screen::standings::{arrow, value};
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{ABSENT, decimal};
use crate::draw::text::{Line, Tone};

/// Returns the table, the fewest threads first.
///
/// "Speed-up" is relative to the fewest threads of the column, and "against N" to the reference. "against OS"
/// compares pinned to the OS default at the same number of threads.
pub fn table(shown: Shown<'_>, standing: &ThreadsStanding) -> Grid {
    let [first, other] = names(standing);
    let mut grid = Grid::new(vec![
        Column::number("threads", "", 0),
        Column::number(first, "", 0),
        Column::number("speed-up", "", 1).named(format!("{first} speed-up")),
        Column::number(format!("against {}", standing.reference), "", 0),
        Column::text("", 0),
        Column::number("interval", "", 4).named(format!("interval against {}", standing.reference)),
        Column::number(other, "", 2),
        Column::number("speed-up", "", 5).named(format!("{other} speed-up")),
        Column::number("against OS", "", 0),
        Column::text("", 0),
        Column::number("interval", "", 3).named("interval against OS"),
    ]);
    for threads in counts(standing) {
        grid.row(Row::of(standing, threads).cells(shown, standing));
    }
    grid
}

fn names(standing: &ThreadsStanding) -> [&'static str; 2] {
    if standing.cells.iter().all(|cell| cell.cell.pinned) { ["pinned", ""] } else { ["OS", "pinned"] }
}

fn counts(standing: &ThreadsStanding) -> Vec<u32> {
    let mut counts: Vec<u32> = standing.cells.iter().map(|cell| cell.cell.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

struct Row<'a> {
    threads: u32,
    /// The cell in the column in which numbers are compared.
    first: Option<&'a CellStanding>,
    /// The pinned cell, if the other column is the OS default.
    second: Option<&'a CellStanding>,
    /// The standing against the reference.
    against: Option<&'a ArmStanding>,
    /// The standing of pinned against the OS default.
    pinned: Option<&'a ArmStanding>,
    is_best: bool,
}

impl<'a> Row<'a> {
    fn of(standing: &'a ThreadsStanding, threads: u32) -> Self {
        let is_pinned = standing.cells.iter().all(|cell| cell.cell.pinned);
        let first = standing.cell(Cell { threads, pinned: is_pinned });
        let second = standing.cell(Cell { threads, pinned: true }).filter(|_| !is_pinned);
        let counts = standing.counts.as_ref();
        let arm_of = |cell: &CellStanding| counts?.arms.iter().position(|arm| *arm == cell.arm);
        let arm = first.and_then(arm_of);
        let against = arm.filter(|arm| *arm > 0).and_then(|arm| counts?.standing.arms.get(arm));
        let question = standing.pinned.iter().find(|pinned| pinned.threads == threads);
        let best = counts.and_then(|counts| match counts.standing.verdict {
            Verdict::Wins { arm } => Some(arm),
            _ => None,
        });
        let pinned = question.and_then(|pinned| pinned.standing.arms.get(1));
        Self { threads, first, second, against, pinned, is_best: best.is_some() && best == arm }
    }

    fn cells(&self, shown: Shown<'_>, standing: &ThreadsStanding) -> Vec<Line> {
        let experiment = shown.experiment;
        let plain = |text: String| Line::new().plain(text);
        let median = |cell: Option<&CellStanding>| plain(median_of(shown, cell));
        let count = self.threads.to_string();
        let mut cells = vec![if self.is_best { Line::new().with(Tone::Good, count) } else { plain(count) }];
        cells.extend([median(self.first), plain(speed_up(self.first))]);
        if self.threads == standing.reference && standing.counts.is_some() {
            cells.extend([plain("1.00".to_owned()), Line::new(), Line::new()]);
        } else {
            cells.extend(compared(experiment, self.against));
        }
        cells.extend([median(self.second), plain(speed_up(self.second))]);
        cells.extend(compared(experiment, self.pinned));
        cells
    }
}

fn median_of(shown: Shown<'_>, cell: Option<&CellStanding>) -> String {
    let Some(cell) = cell else { return String::new() };
    cell.median.map_or_else(|| ABSENT.to_owned(), |x| value(shown, x))
}

fn speed_up(cell: Option<&CellStanding>) -> String {
    cell.and_then(|cell| cell.speed_up).map(f64::exp).map_or_else(String::new, times)
}

/// Formats a speed-up as "2.91x" or "12.4x".
pub fn times(ratio: f64) -> String {
    format!("{}x", decimal(ratio, if ratio < 9.995 { 2 } else { 1 }))
}

/// Returns an effect, its arrow and its interval.
fn compared(experiment: &Experiment, arm: Option<&ArmStanding>) -> [Line; 3] {
    let Some(arm) = arm else { return [Line::new(), Line::new(), Line::new()] };
    let text = |text: String| Line::new().plain(text);
    match &arm.effect {
        Some(effect) => [text(gain(effect.estimate)), arrow(&experiment.policy, arm), text(interval(effect))],
        None => [text(ABSENT.to_owned()), arrow(&experiment.policy, arm), Line::new()],
    }
}
