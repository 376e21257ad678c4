//! The whole map as an SVG picture that needs nothing else: no script, no fonts, no other files.

mod axes;
mod cells;
mod frame;
mod png;

use corewise_model::links::Matrix;

use super::Layout;
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
    /// What the numbers are, over the scale: "ns, one way".
    pub unit: String,
    /// Where the numbers come from.
    pub source: String,
}

/// The colour of what is not on the scale.
const UNKNOWN: [u8; 3] = [0xd4; 3];

/// How many colours the scale has in a picture: as many as the eye tells apart side by side, and few enough that the picture stays small.
const STEPS: usize = 64;
/// With more cpus than this a cell has no text of its own when it is pointed at, and the cells are one embedded picture.
const MOST_POINTED: usize = 64;
/// With more cpus than this a cell is too small for its cost in figures.
const MOST_FIGURES: usize = 24;

/// The map of a matrix. Its size is about that of a screen; 600 cpus and more take two pixels a cell or one.
pub fn svg(matrix: &Matrix, layout: &Layout, text: &SvgText) -> String {
    let known = layout.known(matrix);
    let count = layout.order.len();
    let has_unknown = known.len() < count * count.saturating_sub(1);
    let picture = Picture { matrix, layout, scale: Scale::of(&known, layout.ends), cell: cell_size(count) };
    let axes = Axes::of(&picture);
    let mut body = picture.cells();
    body.push_str(&axes.draw(&picture));
    Frame { picture: &picture, axes: &axes, text, has_unknown }.around(&body)
}

/// What is drawn.
struct Picture<'a> {
    matrix: &'a Matrix,
    layout: &'a Layout,
    /// Absent where nothing is known.
    scale: Option<Scale>,
    /// The side of a cell in pixels.
    cell: usize,
}

impl Picture<'_> {
    fn count(&self) -> usize {
        self.layout.order.len()
    }

    /// The side of all cells in pixels.
    fn side(&self) -> usize {
        self.count() * self.cell
    }

    /// The step of a cell on the scale of [`STEPS`]; absent where its cost is not known.
    fn step(&self, row: usize, column: usize) -> Option<usize> {
        let cost = self.layout.cost(self.matrix, row, column);
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
