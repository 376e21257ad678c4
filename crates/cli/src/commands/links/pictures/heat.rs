//! The whole map for the terminal: as large as fits, cells joined to blocks where there are too many.

mod cut;
mod grid;
mod legend;

use corewise_model::links::Matrix;
use corewise_model::stats::order::median;

use super::Layout;
use super::depth::Depth;
use super::scale::Scale;
use crate::draw::number::brief;
use crate::draw::text::Line;
use cut::Cut;

/// Groups of fewer blocks than this, on average, do not stand apart: a map with as many gaps as cells shows the gaps.
const LEAST_BLOCKS: usize = 3;

/// The map of a matrix in at most `width` columns (from 20 on) and, without its head and legend, `most_rows` lines (from 1 on): with
/// figures where they fit, else as colours or shades. Where there is not room for a cell of each pair, a cell is the median of a block of
/// pairs; a note says so. Empty where nothing is to be drawn.
pub fn heat(matrix: &Matrix, layout: &Layout, depth: Depth, width: usize, most_rows: usize) -> Vec<Line> {
    if layout.order.is_empty() {
        return Vec::new();
    }
    let known = layout.known(matrix);
    let room = Room { width, rows: most_rows.max(1) };
    let plan = Plan::choose(layout, &known, depth, room);
    let predicted = plan.predicted(layout);
    let heat = Heat {
        layout,
        depth,
        width,
        scale: Scale::of(&known, layout.ends),
        costs: plan.costs(matrix, layout),
        predicted,
        plan,
    };
    let mut lines = heat.draw();
    let count = layout.order.len();
    let unknown = count * (count - 1) - known.len();
    lines.extend(heat.legend(unknown > 0, layout.is_directed(matrix)));
    lines.into_iter().map(|line| line.cut(width)).collect()
}

/// A map that is laid out.
struct Heat<'a> {
    layout: &'a Layout,
    depth: Depth,
    width: usize,
    /// Absent where nothing is known.
    scale: Option<Scale>,
    plan: Plan,
    /// The cost of each pair of blocks, row by row; not a number where none is known.
    costs: Vec<f64>,
    /// Whether most of each pair of blocks is predicted; empty where all is measured.
    predicted: Vec<bool>,
}

/// The room for a map.
#[derive(Clone, Copy)]
struct Room {
    width: usize,
    rows: usize,
}

/// How a cell is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As figures in so many columns, the space after them included.
    Figures(usize),
    /// As two columns of colour or shade: nearly a square.
    Wide,
    /// As one column and half a line of colour.
    Half,
    /// As one column of shade.
    Narrow,
}

impl Form {
    /// Columns of a cell.
    fn columns(self) -> usize {
        match self {
            Self::Figures(columns) => columns,
            Self::Wide => 2,
            Self::Half | Self::Narrow => 1,
        }
    }

    /// How many rows a line holds.
    fn rows(self) -> usize {
        if self == Self::Half { 2 } else { 1 }
    }
}

/// Where groups stand apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gaps {
    Both,
    Columns,
    None,
}

/// What is drawn, and how.
struct Plan {
    cut: Cut,
    form: Form,
    /// Where groups stand apart.
    gaps: Gaps,
    /// Columns for the labels of the rows.
    margin: usize,
}

impl Plan {
    /// The finest plan that fits.
    fn choose(layout: &Layout, known: &[f64], depth: Depth, room: Room) -> Self {
        let groups = layout.groups();
        let mut last = None;
        for cut in cut::cuts(&groups) {
            let longest = (0..cut.len()).map(|block| layout.label(cut.first(block)).chars().count()).max();
            let margin = longest.unwrap_or(0).min(room.width / 3);
            // The narrowest figure takes two columns: of a large map none fits, and none is written to see that.
            let has_room = cut.largest() == 1 && 2 * cut.len() <= room.width;
            let figures = has_room.then(|| Form::Figures(figure_columns(known, margin)));
            let blocks = if depth == Depth::NoColour { [Form::Wide, Form::Narrow] } else { [Form::Wide, Form::Half] };
            let mut plan = Self { cut, form: blocks[1], gaps: Gaps::None, margin };
            for form in figures.into_iter().chain(blocks) {
                for gaps in [Gaps::Both, Gaps::Columns, Gaps::None] {
                    (plan.form, plan.gaps) = (form, gaps);
                    if plan.fits(room) {
                        return plan;
                    }
                }
            }
            last = Some(plan);
        }
        last.expect("a layout that is not empty can be cut")
    }

    fn fits(&self, room: Room) -> bool {
        let is_lattice =
            !matches!(self.form, Form::Figures(_)) && self.cut.len() < LEAST_BLOCKS * (self.cut.gaps() + 1);
        if self.gaps != Gaps::None && is_lattice {
            return false;
        }
        let gap_columns = if self.gaps == Gaps::None { 0 } else { self.cut.gaps() };
        let gap_rows = if self.gaps == Gaps::Both { self.cut.gaps() } else { 0 };
        let columns = self.margin + 1 + self.cut.len() * self.form.columns() + gap_columns;
        let lines = (self.cut.len() + gap_rows).div_ceil(self.form.rows());
        columns <= room.width && lines <= room.rows
    }

    /// The median of each pair of blocks.
    fn costs(&self, matrix: &Matrix, layout: &Layout) -> Vec<f64> {
        let blocks = self.cut.blocks();
        let cell = |rows: &std::ops::Range<usize>, columns: &std::ops::Range<usize>| {
            let column = |row| columns.clone().map(move |column| layout.cost(matrix, row, column));
            median(&rows.clone().flat_map(column).collect::<Vec<_>>())
        };
        blocks.iter().flat_map(|rows| blocks.iter().map(move |columns| cell(rows, columns))).collect()
    }
}

impl Plan {
    /// Whether most pairs of each pair of blocks are predicted; empty where none is.
    fn predicted(&self, layout: &Layout) -> Vec<bool> {
        if layout.predicted.is_empty() {
            return Vec::new();
        }
        let blocks = self.cut.blocks();
        let cell = |rows: &std::ops::Range<usize>, columns: &std::ops::Range<usize>| {
            let all = rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column)));
            let predicted = all.filter(|&(row, column)| layout.is_predicted(row, column)).count();
            2 * predicted > rows.len() * columns.len()
        };
        blocks.iter().flat_map(|rows| blocks.iter().map(move |columns| cell(rows, columns))).collect()
    }
}

/// Columns of a cell with figures, the space after them included; labels are at most as wide, if they are short.
fn figure_columns(known: &[f64], label: usize) -> usize {
    let longest = known.iter().map(|&cost| brief(cost).chars().count()).max().unwrap_or(1);
    longest.max(label.min(4)) + 1
}
