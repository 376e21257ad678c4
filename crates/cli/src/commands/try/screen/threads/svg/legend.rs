//! The legend: each mark and line with its meaning, in as many rows as necessary.

use std::fmt::Write as _;

use super::{
    IDEAL, IDEAL_DASHES, LAW, LAW_DASHES, ThreadScaling, draw_cross, draw_dashed, draw_mark, draw_whisker,
    point_colour, way_name,
};
use crate::draw::svg::{SIZE, escape_xml};

/// Width of a sample, its distance to the label, and the distance between entries, in pixels.
const SAMPLE: usize = 30;
const GAP: usize = 6;
const APART: usize = 14;
const CHARACTER: usize = 6;
const ROW: usize = 18;

/// Returns the legend, and its height in pixels.
pub fn draw_legend(scaling: &ThreadScaling, width: usize) -> (String, usize) {
    let (mut text, mut x, mut row) = (String::new(), 0, 0);
    for (sample, words) in list_entries(scaling) {
        let size = SAMPLE + GAP + words.chars().count() * CHARACTER;
        if x > 0 && x + size > width {
            (x, row) = (0, row + 1);
        }
        let (y, beside, line) = (row * ROW + ROW / 2, SAMPLE + GAP, SIZE as f64 * 0.35);
        let _ = writeln!(
            text,
            "<g transform=\"translate({x} {y})\">{sample}<text x=\"{beside}\" y=\"{line:.1}\">{}</text></g>",
            escape_xml(words)
        );
        x += size + APART;
    }
    (text, (row + 1) * ROW)
}

fn list_entries(scaling: &ThreadScaling) -> Vec<(String, &'static str)> {
    let middle = SAMPLE as f64 / 2.0;
    let line = format!("0,0 {SAMPLE},0");
    let mut entries = Vec::new();
    for pinned in [false, true].into_iter().filter(|pinned| scaling.has_column(*pinned)) {
        let stroke = point_colour(pinned);
        let path = format!("<path d=\"M0 0h{SAMPLE}\" stroke=\"{stroke}\" stroke-width=\"2\"/>");
        entries.push((path + &draw_mark(pinned, middle, 0.0), way_name(pinned)));
    }
    entries.push((draw_dashed(&line, IDEAL, IDEAL_DASHES), "ideal"));
    if scaling.law_range().is_some() {
        entries.push((draw_dashed(&line, LAW, LAW_DASHES), "Universal Scalability Law"));
    }
    if scaling.points.iter().any(|point| point.spread.is_some()) {
        entries.push((draw_whisker(scaling.base.pinned, middle, -6.0, 6.0), "interquartile range of the runs"));
    }
    if let Some(point) = scaling.points.iter().find(|point| point.has_failed) {
        entries.push((draw_cross(point.cell.pinned, middle, 0.0), "failed"));
    }
    entries
}
