//! Lines of a map: head, labels and cells.

use anstyle::Color;

use super::cut::Cut;
use super::{Form, Gaps, Heat};
use crate::draw::heat::depth::shade;
use crate::draw::heat::labels::labelled;
use crate::draw::number::brief;
use crate::draw::text::{Line, Tone};

impl Heat<'_> {
    /// Draws the head and the rows.
    pub(super) fn draw(&self) -> Vec<Line> {
        let columns = axis(&self.plan.columns, self.plan.gaps != Gaps::None);
        let rows = axis(&self.plan.rows, self.plan.gaps == Gaps::Both);
        let mut lines = vec![self.head()];
        lines.extend(rows.chunks(self.plan.form.rows()).map(|rows| self.row(rows, &columns)));
        lines
    }

    /// Draws the column labels that fit.
    fn head(&self) -> Line {
        let (cut, cell) = (&self.plan.columns, self.plan.form.columns());
        let gaps = self.plan.gaps != Gaps::None;
        let gaps_before = |block| (0..=block).filter(|&before| gaps && cut.is_apart(before)).count();
        let start = |block| self.plan.margin + 1 + block * cell + gaps_before(block);
        let starts: Vec<usize> = (0..cut.len()).map(start).collect();
        let label = |block: usize| self.map.columns.label(cut.first(block));
        let longest = (0..cut.len()).map(|block| label(block).chars().count()).max().unwrap_or(0);
        let chosen = labelled(&cut.groups(), |block| starts[block] as f64, cell as f64, (longest + 1) as f64);
        let mut text = String::new();
        for block in chosen {
            let column = match self.plan.form {
                // Aligned with the last digit.
                Form::Figures(_) => starts[block] + (cell - 1).saturating_sub(label(block).chars().count()),
                _ => starts[block],
            };
            if column + label(block).chars().count() <= self.width {
                text = format!("{text:<column$}{}", label(block));
            }
        }
        Line::new().faint(text)
    }

    /// Draws one line with its one or two rows.
    fn row(&self, rows: &[Option<usize>], columns: &[Option<usize>]) -> Line {
        let margin = self.plan.margin;
        let Some(first) = rows.iter().flatten().next() else { return Line::new() };
        let label: String = self.map.rows.label(self.plan.rows.first(*first)).chars().take(margin).collect();
        let line = Line::new().faint(format!("{label:>margin$} "));
        columns.iter().fold(line, |line, column| match (column, rows) {
            (None, _) => line.plain(" "),
            (Some(column), [Some(row)]) if self.plan.form != Form::Half => line.then(self.cell(*row, *column)),
            (Some(column), rows) => {
                let colour = |row: &Option<usize>| row.and_then(|row| self.colour(row, *column));
                line.then(half(colour(&rows[0]), rows.get(1).and_then(colour)))
            }
        })
    }

    fn cell(&self, row: usize, column: usize) -> Line {
        let (columns, depth) = (self.plan.form.columns(), self.depth);
        let Some(position) = self.position(row, column) else {
            let mark = if self.map.is_own(row, column) { "-" } else { "" };
            return Line::new().faint(match self.plan.form {
                Form::Figures(_) => format!("{mark:>width$} ", width = columns - 1),
                _ => format!("{mark:<columns$}"),
            });
        };
        if matches!(self.plan.form, Form::Figures(_)) {
            let text = format!("{:>width$} ", brief(self.cost(row, column)), width = columns - 1);
            if self.is_predicted(row, column) {
                return Line::new().faint(text);
            }
            return Line::new().with(depth.text_on(position), text);
        }
        // A prediction fills half of its cell.
        let half = columns > 1 && self.is_predicted(row, column);
        match depth.colour(position) {
            Some(colour) if half => {
                Line::new().with(Tone::Paint { text: Some(colour), behind: None }, "▒".repeat(columns))
            }
            None if half => Line::new().plain(format!("{:<columns$}", shade(position))),
            Some(colour) => Line::new().with(Tone::Paint { text: None, behind: Some(colour) }, " ".repeat(columns)),
            None => Line::new().plain(shade(position).to_string().repeat(columns)),
        }
    }

    fn cost(&self, row: usize, column: usize) -> f64 {
        self.costs[row * self.plan.columns.len() + column]
    }

    fn is_predicted(&self, row: usize, column: usize) -> bool {
        self.predicted.get(row * self.plan.columns.len() + column).is_some_and(|predicted| *predicted)
    }

    /// Returns the position of a cell on the scale; `None` if its cost is unknown.
    fn position(&self, row: usize, column: usize) -> Option<f64> {
        let cost = self.cost(row, column);
        self.scale.filter(|_| cost.is_finite()).map(|scale| scale.position(cost))
    }

    fn colour(&self, row: usize, column: usize) -> Option<Color> {
        self.position(row, column).and_then(|position| self.depth.colour(position))
    }
}

/// Returns the blocks in drawing order, with `None` for each gap.
fn axis(cut: &Cut, gaps: bool) -> Vec<Option<usize>> {
    let gap = |block| (gaps && cut.is_apart(block)).then_some(None);
    (0..cut.len()).flat_map(|block| gap(block).into_iter().chain([Some(block)])).collect()
}

/// Draws two cells, one above the other.
fn half(upper: Option<Color>, lower: Option<Color>) -> Line {
    match (upper, lower) {
        (None, None) => Line::new().plain(" "),
        (None, lower) => Line::new().with(Tone::Paint { text: lower, behind: None }, "▄"),
        (upper, lower) => Line::new().with(Tone::Paint { text: upper, behind: lower }, "▀"),
    }
}
