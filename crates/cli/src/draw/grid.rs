//! Aligned columns with tones. On a narrow terminal, the least important columns are dropped first.

use super::printable::{printable_name, text_width as columns};
use super::text::StyledLine;
use super::wrap::wrap_line;

/// Alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellAlignment {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

impl CellAlignment {
    /// Pads a cell to a width; a wider cell stays unchanged.
    pub fn pad(self, cell: StyledLine, width: usize) -> StyledLine {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        match self {
            Self::Left => cell.plain(padding),
            Self::Right => StyledLine::new().plain(padding).then(cell),
        }
    }
}

/// Returns the places of the columns, each a width and a rank, that fit into a width with gaps between them. Rank 0 is never dropped; of
/// the others the highest goes first, and of equals the rightmost.
pub fn fit_by_rank(columns: &[(usize, u8)], gap: usize, width: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let needed =
        |kept: &[usize]| kept.iter().map(|&place| columns[place].0).sum::<usize>() + gap * kept.len().saturating_sub(1);
    while needed(&kept) > width {
        let last = (0..kept.len()).max_by_key(|&index| (columns[kept[index]].1, index));
        let Some(index) = last.filter(|&index| columns[kept[index]].1 > 0) else { break };
        kept.remove(index);
    }
    kept
}

/// A column, with its title, unit and rank.
#[derive(Clone, Debug)]
pub struct GridColumn {
    title: String,
    name: String,
    unit: String,
    align: CellAlignment,
    rank: u8,
    shrinks_to: Option<usize>,
    is_for_documents: bool,
}

impl GridColumn {
    /// Creates a column of text. Rank 0 is never dropped; of the others the highest goes first, and of equals the rightmost.
    pub fn text(title: impl AsRef<str>, rank: u8) -> Self {
        let title = printable_name(title.as_ref());
        Self {
            name: title.clone(),
            title,
            unit: String::new(),
            align: CellAlignment::Left,
            rank,
            shrinks_to: None,
            is_for_documents: false,
        }
    }

    /// Creates a column of numbers; ranks are as in [`Self::text`].
    pub fn number(title: impl AsRef<str>, unit: impl AsRef<str>, rank: u8) -> Self {
        Self { unit: printable_name(unit.as_ref()), align: CellAlignment::Right, ..Self::text(title, rank) }
    }

    /// Sets the name that a remark on dropped columns uses; by default it is the title.
    #[must_use]
    pub fn with_name(mut self, name: impl AsRef<str>) -> Self {
        self.name = printable_name(name.as_ref());
        self
    }

    /// Shows the column only in documents.
    #[must_use]
    pub fn for_documents(mut self) -> Self {
        self.is_for_documents = true;
        self
    }

    /// Lets the column's cells be cut to a width before other columns are dropped.
    #[must_use]
    pub fn shrinking_to(mut self, width: usize) -> Self {
        self.shrinks_to = Some(width);
        self
    }
}

/// Rows of cells under columns.
#[derive(Clone, Debug)]
pub struct TextGrid {
    columns: Vec<GridColumn>,
    rows: Vec<Vec<StyledLine>>,
    gap: usize,
    indent: usize,
}

/// A table in full width, for documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WholeTable {
    /// Headings of the columns, from left to right.
    pub headings: Vec<ColumnHeading>,
    /// Rows, with a cell for each column.
    pub rows: Vec<Vec<StyledLine>>,
}

/// The heading of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnHeading {
    /// The title; may be empty.
    pub title: String,
    /// The unit; may be empty.
    pub unit: String,
    /// The name, for screen readers; may be empty.
    pub name: String,
    /// True if its cells are numbers, which are aligned right.
    pub is_number: bool,
}

impl ColumnHeading {
    /// Returns the title with the unit, or the name of a column without a title.
    pub fn spoken_title(&self) -> String {
        let Self { title, unit, name, .. } = self;
        let head = if title.is_empty() { name } else { title };
        format!("{head} {unit}").trim().to_owned()
    }
}

/// A grid fitted to a width.
#[derive(Clone, Debug)]
pub struct FittedGrid {
    /// Titles, units if there are any, and rows.
    pub lines: Vec<StyledLine>,
    /// Names of the dropped columns, from left to right.
    pub dropped: Vec<String>,
}

impl TextGrid {
    /// Creates a grid without rows.
    pub fn new(columns: Vec<GridColumn>) -> Self {
        Self { columns, rows: Vec::new(), gap: 2, indent: 0 }
    }

    /// Indents the grid by a number of columns.
    #[must_use]
    pub fn with_indent(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Adds a row: one cell for each column.
    ///
    /// # Panics
    /// If the number of cells differs from the number of columns.
    pub fn add_row(&mut self, cells: Vec<StyledLine>) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for every column");
        self.rows.push(cells);
    }

    /// Fits the grid to a width.
    pub fn fit_to(&self, width: usize) -> FittedGrid {
        let width = width.saturating_sub(self.indent);
        let is_shown = |index: &usize| !self.columns[*index].is_for_documents && self.has_content(*index);
        let shown: Vec<usize> = (0..self.columns.len()).filter(is_shown).collect();
        let sizes: Vec<(usize, u8)> =
            shown.iter().map(|&index| (self.narrowest_width(index), self.columns[index].rank)).collect();
        let kept: Vec<usize> = fit_by_rank(&sizes, self.gap, width).into_iter().map(|place| shown[place]).collect();
        let dropped = shown.into_iter().filter(|index| !kept.contains(index));
        FittedGrid {
            lines: self.draw_kept(&kept, width),
            dropped: dropped.map(|index| self.columns[index].name.clone()).collect(),
        }
    }

    /// Returns its lines at a width, with a remark on dropped columns.
    pub fn draw_lines(&self, width: usize) -> Vec<StyledLine> {
        let FittedGrid { mut lines, dropped } = self.fit_to(width);
        if !dropped.is_empty() {
            let text = format!("Hidden at this width: {}", dropped.join(", "));
            lines.extend(wrap_line(&StyledLine::new().faint(text).indent_by(self.indent), width, self.indent + 2));
        }
        lines
    }

    /// Returns all columns with content, at full width.
    pub fn whole_table(&self) -> WholeTable {
        let shown: Vec<usize> = (0..self.columns.len()).filter(|&index| self.has_content(index)).collect();
        let heading = |&index: &usize| {
            let GridColumn { title, unit, name, align, .. } = self.columns[index].clone();
            ColumnHeading { title, unit, name, is_number: align == CellAlignment::Right }
        };
        let cells = |row: &Vec<StyledLine>| shown.iter().map(|&index| row[index].clone()).collect();
        WholeTable { headings: shown.iter().map(heading).collect(), rows: self.rows.iter().map(cells).collect() }
    }

    /// Returns false if all cells of the column are empty; true if there are no rows.
    fn has_content(&self, index: usize) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| !row[index].is_empty())
    }

    fn natural_width(&self, index: usize) -> usize {
        let column = &self.columns[index];
        let head = columns(&column.title).max(columns(&column.unit));
        self.rows.iter().map(|row| row[index].width()).fold(head, usize::max)
    }

    fn narrowest_width(&self, index: usize) -> usize {
        let natural = self.natural_width(index);
        self.columns[index].shrinks_to.map_or(natural, |least| natural.min(least))
    }

    /// Returns the widths of the kept columns. If they are too wide, shrinking columns give up width, the rightmost first.
    fn column_widths(&self, kept: &[usize], width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = kept.iter().map(|&index| self.natural_width(index)).collect();
        let total = widths.iter().sum::<usize>() + self.gap * kept.len().saturating_sub(1);
        let mut excess = total.saturating_sub(width);
        for place in (0..kept.len()).rev() {
            let give = excess.min(widths[place] - self.narrowest_width(kept[place]));
            widths[place] -= give;
            excess -= give;
        }
        widths
    }

    fn draw_kept(&self, kept: &[usize], width: usize) -> Vec<StyledLine> {
        let widths = self.column_widths(kept, width);
        let head = |text: fn(&GridColumn) -> &String| {
            let cells = kept.iter().map(|&index| StyledLine::new().faint(text(&self.columns[index])));
            self.draw_row(cells.collect(), kept, &widths, width)
        };
        let mut lines = Vec::new();
        if kept.iter().any(|&index| !self.columns[index].title.is_empty()) {
            lines.push(head(|column| &column.title));
        }
        if kept.iter().any(|&index| !self.columns[index].unit.is_empty()) {
            lines.push(head(|column| &column.unit));
        }
        for row in &self.rows {
            let cells = kept.iter().map(|&index| row[index].clone()).collect();
            lines.push(self.draw_row(cells, kept, &widths, width));
        }
        lines
    }

    fn draw_row(&self, cells: Vec<StyledLine>, kept: &[usize], widths: &[usize], width: usize) -> StyledLine {
        let mut line = StyledLine::new();
        for (place, cell) in cells.into_iter().enumerate() {
            let cell = cell.cut_to(widths[place]);
            if place > 0 {
                line = line.plain(" ".repeat(self.gap));
            }
            line = line.then(self.columns[kept[place]].align.pad(cell, widths[place]));
        }
        line.cut_end(width).indent_by(self.indent)
    }
}

impl StyledLine {
    /// Cuts the line to a width; spaces at its end do not count.
    fn cut_end(self, width: usize) -> Self {
        if columns(&self.to_plain()) <= width { self } else { self.cut_to(width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> TextGrid {
        let mut grid = TextGrid::new(vec![
            GridColumn::text("cpu", 0),
            GridColumn::number("p50", "ns", 1),
            GridColumn::number("p90", "ns", 3),
            GridColumn::text("source", 2).shrinking_to(5),
        ]);
        for (cpu, p50, source) in [("0", "261", "nvme0q1"), ("1-7", "1,261", "timer")] {
            grid.add_row([cpu, p50, "270", source].iter().map(|text| StyledLine::new().plain(text)).collect());
        }
        grid
    }

    fn shown(grid: &TextGrid, width: usize) -> (Vec<String>, Vec<String>) {
        let fitted = grid.fit_to(width);
        (fitted.lines.iter().map(StyledLine::to_plain).collect(), fitted.dropped)
    }

    #[test]
    fn columns_stand_under_their_titles() {
        let (lines, dropped) = shown(&grid(), 80);
        assert_eq!(
            lines,
            ["cpu    p50  p90  source", "        ns   ns", "0      261  270  nvme0q1", "1-7  1,261  270  timer"]
        );
        assert!(dropped.is_empty());
    }

    #[test]
    fn a_narrow_grid_shrinks_first_and_drops_the_least_important_next() {
        assert_eq!(shown(&grid(), 22).0[2], "0      261  270  nvme…");
        assert_eq!(shown(&grid(), 21), (shown(&grid(), 21).0, vec!["p90".to_owned()]));
        assert_eq!(shown(&grid(), 12).1, ["p90", "source"]);
        for width in 1..40 {
            assert!(shown(&grid(), width).0.iter().all(|line| line.chars().count() <= width), "{width}");
        }
    }

    #[test]
    fn a_column_of_empty_cells_is_left_out() {
        let mut grid = TextGrid::new(vec![GridColumn::text("cpu", 0), GridColumn::number("stolen", "%", 1)]);
        grid.add_row(vec![StyledLine::new().plain("0"), StyledLine::new()]);
        assert_eq!(shown(&grid, 80), (vec!["cpu".to_owned(), "0".to_owned()], vec![]));
    }
}
