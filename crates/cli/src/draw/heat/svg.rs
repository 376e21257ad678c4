//! Heat maps as self-contained SVG pictures: no script, no fonts, no other files.

mod axes;
mod cells;
mod frame;
mod png;

use super::scale::{self, CostScale};
use super::{HeatMap, SvgText};
use axes::HeatAxes;
use frame::HeatFrame;

/// Colour of cells that are not on the scale.
const UNKNOWN: [u8; 3] = [0xd4; 3];

/// Colours of the scale in a picture: as many as the eye distinguishes side by side, and few enough for a small file.
const STEPS: usize = 64;
/// Maximum rows or columns of cells with a tooltip each; a larger map is one embedded picture.
const MOST_POINTED: usize = 64;
/// Maximum rows or columns of cells that are large enough for their cost in figures.
const MOST_FIGURES: usize = 24;

impl HeatMap {
    /// Returns the map as SVG. It is about as large as a screen; from 600 rows on, a cell takes two pixels or one.
    pub fn to_svg(&self, text: &SvgText) -> String {
        let known = self.known_costs();
        let (scale, cell) =
            (CostScale::from_costs(&known, self.ends), cell_size(self.rows.len().max(self.columns.len())));
        let picture = HeatPicture { map: self, scale, cell };
        let axes = HeatAxes::from_picture(&picture);
        let mut body = picture.draw_cells();
        body.push_str(&axes.draw_axes(&picture));
        HeatFrame { picture: &picture, axes: &axes, text, has_unknown: self.has_unknown(known.len()) }
            .draw_around(&body)
    }
}

/// Map to draw, with its layout.
struct HeatPicture<'a> {
    map: &'a HeatMap,
    /// `None` if no cost is known.
    scale: Option<CostScale>,
    /// Side of a cell in pixels.
    cell: usize,
}

impl HeatPicture<'_> {
    /// Returns the numbers of rows and columns.
    fn cell_counts(&self) -> [usize; 2] {
        [self.map.rows.len(), self.map.columns.len()]
    }

    /// Returns the height and width of all cells in pixels.
    fn side_lengths(&self) -> [usize; 2] {
        self.cell_counts().map(|count| count * self.cell)
    }

    /// Returns the larger of the numbers of rows and columns.
    fn larger_count(&self) -> usize {
        self.map.rows.len().max(self.map.columns.len())
    }

    /// Returns the step of a cell on the scale of [`STEPS`]; `None` if its cost is unknown.
    fn step_of(&self, row: usize, column: usize) -> Option<usize> {
        let cost = self.map.cost_at(row, column);
        self.scale.filter(|_| cost.is_finite()).map(|scale| step_at(scale.position_of(cost)))
    }
}

fn step_at(position: f64) -> usize {
    ((position * STEPS as f64) as usize).min(STEPS - 1)
}

/// Returns the colour at the middle of a step.
fn step_colour(step: usize) -> [u8; 3] {
    scale::colour_at((step as f64 + 0.5) / STEPS as f64)
}

/// Mixes a colour with one third of white, for predictions.
fn pale_colour(colour: [u8; 3]) -> [u8; 3] {
    colour.map(|part| ((2 * u16::from(part) + 255) / 3) as u8)
}

/// Returns the side of a cell in whole pixels, so that cells are equal and sharp.
fn cell_size(count: usize) -> usize {
    const SIDE: usize = 720;
    match count.max(1) {
        count if count <= MOST_FIGURES => (SIDE / count).clamp(30, 56),
        count if count <= MOST_POINTED => SIDE / count,
        count => SIDE.div_ceil(count),
    }
}
