//! Frame around cells and axes: background, title, scale and source.

use std::fmt::Write as _;

use super::axes::HeatAxes;
use super::{HeatPicture, STEPS, SvgText, UNKNOWN, pale_colour, step_colour};
use crate::draw::heat::scale::CostScale;
use crate::draw::svg::{
    EDGE, FAINT, SIZE, SOURCE, SUBTITLE, SvgTextBlock, TITLE, escape_xml, hex_colour, write_document,
};

/// Minimum width of the text in pixels, however small the plot.
const LEAST_WIDTH: usize = 560;
/// Width and height of one step of the scale, in pixels.
const BAR: [usize; 2] = [5, 12];
/// Number of costs beside the scale.
const MARKS: usize = 5;

/// Picture with its surroundings.
pub struct HeatFrame<'a> {
    pub picture: &'a HeatPicture<'a>,
    pub axes: &'a HeatAxes,
    pub text: &'a SvgText,
    /// Whether pairs are missing.
    pub has_unknown: bool,
}

impl HeatFrame<'_> {
    /// Draws the whole picture around `body`: cells and axes, drawn relative to the corner of the cells.
    pub fn draw_around(&self, body: &str) -> String {
        let [height, across] = self.picture.side_lengths();
        let inner = (self.axes.left + across + self.axes.right).max(LEAST_WIDTH);
        let title = SvgTextBlock::new(EDGE, TITLE, &self.text.title, inner);
        let subtitle = SvgTextBlock::new(title.bottom_edge(), SUBTITLE, &self.text.subtitle, inner);
        let (left, top) = (EDGE + self.axes.left, subtitle.bottom_edge() + SIZE + self.axes.top);
        let scale_top = top + height + self.axes.bottom + EDGE;
        let source = SvgTextBlock::new(scale_top + 5 * EDGE / 2, SOURCE, &self.text.source, inner);
        let (width, bottom) = (inner + 2 * EDGE, source.bottom_edge() + EDGE);
        let body = format!(
            "{title}{subtitle}<g transform=\"translate({left} {top})\">\n{body}</g>\n\
             <g transform=\"translate({left} {scale_top})\" font-size=\"{SIZE}\">\n{scale}</g>\n{source}",
            title = title.draw_text(),
            subtitle = subtitle.draw_text(),
            scale = self.draw_scale(),
            source = source.draw_text(),
        );
        write_document(width, bottom, &self.text.title, &body)
    }

    /// Draws the scale with its marks and unit, and the meanings of the other colours.
    fn draw_scale(&self) -> String {
        let unit = escape_xml(&self.picture.map.unit);
        let mut text = String::new();
        if let Some(scale) = &self.picture.scale {
            let _ = writeln!(text, "<text fill=\"{FAINT}\">{unit}</text>");
            text.push_str(&if scale.is_flat() { draw_flat(scale) } else { draw_bar(scale) });
        }
        let mut x = if self.picture.scale.is_some() { STEPS * BAR[0] + 3 * EDGE } else { 0 };
        if self.has_unknown {
            text.push_str(&draw_swatch(x, UNKNOWN, self.picture.map.meaning_of_blank()));
            x += 11 * SIZE;
        }
        if !self.picture.map.predicted.is_empty() {
            text.push_str(&draw_swatch(x, pale_colour(step_colour(STEPS / 2)), "paler: predicted"));
        }
        text
    }
}

fn draw_bar(scale: &CostScale) -> String {
    let [width, height] = BAR;
    let mut text = "<g shape-rendering=\"crispEdges\">\n".to_owned();
    for step in 0..STEPS {
        let (x, fill) = (step * width, hex_colour(step_colour(step)));
        let _ = writeln!(text, "<rect x=\"{x}\" y=\"8\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>");
    }
    text.push_str("</g>\n<g text-anchor=\"middle\">\n");
    for mark in 0..MARKS {
        let position = mark as f64 / (MARKS - 1) as f64;
        let x = mark * STEPS * width / (MARKS - 1);
        let (below, line) = (8 + height, 8 + height + 5 + SIZE);
        let _ = writeln!(text, "<path d=\"M{x} {below}v4\" stroke=\"{FAINT}\"/>");
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{line}\">{}</text>", scale.format_mark(position));
    }
    text + "</g>\n"
}

/// Draws a single colour for all costs.
fn draw_flat(scale: &CostScale) -> String {
    draw_swatch(0, step_colour(0), &scale.format_range())
}

fn draw_swatch(x: usize, fill: [u8; 3], words: &str) -> String {
    let [_, height] = BAR;
    let (beside, line, fill) = (x + 2 * height, 7 + height, hex_colour(fill));
    format!(
        "<rect x=\"{x}\" y=\"8\" width=\"{height}\" height=\"{height}\" fill=\"{fill}\"/>\
         <text x=\"{beside}\" y=\"{line}\">{words}</text>\n"
    )
}
