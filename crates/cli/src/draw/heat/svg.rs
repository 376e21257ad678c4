//! A heat map as an SVG picture that needs nothing else: no script, no fonts, no other files.

mod axes;
mod cells;
mod frame;
mod png;

use super::HeatMap;
use super::scale::{self, Scale};
use axes::Axes;
use frame::Frame;

/// The text around a picture; any of it may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SvgText {
    /// What the map is of: the processor.
    pub title: String,
    /// How it was measured.
    pub subtitle: String,
    /// Where the numbers come from.
    pub source: String,
}

/// The colour of what is not on the scale.
const UNKNOWN: [u8; 3] = [0xd4; 3];

/// How many colours the scale has in a picture: as many as the eye tells apart side by side, and few enough that the picture stays small.
const STEPS: usize = 64;
/// With more rows or columns than this a cell has no text of its own when it is pointed at, and the cells are one embedded picture.
const MOST_POINTED: usize = 64;
/// With more rows or columns than this a cell is too small for its cost in figures.
const MOST_FIGURES: usize = 24;

impl HeatMap {
    /// The map as SVG. Its size is about that of a screen; with 600 rows and more a cell takes two pixels or one.
    pub fn svg(&self, text: &SvgText) -> String {
        let known = self.known();
        let (scale, cell) = (Scale::of(&known, self.ends), cell_size(self.rows.len().max(self.columns.len())));
        let picture = Picture { map: self, scale, cell };
        let axes = Axes::of(&picture);
        let mut body = picture.cells();
        body.push_str(&axes.draw(&picture));
        Frame { picture: &picture, axes: &axes, text, has_unknown: self.has_unknown(known.len()) }.around(&body)
    }
}

/// What is drawn.
struct Picture<'a> {
    map: &'a HeatMap,
    /// Absent where nothing is known.
    scale: Option<Scale>,
    /// The side of a cell in pixels.
    cell: usize,
}

impl Picture<'_> {
    /// How many rows there are, and how many columns.
    fn counts(&self) -> [usize; 2] {
        [self.map.rows.len(), self.map.columns.len()]
    }

    /// The height of all cells in pixels, and their width.
    fn sides(&self) -> [usize; 2] {
        self.counts().map(|count| count * self.cell)
    }

    /// The larger number of rows or columns.
    fn most(&self) -> usize {
        self.map.rows.len().max(self.map.columns.len())
    }

    /// The step of a cell on the scale of [`STEPS`]; absent where its cost is not known.
    fn step(&self, row: usize, column: usize) -> Option<usize> {
        let cost = self.map.cost(row, column);
        self.scale.filter(|_| cost.is_finite()).map(|scale| step(scale.position(cost)))
    }
}

fn step(position: f64) -> usize {
    ((position * STEPS as f64) as usize).min(STEPS - 1)
}

/// The colour of a step: that of its middle.
fn colour(step: usize) -> [u8; 3] {
    scale::colour((step as f64 + 0.5) / STEPS as f64)
}

/// A colour for what is predicted: a third of it is white.
fn pale(colour: [u8; 3]) -> [u8; 3] {
    colour.map(|part| ((2 * u16::from(part) + 255) / 3) as u8)
}

/// The side of a cell in whole pixels, so that cells are equal and sharp.
fn cell_size(count: usize) -> usize {
    const SIDE: usize = 720;
    match count.max(1) {
        count if count <= MOST_FIGURES => (SIDE / count).clamp(30, 56),
        count if count <= MOST_POINTED => SIDE / count,
        count => SIDE.div_ceil(count),
    }
}
