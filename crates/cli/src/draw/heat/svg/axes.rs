//! Axes around the cells: names of rows, columns and groups.

use std::fmt::Write as _;
use std::ops::Range;

use super::HeatPicture;
use crate::draw::heat::HeatSide;
use crate::draw::heat::labels::choose_labels;
use crate::draw::printable::text_width;
use crate::draw::svg::{FAINT, SIZE, TEXT, escape_xml};

/// Assumed width and height of a label's character, in pixels.
const CHARACTER: usize = 7;
const LINE: usize = 13;
/// Distance from the cells to the text beside them, in pixels.
const AWAY: usize = 6;

/// Space for axes on each side of the cells, in pixels.
pub struct HeatAxes {
    pub left: usize,
    pub top: usize,
    pub right: usize,
    pub bottom: usize,
    /// Whether the names of column groups are rotated, since they are wider than their groups.
    turned: bool,
}

impl HeatAxes {
    pub fn from_picture(picture: &HeatPicture) -> Self {
        let (rows, columns) = (&picture.map.rows, &picture.map.columns);
        let labels = longest_width(&rows.labels);
        let names = [rows, columns].map(|side| longest_width(&side.names));
        let narrowest = columns.groups.iter().map(Range::len).min().unwrap_or(0) * picture.cell;
        let turned = names[1] * CHARACTER + AWAY > narrowest;
        let beside = |names: usize, size: usize| if names == 0 { AWAY } else { 2 * AWAY + size };
        Self {
            left: labels * CHARACTER + AWAY + LINE + AWAY,
            top: 2 * LINE + AWAY,
            right: beside(names[0], names[0] * CHARACTER),
            bottom: beside(names[1], if turned { names[1] * CHARACTER } else { LINE }),
            turned,
        }
    }

    /// Draws labels, group lines and group names, relative to the corner of the cells.
    pub fn draw_axes(&self, picture: &HeatPicture) -> String {
        let mut text = format!("<g font-size=\"{SIZE}\" fill=\"{TEXT}\">\n");
        text.push_str(&draw_labels(picture));
        text.push_str(&self.draw_titles(picture));
        text.push_str(&draw_lines(picture));
        text.push_str(&self.draw_names(picture));
        text + "</g>\n"
    }

    /// Draws the titles of rows and columns.
    fn draw_titles(&self, picture: &HeatPicture) -> String {
        let [row, column] = [&picture.map.rows, &picture.map.columns].map(|side| escape_xml(&side.title));
        let (up, out) = (LINE + AWAY, self.left - LINE);
        format!(
            "<g fill=\"{FAINT}\"><text y=\"-{up}\">{column}</text>\
             <text transform=\"translate(-{out} 0) rotate(-90)\" text-anchor=\"end\">{row}</text></g>\n"
        )
    }

    /// Draws the group names that fit, right of their rows and below their columns.
    fn draw_names(&self, picture: &HeatPicture) -> String {
        let [height, width] = picture.side_lengths();
        let away = |side: usize| side + AWAY + AWAY / 2;
        let mut text = String::new();
        for (name, place) in place_names(&picture.map.rows, picture.cell) {
            let (x, y) = (away(width), place + SIZE * 7 / 20);
            let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\">{name}</text>");
        }
        for (name, place) in place_names(&picture.map.columns, picture.cell) {
            let away = away(height);
            let below = if self.turned {
                format!("transform=\"translate({} {away}) rotate(-90)\" text-anchor=\"end\"", place + SIZE * 7 / 20)
            } else {
                format!("x=\"{place}\" y=\"{}\" text-anchor=\"middle\"", away + SIZE * 7 / 10)
            };
            let _ = writeln!(text, "<text {below}>{name}</text>");
        }
        text
    }
}

/// Draws the names of rows and columns that fit.
fn draw_labels(picture: &HeatPicture) -> String {
    let middle = |index: usize| index * picture.cell + picture.cell / 2;
    let chosen = |side: &HeatSide, room: usize| {
        choose_labels(&side.groups, |index| middle(index) as f64, picture.cell as f64, room as f64)
    };
    let (rows, columns) = (&picture.map.rows, &picture.map.columns);
    let mut text = "<g text-anchor=\"middle\">\n".to_owned();
    for index in chosen(columns, (longest_width(&columns.labels) + 1) * CHARACTER) {
        let label = escape_xml(columns.label_at(index));
        let _ = writeln!(text, "<text x=\"{}\" y=\"-{AWAY}\">{label}</text>", middle(index));
    }
    text.push_str("</g>\n<g text-anchor=\"end\">\n");
    for index in chosen(rows, LINE) {
        let label = escape_xml(rows.label_at(index));
        let _ = writeln!(text, "<text x=\"-{AWAY}\" y=\"{}\">{label}</text>", middle(index) + SIZE * 7 / 20);
    }
    text + "</g>\n"
}

/// Draws white lines through the cells and marks beside them, if there are groups.
fn draw_lines(picture: &HeatPicture) -> String {
    let [height, width] = picture.side_lengths();
    let (mut inner, mut outer) = (String::new(), String::new());
    let mut of = |side: &HeatSide, through: &dyn Fn(usize) -> String, beside: &dyn Fn(usize) -> String| {
        if side.groups.len() < 2 {
            return;
        }
        outer.push_str(&beside(side.len() * picture.cell));
        for group in &side.groups {
            let place = group.start * picture.cell;
            outer.push_str(&beside(place));
            if place > 0 {
                inner.push_str(&through(place));
            }
        }
    };
    of(&picture.map.columns, &|x| format!("M{x} 0v{height}"), &|x| format!("M{x} {height}v{AWAY}"));
    of(&picture.map.rows, &|y| format!("M0 {y}h{width}"), &|y| format!("M{width} {y}h{AWAY}"));
    if outer.is_empty() {
        return String::new();
    }
    let stroke = if picture.cell < 10 { 1 } else { 2 };
    format!(
        "<g shape-rendering=\"crispEdges\" fill=\"none\">\n<path d=\"{inner}\" stroke=\"#fff\" stroke-width=\"{stroke}\"/>\n\
         <path d=\"{outer}\" stroke=\"{FAINT}\"/>\n</g>\n"
    )
}

/// Returns the group names that fit, with the middle of each.
fn place_names(side: &HeatSide, cell: usize) -> Vec<(String, usize)> {
    let count = side.groups.len().min(side.names.len());
    let middle = |index: usize| (side.groups[index].start + side.groups[index].end) * cell / 2;
    let mean = (side.len() * cell) as f64 / side.groups.len().max(1) as f64;
    let all = choose_labels(std::slice::from_ref(&(0..count)), |index| middle(index) as f64, mean, LINE as f64);
    all.into_iter().map(|index| (escape_xml(&side.names[index]), middle(index))).collect()
}

fn longest_width(texts: &[String]) -> usize {
    texts.iter().map(|text| text_width(text)).max().unwrap_or(0)
}
