//! Aligned columns with tones; a terminal that is too narrow loses the least important columns first.

use super::printable::{named, width as columns};
use super::text::Line;
use super::wrap::wrap;

/// On which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

impl Align {
    /// Pads a cell to a width; one that is wider stays as it is.
    pub fn pad(self, cell: Line, width: usize) -> Line {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        match self {
            Self::Left => cell.plain(padding),
            Self::Right => Line::new().plain(padding).then(cell),
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

/// A column: its title, its unit said once, and how much it matters.
#[derive(Clone, Debug)]
pub struct Column {
    title: String,
    name: String,
    unit: String,
    align: Align,
    rank: u8,
    shrinks_to: Option<usize>,
    is_for_documents: bool,
}

impl Column {
    /// A column of text. Rank 0 is never dropped; of the others the highest goes first, and of equals the rightmost.
    pub fn text(title: impl AsRef<str>, rank: u8) -> Self {
        let title = named(title.as_ref());
        Self {
            name: title.clone(),
            title,
            unit: String::new(),
            align: Align::Left,
            rank,
            shrinks_to: None,
            is_for_documents: false,
        }
    }

    /// A column of numbers.
    pub fn number(title: impl AsRef<str>, unit: impl AsRef<str>, rank: u8) -> Self {
        Self { unit: named(unit.as_ref()), align: Align::Right, ..Self::text(title, rank) }
    }

    /// The column, with the name that a remark on dropped columns uses.
    #[must_use]
    pub fn named(mut self, name: impl AsRef<str>) -> Self {
        self.name = named(name.as_ref());
        self
    }

    /// The column, for which only documents have room.
    #[must_use]
    pub fn for_documents(mut self) -> Self {
        self.is_for_documents = true;
        self
    }

    /// The column, whose cells may be cut to a width before another column is dropped for it.
    #[must_use]
    pub fn shrinking_to(mut self, width: usize) -> Self {
        self.shrinks_to = Some(width);
        self
    }
}

/// Rows of cells under columns.
#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Line>>,
    gap: usize,
    indent: usize,
}

/// A table as a whole, for documents: what it shows, however wide that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WholeTable {
    /// The headings of its columns, from left to right.
    pub headings: Vec<ColumnHeading>,
    /// Its rows: a cell for each column.
    pub rows: Vec<Vec<Line>>,
}

/// The heading of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnHeading {
    /// The title; may be empty.
    pub title: String,
    /// The unit; may be empty.
    pub unit: String,
    /// The name, for a reader who cannot see what the column is; may be empty.
    pub name: String,
    /// Whether its cells are numbers, which stand on the right.
    pub is_number: bool,
}

/// A grid as it fits: its lines, and the titles of the columns that did not.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Titles, units where there are any, rows.
    pub lines: Vec<Line>,
    /// The names of the columns that were dropped, from left to right.
    pub dropped: Vec<String>,
}

impl Grid {
    /// A grid without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new(), gap: 2, indent: 0 }
    }

    /// The grid, moved to the right.
    #[must_use]
    pub fn indented(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Adds a row: one cell for each column.
    ///
    /// # Panics
    /// When the number of cells is not that of the columns.
    pub fn row(&mut self, cells: Vec<Line>) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for every column");
        self.rows.push(cells);
    }

    /// The grid at a width.
    pub fn fit(&self, width: usize) -> Fitted {
        let width = width.saturating_sub(self.indent);
        let is_shown = |index: &usize| !self.columns[*index].is_for_documents && self.says_something(*index);
        let shown: Vec<usize> = (0..self.columns.len()).filter(is_shown).collect();
        let sizes: Vec<(usize, u8)> =
            shown.iter().map(|&index| (self.floor(index), self.columns[index].rank)).collect();
        let kept: Vec<usize> = fit_by_rank(&sizes, self.gap, width).into_iter().map(|place| shown[place]).collect();
        let dropped = shown.into_iter().filter(|index| !kept.contains(index));
        Fitted {
            lines: self.draw(&kept, width),
            dropped: dropped.map(|index| self.columns[index].name.clone()).collect(),
        }
    }

    /// Its lines at a width, with a remark on the columns that did not fit.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let Fitted { mut lines, dropped } = self.fit(width);
        if !dropped.is_empty() {
            let text = format!("Hidden at this width: {}", dropped.join(", "));
            lines.extend(wrap(&Line::new().faint(text).indented(self.indent), width, self.indent + 2));
        }
        lines
    }

    /// The whole of it: all columns that say something.
    pub fn whole(&self) -> WholeTable {
        let shown: Vec<usize> = (0..self.columns.len()).filter(|&index| self.says_something(index)).collect();
        let heading = |&index: &usize| {
            let Column { title, unit, name, align, .. } = self.columns[index].clone();
            ColumnHeading { title, unit, name, is_number: align == Align::Right }
        };
        let cells = |row: &Vec<Line>| shown.iter().map(|&index| row[index].clone()).collect();
        WholeTable { headings: shown.iter().map(heading).collect(), rows: self.rows.iter().map(cells).collect() }
    }

    /// A column in which every cell is empty says nothing.
    fn says_something(&self, index: usize) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| !row[index].is_empty())
    }

    fn natural_width(&self, index: usize) -> usize {
        let column = &self.columns[index];
        let head = columns(&column.title).max(columns(&column.unit));
        self.rows.iter().map(|row| row[index].width()).fold(head, usize::max)
    }

    fn floor(&self, index: usize) -> usize {
        let natural = self.natural_width(index);
        self.columns[index].shrinks_to.map_or(natural, |least| natural.min(least))
    }

    /// The widths of the kept columns: shrinking ones give up what is too much, the rightmost first.
    fn widths(&self, kept: &[usize], width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = kept.iter().map(|&index| self.natural_width(index)).collect();
        let total = widths.iter().sum::<usize>() + self.gap * kept.len().saturating_sub(1);
        let mut excess = total.saturating_sub(width);
        for place in (0..kept.len()).rev() {
            let give = excess.min(widths[place] - self.floor(kept[place]));
            widths[place] -= give;
            excess -= give;
        }
        widths
    }

    fn draw(&self, kept: &[usize], width: usize) -> Vec<Line> {
        let widths = self.widths(kept, width);
        let head = |text: fn(&Column) -> &String| {
            let cells = kept.iter().map(|&index| Line::new().faint(text(&self.columns[index])));
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

    fn draw_row(&self, cells: Vec<Line>, kept: &[usize], widths: &[usize], width: usize) -> Line {
        let mut line = Line::new();
        for (place, cell) in cells.into_iter().enumerate() {
            let cell = cell.cut(widths[place]);
            if place > 0 {
                line = line.plain(" ".repeat(self.gap));
            }
            line = line.then(self.columns[kept[place]].align.pad(cell, widths[place]));
        }
        line.cut_end(width).indented(self.indent)
    }
}

impl Line {
    /// Spaces at the end do not count against the width; anything else is cut.
    fn cut_end(self, width: usize) -> Self {
        if columns(&self.to_plain()) <= width { self } else { self.cut(width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(vec![
            Column::text("cpu", 0),
            Column::number("p50", "ns", 1),
            Column::number("p90", "ns", 3),
            Column::text("source", 2).shrinking_to(5),
        ]);
        for (cpu, p50, source) in [("0", "261", "nvme0q1"), ("1-7", "1,261", "timer")] {
            grid.row([cpu, p50, "270", source].iter().map(|text| Line::new().plain(text)).collect());
        }
        grid
    }

    fn shown(grid: &Grid, width: usize) -> (Vec<String>, Vec<String>) {
        let fitted = grid.fit(width);
        (fitted.lines.iter().map(Line::to_plain).collect(), fitted.dropped)
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
        let mut grid = Grid::new(vec![Column::text("cpu", 0), Column::number("stolen", "%", 1)]);
        grid.row(vec![Line::new().plain("0"), Line::new()]);
        assert_eq!(shown(&grid, 80), (vec!["cpu".to_owned(), "0".to_owned()], vec![]));
    }
}
