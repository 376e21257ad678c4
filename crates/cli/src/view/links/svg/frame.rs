//! The picture around the cells and their axes: background, title, scale, and where the numbers come from.

use std::fmt::Write as _;

use super::axes::{Axes, SIZE};
use super::{FAINT, PAPER, Picture, STEPS, SvgText, TEXT, UNKNOWN, colour, escaped, hex};
use crate::view::links::scale::Scale;
use crate::view::text::Line;
use crate::view::wrap::wrap;

/// Empty pixels around everything.
const EDGE: usize = 24;
/// The text has at least so many pixels, however small the plot.
const LEAST_WIDTH: usize = 560;
/// One step of the scale, in pixels.
const BAR: [usize; 2] = [5, 12];
/// Costs beside the scale.
const MARKS: usize = 5;

/// A picture with all that stands around it.
pub struct Frame<'a> {
    pub picture: &'a Picture<'a>,
    pub axes: &'a Axes,
    pub text: &'a SvgText,
    /// Whether pairs are missing.
    pub has_unknown: bool,
}

/// How text looks: its size in pixels, its weight and its colour.
#[derive(Clone, Copy)]
struct Font(usize, u16, &'static str);

const TITLE: Font = Font(20, 600, TEXT);
const SUBTITLE: Font = Font(13, 400, FAINT);
const SOURCE: Font = Font(SIZE, 400, FAINT);

/// Text that begins `top` pixels below the picture's edge.
struct Block {
    top: usize,
    font: Font,
    lines: Vec<String>,
}

impl Block {
    fn new(top: usize, font: Font, text: &str, width: usize) -> Self {
        // A letter is about six tenths as wide as high; bold ones are wider.
        let columns = (width * 3 / 2 / font.0).max(20);
        let lines = wrap(&Line::new().plain(text), columns, 0).iter().map(Line::to_plain).collect();
        Self { top, font, lines }
    }

    fn bottom(&self) -> usize {
        self.top + self.lines.len() * self.font.0 * 7 / 5
    }

    fn draw(&self) -> String {
        let Font(size, weight, fill) = self.font;
        let mut text = format!("<g font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{fill}\">\n");
        for (index, line) in self.lines.iter().enumerate() {
            let y = self.top + size + index * size * 7 / 5;
            let _ = writeln!(text, "<text x=\"{EDGE}\" y=\"{y}\">{}</text>", escaped(line));
        }
        text + "</g>\n"
    }
}

impl Frame<'_> {
    /// The whole picture, with the cells and their axes as they are drawn from the corner of the cells.
    pub fn around(&self, body: &str) -> String {
        let side = self.picture.side();
        let inner = (self.axes.left + side + self.axes.right).max(LEAST_WIDTH);
        let title = Block::new(EDGE, TITLE, &self.text.title, inner);
        let subtitle = Block::new(title.bottom(), SUBTITLE, &self.text.subtitle, inner);
        let (left, top) = (EDGE + self.axes.left, subtitle.bottom() + SIZE + self.axes.top);
        let scale_top = top + side + self.axes.bottom + EDGE;
        let source = Block::new(scale_top + 5 * EDGE / 2, SOURCE, &self.text.source, inner);
        let (width, height) = (inner + 2 * EDGE, source.bottom() + EDGE);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" fill=\"{TEXT}\">\n\
             <title>{name}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{title}{subtitle}\
             <g transform=\"translate({left} {top})\">\n{body}</g>\n\
             <g transform=\"translate({left} {scale_top})\" font-size=\"{SIZE}\">\n{scale}</g>\n{source}</svg>\n",
            name = escaped(&self.text.title),
            paper = hex(PAPER),
            title = title.draw(),
            subtitle = subtitle.draw(),
            scale = self.scale(),
            source = source.draw(),
        )
    }

    /// The scale with its marks and unit, and what the other colours are.
    fn scale(&self) -> String {
        let unit = escaped(&self.text.unit);
        let mut text = String::new();
        if let Some(scale) = &self.picture.scale {
            let _ = writeln!(text, "<text fill=\"{FAINT}\">{unit}</text>");
            text.push_str(&if scale.is_flat() { flat(scale) } else { bar(scale) });
        }
        if self.has_unknown {
            let x = if self.picture.scale.is_some() { STEPS * BAR[0] + 3 * EDGE } else { 0 };
            text.push_str(&swatch(x, UNKNOWN, "not measured"));
        }
        text
    }
}

fn bar(scale: &Scale) -> String {
    let [width, height] = BAR;
    let mut text = "<g shape-rendering=\"crispEdges\">\n".to_owned();
    for step in 0..STEPS {
        let (x, fill) = (step * width, hex(colour(step)));
        let _ = writeln!(text, "<rect x=\"{x}\" y=\"8\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>");
    }
    text.push_str("</g>\n<g text-anchor=\"middle\">\n");
    for mark in 0..MARKS {
        let position = mark as f64 / (MARKS - 1) as f64;
        let x = mark * STEPS * width / (MARKS - 1);
        let (below, line) = (8 + height, 8 + height + 5 + SIZE);
        let _ = writeln!(text, "<path d=\"M{x} {below}v4\" stroke=\"{FAINT}\"/>");
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{line}\">{}</text>", scale.mark(position));
    }
    text + "</g>\n"
}

/// One colour for all costs.
fn flat(scale: &Scale) -> String {
    swatch(0, colour(0), &scale.range())
}

fn swatch(x: usize, fill: [u8; 3], words: &str) -> String {
    let [_, height] = BAR;
    let (beside, line, fill) = (x + 2 * height, 7 + height, hex(fill));
    format!(
        "<rect x=\"{x}\" y=\"8\" width=\"{height}\" height=\"{height}\" fill=\"{fill}\"/>\
         <text x=\"{beside}\" y=\"{line}\">{words}</text>\n"
    )
}
