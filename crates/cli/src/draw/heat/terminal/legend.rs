//! Legend of a map: the meaning of its colours, and notes for reading it.

use super::{CellForm, TerminalHeat};
use crate::draw::heat::depth::{ColourDepth, shade_at};
use crate::draw::heat::scale::CostScale;
use crate::draw::text::{NO_BREAK, StyledLine, TextTone};
use crate::draw::wrap::{glue_words, wrap_line};

/// Colours between two marks of a smooth scale.
const BETWEEN: usize = 6;
/// Sections between the marks of a smooth scale.
const STRETCHES: usize = 4;

impl TerminalHeat<'_> {
    /// Returns the scale, then the notes, each on its own lines.
    pub(super) fn draw_legend(&self, has_unknown: bool) -> Vec<StyledLine> {
        let plain_figures = matches!(self.plan.form, CellForm::Figures(_)) && self.depth == ColourDepth::NoColour;
        let mut notes = Vec::new();
        let mut lines = Vec::new();
        match &self.scale {
            None => notes.push("no pair was measured".to_owned()),
            Some(_) if plain_figures => notes.push(self.map.unit.clone()),
            Some(scale) => lines.extend(wrap_line(&self.draw_bar(scale), self.width, 4)),
        }
        let (row, column) = (&self.map.rows.title, &self.map.columns.title);
        if row != column {
            notes.push(format!("row: {row}, column: {column}"));
        }
        notes.extend(self.plan.rows.describe_cell(&self.plan.columns));
        if has_unknown && self.scale.is_some() {
            notes.push(format!("blank: {}", self.map.meaning_of_blank()));
        }
        if self.predicted.contains(&true) {
            notes.push(match (self.plan.form, self.depth) {
                (CellForm::Figures(_), ColourDepth::NoColour) => {
                    format!("{} cells are predicted", self.predicted.iter().filter(|predicted| **predicted).count())
                }
                (CellForm::Figures(_), _) => "without colour: predicted".to_owned(),
                (CellForm::Wide, ColourDepth::NoColour) => "half a cell: predicted".to_owned(),
                (CellForm::Wide, _) => "paler: predicted".to_owned(),
                _ => {
                    let share =
                        self.predicted.iter().filter(|predicted| **predicted).count() * 100 / self.predicted.len();
                    format!("{share} % of the cells are predicted")
                }
            });
        }
        lines.extend(wrap_line(&StyledLine::new().faint(notes.join("; ")), self.width, 4));
        lines
    }

    /// Draws the colours with the costs between them.
    fn draw_bar(&self, scale: &CostScale) -> StyledLine {
        let line = StyledLine::new().faint(format!("{} ", self.map.unit));
        if scale.is_flat() {
            let text = format!(" {}", scale.format_range());
            return line.plain(" ").then(self.draw_swatch(0.0, 2)).plain(glue_words(&text));
        }
        let stretches = self.depth.scale_steps().unwrap_or(STRETCHES);
        let line = (0..stretches).fold(line, |line, stretch| {
            let place = |part: f64| (stretch as f64 + part) / stretches as f64;
            let line = line.plain(" ").plain(scale.format_mark(place(0.0))).plain(NO_BREAK.to_string());
            match self.depth.scale_steps() {
                Some(_) => line.then(self.draw_swatch(place(0.5), 3)),
                None => (0..BETWEEN).fold(line, |line, part| {
                    line.then(self.draw_swatch(place((part as f64 + 0.5) / BETWEEN as f64), 1))
                }),
            }
        });
        line.plain(NO_BREAK.to_string()).plain(scale.format_mark(1.0))
    }

    fn draw_swatch(&self, position: f64, columns: usize) -> StyledLine {
        match self.depth.colour_at(position) {
            Some(colour) => {
                StyledLine::new().with(TextTone::Paint { text: Some(colour), behind: None }, "█".repeat(columns))
            }
            None => StyledLine::new().plain(shade_at(position).to_string().repeat(columns)),
        }
    }
}
