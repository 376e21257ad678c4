//! Legend of a map: the meaning of its colours, and notes for reading it.

use super::{Form, Heat};
use crate::draw::heat::depth::{Depth, shade};
use crate::draw::heat::scale::Scale;
use crate::draw::text::{Line, NO_BREAK, Tone};
use crate::draw::wrap::{unbroken, wrap};

/// Colours between two marks of a smooth scale.
const BETWEEN: usize = 6;
/// Sections between the marks of a smooth scale.
const STRETCHES: usize = 4;

impl Heat<'_> {
    /// Returns the scale, then the notes, each on its own lines.
    pub(super) fn legend(&self, has_unknown: bool) -> Vec<Line> {
        let plain_figures = matches!(self.plan.form, Form::Figures(_)) && self.depth == Depth::NoColour;
        let mut notes = Vec::new();
        let mut lines = Vec::new();
        match &self.scale {
            None => notes.push("no pair was measured".to_owned()),
            Some(_) if plain_figures => notes.push(self.map.unit.clone()),
            Some(scale) => lines.extend(wrap(&self.bar(scale), self.width, 4)),
        }
        let (row, column) = (&self.map.rows.title, &self.map.columns.title);
        if row != column {
            notes.push(format!("row: {row}, column: {column}"));
        }
        notes.extend(self.plan.rows.words(&self.plan.columns));
        if has_unknown && self.scale.is_some() {
            notes.push("blank: not measured".to_owned());
        }
        if self.predicted.contains(&true) {
            notes.push(match (self.plan.form, self.depth) {
                (Form::Figures(_), Depth::NoColour) => {
                    format!("{} cells are predicted", self.predicted.iter().filter(|predicted| **predicted).count())
                }
                (Form::Figures(_), _) => "without colour: predicted".to_owned(),
                (Form::Wide, Depth::NoColour) => "half a cell: predicted".to_owned(),
                (Form::Wide, _) => "paler: predicted".to_owned(),
                _ => {
                    let share =
                        self.predicted.iter().filter(|predicted| **predicted).count() * 100 / self.predicted.len();
                    format!("{share} % of the cells are predicted")
                }
            });
        }
        lines.extend(wrap(&Line::new().faint(notes.join("; ")), self.width, 4));
        lines
    }

    /// Draws the colours with the costs between them.
    fn bar(&self, scale: &Scale) -> Line {
        let line = Line::new().faint(format!("{} ", self.map.unit));
        if scale.is_flat() {
            let text = format!(" {}", scale.range());
            return line.plain(" ").then(self.swatch(0.0, 2)).plain(unbroken(&text));
        }
        let stretches = self.depth.steps().unwrap_or(STRETCHES);
        let line = (0..stretches).fold(line, |line, stretch| {
            let place = |part: f64| (stretch as f64 + part) / stretches as f64;
            let line = line.plain(" ").plain(scale.mark(place(0.0))).plain(NO_BREAK.to_string());
            match self.depth.steps() {
                Some(_) => line.then(self.swatch(place(0.5), 3)),
                None => (0..BETWEEN)
                    .fold(line, |line, part| line.then(self.swatch(place((part as f64 + 0.5) / BETWEEN as f64), 1))),
            }
        });
        line.plain(NO_BREAK.to_string()).plain(scale.mark(1.0))
    }

    fn swatch(&self, position: f64, columns: usize) -> Line {
        match self.depth.colour(position) {
            Some(colour) => Line::new().with(Tone::Paint { text: Some(colour), behind: None }, "█".repeat(columns)),
            None => Line::new().plain(shade(position).to_string().repeat(columns)),
        }
    }
}
