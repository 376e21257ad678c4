//! The table: a row for each number of threads, a column for the OS default and for pinned.

use corewise_model::trial::Experiment;
use corewise_statistics::experiment::{ArmStanding, CellStanding, ThreadsCell, ThreadsStanding, Verdict};

use crate::commands::r#try::screen::ShownExperiment;
use crate::commands::r#try::screen::standings::{draw_arrow, format_value};
use crate::draw::gain::{format_gain, format_interval};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{ABSENT, format_decimal};
use crate::draw::text::{StyledLine, TextTone};

/// Returns the table, the fewest threads first.
///
/// "Speed-up" is relative to the fewest threads of the column, and "against N" to the reference. "against OS"
/// compares pinned to the OS default at the same number of threads.
pub fn draw_table(shown: ShownExperiment<'_>, standing: &ThreadsStanding) -> TextGrid {
    let [first, other] = column_titles(standing);
    let mut grid = TextGrid::new(vec![
        GridColumn::number("threads", "", 0),
        GridColumn::number(first, "", 0),
        GridColumn::number("speed-up", "", 1).with_name(format!("{first} speed-up")),
        GridColumn::number(format!("against {}", standing.reference), "", 0),
        GridColumn::text("", 0),
        GridColumn::number("interval", "", 4).with_name(format!("interval against {}", standing.reference)),
        GridColumn::number(other, "", 2),
        GridColumn::number("speed-up", "", 5).with_name(format!("{other} speed-up")),
        GridColumn::number("against OS", "", 0),
        GridColumn::text("", 0),
        GridColumn::number("interval", "", 3).with_name("interval against OS"),
    ]);
    for threads in thread_counts(standing) {
        grid.add_row(ThreadsRow::from_standing(standing, threads).draw_cells(shown, standing));
    }
    grid
}

fn column_titles(standing: &ThreadsStanding) -> [&'static str; 2] {
    if standing.cells.iter().all(|cell| cell.cell.pinned) { ["pinned", ""] } else { ["OS", "pinned"] }
}

fn thread_counts(standing: &ThreadsStanding) -> Vec<u32> {
    let mut counts: Vec<u32> = standing.cells.iter().map(|cell| cell.cell.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

struct ThreadsRow<'a> {
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

impl<'a> ThreadsRow<'a> {
    fn from_standing(standing: &'a ThreadsStanding, threads: u32) -> Self {
        let is_pinned = standing.cells.iter().all(|cell| cell.cell.pinned);
        let first = standing.find_cell(ThreadsCell { threads, pinned: is_pinned });
        let second = standing.find_cell(ThreadsCell { threads, pinned: true }).filter(|_| !is_pinned);
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

    fn draw_cells(&self, shown: ShownExperiment<'_>, standing: &ThreadsStanding) -> Vec<StyledLine> {
        let experiment = shown.experiment;
        let plain = |text: String| StyledLine::new().plain(text);
        let median = |cell: Option<&CellStanding>| plain(median_of(shown, cell));
        let count = self.threads.to_string();
        let mut cells = vec![if self.is_best { StyledLine::new().with(TextTone::Good, count) } else { plain(count) }];
        cells.extend([median(self.first), plain(speed_up(self.first))]);
        if self.threads == standing.reference && standing.counts.is_some() {
            cells.extend([plain("1.00".to_owned()), StyledLine::new(), StyledLine::new()]);
        } else {
            cells.extend(draw_comparison(experiment, self.against));
        }
        cells.extend([median(self.second), plain(speed_up(self.second))]);
        cells.extend(draw_comparison(experiment, self.pinned));
        cells
    }
}

fn median_of(shown: ShownExperiment<'_>, cell: Option<&CellStanding>) -> String {
    let Some(cell) = cell else { return String::new() };
    cell.median.map_or_else(|| ABSENT.to_owned(), |x| format_value(shown, x))
}

fn speed_up(cell: Option<&CellStanding>) -> String {
    cell.and_then(|cell| cell.speed_up).map(f64::exp).map_or_else(String::new, format_times)
}

/// Formats a speed-up as "2.91x" or "12.4x".
pub fn format_times(ratio: f64) -> String {
    format!("{}x", format_decimal(ratio, if ratio < 9.995 { 2 } else { 1 }))
}

/// Returns an effect, its arrow and its interval.
fn draw_comparison(experiment: &Experiment, arm: Option<&ArmStanding>) -> [StyledLine; 3] {
    let Some(arm) = arm else { return [StyledLine::new(), StyledLine::new(), StyledLine::new()] };
    let text = |text: String| StyledLine::new().plain(text);
    match &arm.effect {
        Some(effect) => {
            [text(format_gain(effect.estimate)), draw_arrow(&experiment.policy, arm), text(format_interval(effect))]
        }
        None => [text(ABSENT.to_owned()), draw_arrow(&experiment.policy, arm), StyledLine::new()],
    }
}
