//! Heat maps for the terminal: as large as fits, with cells joined to blocks if there are too many.

mod grid;
mod joined_blocks;
mod legend;

use std::ops::Range;

use corewise_statistics::order::median;

use super::HeatMap;
use super::depth::ColourDepth;
use super::scale::CostScale;
use crate::draw::number::format_brief;
use crate::draw::text::StyledLine;
use joined_blocks::JoinedBlocks;

/// Minimum average number of blocks per group for gaps between groups; with fewer, the gaps would dominate the map.
const LEAST_BLOCKS: usize = 3;

impl HeatMap {
    /// Returns the map in at most `width` columns (from 20 on) and `most_rows` lines (from 1 on), without head and
    /// legend. Cells are figures if these fit, otherwise colours or shades. If there is not room for every cell, a
    /// cell is the median of a block, and a note says so. Empty if there is no cell.
    pub fn draw_lines(&self, depth: ColourDepth, width: usize, most_rows: usize) -> Vec<StyledLine> {
        if self.is_empty() {
            return Vec::new();
        }
        let known = self.known_costs();
        let plan = HeatPlan::choose_plan(self, &known, depth, HeatRoom { width, rows: most_rows.max(1) });
        let heat = TerminalHeat {
            map: self,
            depth,
            width,
            scale: CostScale::from_costs(&known, self.ends),
            costs: plan.block_costs(self),
            predicted: plan.block_predictions(self),
            plan,
        };
        let mut lines = heat.draw_grid();
        lines.extend(heat.draw_legend(self.has_unknown(known.len())));
        lines.into_iter().map(|line| line.cut_to(width)).collect()
    }
}

/// Map with its layout.
struct TerminalHeat<'a> {
    map: &'a HeatMap,
    depth: ColourDepth,
    width: usize,
    /// `None` if no cost is known.
    scale: Option<CostScale>,
    plan: HeatPlan,
    /// Cost of each pair of blocks, row by row; NaN if unknown.
    costs: Vec<f64>,
    /// Whether most of each pair of blocks is predicted; empty if all is measured.
    predicted: Vec<bool>,
}

/// Room for a map.
#[derive(Clone, Copy)]
struct HeatRoom {
    width: usize,
    rows: usize,
}

/// Form of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellForm {
    /// Figures in this many columns, including the space after them.
    Figures(usize),
    /// Two columns of colour or shade: nearly a square.
    Wide,
    /// One column and half a line of colour.
    Half,
    /// One column of shade.
    Narrow,
}

impl CellForm {
    /// Returns the columns of a cell.
    fn cell_columns(self) -> usize {
        match self {
            Self::Figures(columns) => columns,
            Self::Wide => 2,
            Self::Half | Self::Narrow => 1,
        }
    }

    /// Returns the number of rows in a line.
    fn rows_per_line(self) -> usize {
        if self == Self::Half { 2 } else { 1 }
    }
}

/// Axes with gaps between groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupGaps {
    Both,
    Columns,
    None,
}

/// Layout of a map.
struct HeatPlan {
    rows: JoinedBlocks,
    columns: JoinedBlocks,
    form: CellForm,
    /// Gaps between groups.
    gaps: GroupGaps,
    /// Columns for the labels of the rows.
    margin: usize,
}

impl HeatPlan {
    /// Chooses the finest layout that fits.
    fn choose_plan(map: &HeatMap, known: &[f64], depth: ColourDepth, room: HeatRoom) -> Self {
        let mut last = None;
        for (rows, columns) in list_cut_pairs(map) {
            let longest = (0..rows.len()).map(|block| map.rows.label_at(rows.first_row(block)).chars().count()).max();
            let margin = longest.unwrap_or(0).min(room.width / 3);
            let heading =
                (0..columns.len()).map(|block| map.columns.label_at(columns.first_row(block)).chars().count()).max();
            // The narrowest figure takes two columns. A large map has no room for them, so its figures are not even
            // formatted.
            let has_room = rows.largest_block().max(columns.largest_block()) == 1 && 2 * columns.len() <= room.width;
            let figures =
                has_room.then(|| CellForm::Figures(figure_columns(known, heading.unwrap_or(0).min(room.width / 3))));
            let blocks = if depth == ColourDepth::NoColour {
                [CellForm::Wide, CellForm::Narrow]
            } else {
                [CellForm::Wide, CellForm::Half]
            };
            let mut plan = Self { rows, columns, form: blocks[1], gaps: GroupGaps::None, margin };
            for form in figures.into_iter().chain(blocks) {
                for gaps in [GroupGaps::Both, GroupGaps::Columns, GroupGaps::None] {
                    (plan.form, plan.gaps) = (form, gaps);
                    if plan.fits_room(room) {
                        return plan;
                    }
                }
            }
            last = Some(plan);
        }
        last.expect("a map that is not empty can be cut")
    }

    fn fits_room(&self, room: HeatRoom) -> bool {
        let is_figures = matches!(self.form, CellForm::Figures(_));
        let is_lattice =
            |cut: &JoinedBlocks| !is_figures && cut.gap_count() > 0 && cut.len() < LEAST_BLOCKS * (cut.gap_count() + 1);
        if self.gaps != GroupGaps::None && (is_lattice(&self.rows) || is_lattice(&self.columns)) {
            return false;
        }
        let gap_columns = if self.gaps == GroupGaps::None { 0 } else { self.columns.gap_count() };
        let gap_rows = if self.gaps == GroupGaps::Both { self.rows.gap_count() } else { 0 };
        let columns = self.margin + 1 + self.columns.len() * self.form.cell_columns() + gap_columns;
        let lines = (self.rows.len() + gap_rows).div_ceil(self.form.rows_per_line());
        columns <= room.width && lines <= room.rows
    }

    /// Returns the median of each pair of blocks.
    fn block_costs(&self, map: &HeatMap) -> Vec<f64> {
        let cell = |rows: &Range<usize>, columns: &Range<usize>| {
            let of_row = |row| columns.clone().map(move |column| map.cost_at(row, column));
            median(&rows.clone().flat_map(of_row).collect::<Vec<_>>())
        };
        self.map_blocks(cell)
    }

    /// Returns whether most of each pair of blocks is predicted; empty if no cost is.
    fn block_predictions(&self, map: &HeatMap) -> Vec<bool> {
        if map.predicted.is_empty() {
            return Vec::new();
        }
        let cell = |rows: &Range<usize>, columns: &Range<usize>| {
            let all = rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column)));
            let predicted = all.filter(|&(row, column)| map.is_predicted(row, column)).count();
            2 * predicted > rows.len() * columns.len()
        };
        self.map_blocks(cell)
    }

    /// Maps each pair of blocks, row by row.
    fn map_blocks<T>(&self, cell: impl Fn(&Range<usize>, &Range<usize>) -> T) -> Vec<T> {
        let (rows, columns) = (self.rows.blocks().iter(), self.columns.blocks());
        rows.flat_map(|rows| columns.iter().map(|columns| cell(rows, columns)).collect::<Vec<_>>()).collect()
    }
}

/// Returns all ways to join rows and columns, the finest first; both are joined alike if they are the same things.
fn list_cut_pairs(map: &HeatMap) -> Vec<(JoinedBlocks, JoinedBlocks)> {
    let rows: Vec<JoinedBlocks> = joined_blocks::list_cuts(&map.rows.groups).collect();
    if map.is_of_pairs {
        return rows.into_iter().map(|cut| (cut.clone(), cut)).collect();
    }
    let columns: Vec<JoinedBlocks> = joined_blocks::list_cuts(&map.columns.groups).collect();
    let steps = (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |column| (row, column)));
    let mut steps: Vec<(usize, usize)> = steps.collect();
    steps.sort_by_key(|(row, column)| row + column);
    steps.into_iter().map(|(row, column)| (rows[row].clone(), columns[column].clone())).collect()
}

/// Returns the columns of a cell with figures, including the space after them; short labels fit as well.
fn figure_columns(known: &[f64], label: usize) -> usize {
    let longest = known.iter().map(|&cost| format_brief(cost).chars().count()).max().unwrap_or(1);
    longest.max(label.min(4)) + 1
}
