//! What stands around the cells: the cpus' numbers, and the groups with their names.

use std::fmt::Write as _;
use std::ops::Range;

use super::Picture;
use crate::commands::links::pictures::labels::labelled;
use crate::draw::printable::width;
use crate::draw::svg::{FAINT, SIZE, TEXT, escaped};

/// How wide and high a character of a label is taken to be, in pixels.
const CHARACTER: usize = 7;
const LINE: usize = 13;
/// From the cells to what stands beside them.
const AWAY: usize = 6;

/// The room that axes take on each side of the cells, in pixels.
pub struct Axes {
    pub left: usize,
    pub top: usize,
    pub right: usize,
    pub bottom: usize,
    groups: Vec<Range<usize>>,
    /// Whether the names of the groups below the cells are turned, since they are wider than their groups.
    turned: bool,
    /// Whether it matters which cpu is first.
    directed: bool,
}

impl Axes {
    pub fn of(picture: &Picture) -> Self {
        let groups = picture.layout.groups();
        let labels = longest((0..picture.count()).map(|index| picture.layout.label(index)));
        let names = longest(picture.layout.names.iter().map(String::as_str));
        let narrowest = groups.iter().map(Range::len).min().unwrap_or(0) * picture.cell;
        let turned = names * CHARACTER + AWAY > narrowest;
        let beside = |size: usize| if names == 0 { AWAY } else { 2 * AWAY + size };
        Self {
            left: labels * CHARACTER + AWAY + LINE + AWAY,
            top: 2 * LINE + AWAY,
            right: beside(names * CHARACTER),
            bottom: beside(if turned { names * CHARACTER } else { LINE }),
            groups,
            turned,
            directed: picture.layout.is_directed(picture.matrix),
        }
    }

    /// Labels, lines between groups, and their names, from the corner of the cells.
    pub fn draw(&self, picture: &Picture) -> String {
        let mut text = format!("<g font-size=\"{SIZE}\" fill=\"{TEXT}\">\n");
        text.push_str(&self.numbers(picture));
        text.push_str(&self.titles());
        if self.groups.len() > 1 {
            text.push_str(&self.lines(picture));
        }
        text.push_str(&self.names(picture));
        text + "</g>\n"
    }

    fn numbers(&self, picture: &Picture) -> String {
        let middle = |index: usize| index * picture.cell + picture.cell / 2;
        let chosen =
            |room: usize| labelled(&self.groups, |index| middle(index) as f64, picture.cell as f64, room as f64);
        let label = |index: usize| escaped(picture.layout.label(index));
        let widest = longest((0..picture.count()).map(|index| picture.layout.label(index)));
        let mut text = "<g text-anchor=\"middle\">\n".to_owned();
        for index in chosen((widest + 1) * CHARACTER) {
            let _ = writeln!(text, "<text x=\"{}\" y=\"-{AWAY}\">{}</text>", middle(index), label(index));
        }
        text.push_str("</g>\n<g text-anchor=\"end\">\n");
        for index in chosen(LINE) {
            let _ =
                writeln!(text, "<text x=\"-{AWAY}\" y=\"{}\">{}</text>", middle(index) + SIZE * 7 / 20, label(index));
        }
        text + "</g>\n"
    }

    /// What rows and columns are.
    fn titles(&self) -> String {
        let [row, column] = if self.directed { ["first cpu", "second cpu"] } else { ["cpu", "cpu"] };
        let (up, out) = (LINE + AWAY, self.left - LINE);
        format!(
            "<g fill=\"{FAINT}\"><text y=\"-{up}\">{column}</text>\
             <text transform=\"translate(-{out} 0) rotate(-90)\" text-anchor=\"end\">{row}</text></g>\n"
        )
    }

    /// White lines through the cells, and marks beside them.
    fn lines(&self, picture: &Picture) -> String {
        let side = picture.side();
        let (mut inner, mut outer) = (String::new(), format!("M{side} {side}v{AWAY}M{side} {side}h{AWAY}"));
        for group in &self.groups {
            let place = group.start * picture.cell;
            let _ = write!(outer, "M{place} {side}v{AWAY}M{side} {place}h{AWAY}");
            if place > 0 {
                let _ = write!(inner, "M{place} 0v{side}M0 {place}h{side}");
            }
        }
        let width = if picture.cell < 10 { 1 } else { 2 };
        format!(
            "<g shape-rendering=\"crispEdges\" fill=\"none\">\n<path d=\"{inner}\" stroke=\"#fff\" stroke-width=\"{width}\"/>\n\
             <path d=\"{outer}\" stroke=\"{FAINT}\"/>\n</g>\n"
        )
    }

    /// The groups' names, to the right of their rows and below their columns, as many as have room.
    fn names(&self, picture: &Picture) -> String {
        let names = &picture.layout.names;
        let count = self.groups.len().min(names.len());
        let middle = |index: usize| (self.groups[index].start + self.groups[index].end) * picture.cell / 2;
        let all = 0..count;
        let mean = picture.side() as f64 / self.groups.len().max(1) as f64;
        let away = picture.side() + AWAY + AWAY / 2;
        let mut text = String::new();
        for index in labelled(std::slice::from_ref(&all), |index| middle(index) as f64, mean, LINE as f64) {
            let (name, place) = (escaped(&names[index]), middle(index));
            let _ = writeln!(text, "<text x=\"{away}\" y=\"{}\">{name}</text>", place + SIZE * 7 / 20);
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

fn longest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(width).max().unwrap_or(0)
}
