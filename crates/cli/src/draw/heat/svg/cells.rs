//! Cells of a picture: with a tooltip each if they are few, otherwise one embedded picture.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::png::encode_png;
use super::{HeatPicture, MOST_FIGURES, MOST_POINTED, STEPS, UNKNOWN, pale_colour, step_colour};
use crate::draw::heat::scale::is_light;
use crate::draw::number::{format_brief, format_decimal};
use crate::draw::svg::{PAPER, escape_xml, hex_colour};

impl HeatPicture<'_> {
    /// Draws all cells, relative to the corner of the plot.
    pub(super) fn draw_cells(&self) -> String {
        if self.larger_count() > MOST_POINTED {
            return self.draw_embedded();
        }
        let [height, width] = self.side_lengths();
        let mut text = format!("<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n", hex_colour(UNKNOWN));
        text.push_str("<g shape-rendering=\"crispEdges\">\n");
        let [rows, columns] = self.cell_counts();
        for row in 0..rows {
            (0..columns).for_each(|column| self.draw_rectangle(&mut text, row, column));
        }
        text.push_str("</g>\n");
        if self.larger_count() <= MOST_FIGURES {
            text.push_str(&self.draw_figures());
        }
        text
    }

    /// Draws one cell with its cost as a tooltip. An unknown cost draws nothing, so that the background shows.
    fn draw_rectangle(&self, text: &mut String, row: usize, column: usize) {
        let size = self.cell;
        let place = format!("x=\"{}\" y=\"{}\" width=\"{size}\" height=\"{size}\"", column * size, row * size);
        if let Some(step) = self.step_of(row, column) {
            let (rows, columns) = (&self.map.rows, &self.map.columns);
            let of = |title: &str, label: &str| escape_xml(&format!("{title} {label}"));
            let names = [of(&rows.title, rows.label_at(row)), of(&columns.title, columns.label_at(column))];
            let (cost, unit) = (format_decimal(self.map.cost_at(row, column), 1), escape_xml(&self.map.unit));
            let title = format!("<title>{} to {}: {cost} {unit}</title>", names[0], names[1]);
            let _ = writeln!(
                text,
                "<rect {place} fill=\"{}\">{title}</rect>",
                hex_colour(self.fill_colour(row, column, step))
            );
        } else if self.map.is_own(row, column) {
            let _ = writeln!(text, "<rect {place} fill=\"{}\"/>", hex_colour(PAPER));
        }
    }

    fn fill_colour(&self, row: usize, column: usize, step: usize) -> [u8; 3] {
        if self.map.is_predicted(row, column) { pale_colour(step_colour(step)) } else { step_colour(step) }
    }

    /// Draws the costs in figures, in one size that fits all.
    fn draw_figures(&self) -> String {
        let [rows, columns] = self.cell_counts();
        let of_row = |row| (0..columns).map(move |column| (row, column, self.map.cost_at(row, column)));
        let cells: Vec<_> = (0..rows).flat_map(of_row).collect();
        let known = || cells.iter().filter(|(_, _, cost)| cost.is_finite());
        let longest = known().map(|(_, _, cost)| format_brief(*cost).chars().count()).max().unwrap_or(1);
        // A digit is about 0.6 times as wide as high.
        let size = (self.cell * 3 / 8).min(self.cell * 10 / (longest * 7).max(1)).max(6);
        let middle = |index: usize| index * self.cell + self.cell / 2;
        let mut text = format!("<g font-size=\"{size}\" text-anchor=\"middle\" pointer-events=\"none\">\n");
        for &(row, column, cost) in known() {
            let light = self.step_of(row, column).is_some_and(|step| is_light(self.fill_colour(row, column, step)));
            let fill = if light { "#000" } else { "#fff" };
            let (x, y) = (middle(column), middle(row) + size * 7 / 20);
            let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\">{}</text>", format_brief(cost));
        }
        text + "</g>\n"
    }

    /// Draws all cells as one picture in its final size, because not every program enlarges without smoothing.
    fn draw_embedded(&self) -> String {
        let (unknown, own) = (STEPS as u8, STEPS as u8 + 1);
        let pixel = |row, column| match self.step_of(row, column) {
            Some(step) if self.map.is_predicted(row, column) => (STEPS + 2 + step) as u8,
            Some(step) => step as u8,
            None if self.map.is_own(row, column) => own,
            None => unknown,
        };
        let ([rows, columns], [height, width]) = (self.cell_counts(), self.side_lengths());
        let mut pixels = Vec::with_capacity(height * width);
        for row in 0..rows {
            let line: Vec<u8> =
                (0..columns).flat_map(|column| std::iter::repeat_n(pixel(row, column), self.cell)).collect();
            (0..self.cell).for_each(|_| pixels.extend_from_slice(&line));
        }
        let palette: Vec<[u8; 3]> = (0..STEPS)
            .map(step_colour)
            .chain([UNKNOWN, PAPER])
            .chain((0..STEPS).map(|step| pale_colour(step_colour(step))))
            .collect();
        // Writing to memory cannot fail, and a map has cells.
        let data = STANDARD.encode(encode_png(width, &pixels, &palette).unwrap_or_default());
        format!(
            "<image width=\"{width}\" height=\"{height}\" image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" \
             href=\"data:image/png;base64,{data}\"/>\n"
        )
    }
}
