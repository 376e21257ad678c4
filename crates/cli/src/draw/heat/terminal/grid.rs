//! Lines of a map: head, labels and cells.

use anstyle::Color;

use super::joined_blocks::JoinedBlocks;
use super::{CellForm, GroupGaps, TerminalHeat};
use crate::draw::heat::depth::shade_at;
use crate::draw::heat::labels::choose_labels;
use crate::draw::number::format_brief;
use crate::draw::text::{StyledLine, TextTone};

impl TerminalHeat<'_> {
    /// Draws the head and the rows.
    pub(super) fn draw_grid(&self) -> Vec<StyledLine> {
        let columns = axis_blocks(&self.plan.columns, self.plan.gaps != GroupGaps::None);
        let rows = axis_blocks(&self.plan.rows, self.plan.gaps == GroupGaps::Both);
        let mut lines = vec![self.draw_head()];
        lines.extend(rows.chunks(self.plan.form.rows_per_line()).map(|rows| self.draw_row(rows, &columns)));
        lines
    }

    /// Draws the column labels that fit.
    fn draw_head(&self) -> StyledLine {
        let (cut, cell) = (&self.plan.columns, self.plan.form.cell_columns());
        let gaps = self.plan.gaps != GroupGaps::None;
        let gaps_before = |block| (0..=block).filter(|&before| gaps && cut.is_apart(before)).count();
        let start = |block| self.plan.margin + 1 + block * cell + gaps_before(block);
        let starts: Vec<usize> = (0..cut.len()).map(start).collect();
        let label = |block: usize| self.map.columns.label_at(cut.first_row(block));
        let longest = (0..cut.len()).map(|block| label(block).chars().count()).max().unwrap_or(0);
        let chosen =
            choose_labels(&cut.group_ranges(), |block| starts[block] as f64, cell as f64, (longest + 1) as f64);
        let mut text = String::new();
        for block in chosen {
            let column = match self.plan.form {
                // Aligned with the last digit.
                CellForm::Figures(_) => starts[block] + (cell - 1).saturating_sub(label(block).chars().count()),
                _ => starts[block],
            };
            if column + label(block).chars().count() <= self.width {
                text = format!("{text:<column$}{}", label(block));
            }
        }
        StyledLine::new().faint(text)
    }

    /// Draws one line with its one or two rows.
    fn draw_row(&self, rows: &[Option<usize>], columns: &[Option<usize>]) -> StyledLine {
        let margin = self.plan.margin;
        let Some(first) = rows.iter().flatten().next() else { return StyledLine::new() };
        let label: String = self.map.rows.label_at(self.plan.rows.first_row(*first)).chars().take(margin).collect();
        let line = StyledLine::new().faint(format!("{label:>margin$} "));
        columns.iter().fold(line, |line, column| match (column, rows) {
            (None, _) => line.plain(" "),
            (Some(column), [Some(row)]) if self.plan.form != CellForm::Half => line.then(self.draw_cell(*row, *column)),
            (Some(column), rows) => {
                let colour = |row: &Option<usize>| row.and_then(|row| self.colour_at(row, *column));
                line.then(draw_half(colour(&rows[0]), rows.get(1).and_then(colour)))
            }
        })
    }

    fn draw_cell(&self, row: usize, column: usize) -> StyledLine {
        let (columns, depth) = (self.plan.form.cell_columns(), self.depth);
        let Some(position) = self.position_at(row, column) else {
            let mark = if self.map.is_own(row, column) { "-" } else { "" };
            return StyledLine::new().faint(match self.plan.form {
                CellForm::Figures(_) => format!("{mark:>width$} ", width = columns - 1),
                _ => format!("{mark:<columns$}"),
            });
        };
        if matches!(self.plan.form, CellForm::Figures(_)) {
            let text = format!("{:>width$} ", format_brief(self.cost_at(row, column)), width = columns - 1);
            if self.is_predicted(row, column) {
                return StyledLine::new().faint(text);
            }
            return StyledLine::new().with(depth.text_tone_on(position), text);
        }
        // A prediction fills half of its cell.
        let half = columns > 1 && self.is_predicted(row, column);
        match depth.colour_at(position) {
            Some(colour) if half => {
                StyledLine::new().with(TextTone::Paint { text: Some(colour), behind: None }, "▒".repeat(columns))
            }
            None if half => StyledLine::new().plain(format!("{:<columns$}", shade_at(position))),
            Some(colour) => {
                StyledLine::new().with(TextTone::Paint { text: None, behind: Some(colour) }, " ".repeat(columns))
            }
            None => StyledLine::new().plain(shade_at(position).to_string().repeat(columns)),
        }
    }

    fn cost_at(&self, row: usize, column: usize) -> f64 {
        self.costs[row * self.plan.columns.len() + column]
    }

    fn is_predicted(&self, row: usize, column: usize) -> bool {
        self.predicted.get(row * self.plan.columns.len() + column).is_some_and(|predicted| *predicted)
    }

    /// Returns the position of a cell on the scale; `None` if its cost is unknown.
    fn position_at(&self, row: usize, column: usize) -> Option<f64> {
        let cost = self.cost_at(row, column);
        self.scale.filter(|_| cost.is_finite()).map(|scale| scale.position_of(cost))
    }

    fn colour_at(&self, row: usize, column: usize) -> Option<Color> {
        self.position_at(row, column).and_then(|position| self.depth.colour_at(position))
    }
}

/// Returns the blocks in drawing order, with `None` for each gap.
fn axis_blocks(cut: &JoinedBlocks, gaps: bool) -> Vec<Option<usize>> {
    let gap = |block| (gaps && cut.is_apart(block)).then_some(None);
    (0..cut.len()).flat_map(|block| gap(block).into_iter().chain([Some(block)])).collect()
}

/// Draws two cells, one above the other.
fn draw_half(upper: Option<Color>, lower: Option<Color>) -> StyledLine {
    match (upper, lower) {
        (None, None) => StyledLine::new().plain(" "),
        (None, lower) => StyledLine::new().with(TextTone::Paint { text: lower, behind: None }, "▄"),
        (upper, lower) => StyledLine::new().with(TextTone::Paint { text: upper, behind: lower }, "▀"),
    }
}
