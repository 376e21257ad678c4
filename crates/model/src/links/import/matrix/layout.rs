//! Layout of a matrix: the position of the costs, and the cpus of its rows and columns.

use std::collections::BTreeSet;

use crate::links::import::cells::{self, CellRow, cpu_at, is_number, is_unknown, parse_cpu};
use crate::links::import::error::ImportError;

/// Assignment of cells to cpus.
#[derive(Debug)]
pub struct MatrixFileLayout {
    /// Number of rows before the costs: one with names, or none.
    pub header_rows: usize,
    /// Number of cells of a row before the costs: one with a name, or none.
    pub name_columns: usize,
    /// The cpus of the rows.
    pub rows: Vec<u32>,
    /// The cpus of the columns.
    pub columns: Vec<u32>,
    /// A remark on a guess.
    pub remark: Option<String>,
}

impl MatrixFileLayout {
    /// Finds the layout of a matrix of at least one row, each of at least one cell, and checks the length of every row.
    pub fn from_rows(rows: &[CellRow]) -> Result<Self, ImportError> {
        let layout = match Self::named_layout(rows)? {
            Some(layout) => layout,
            None => return Self::unnamed_layout(rows),
        };
        layout.check_names(rows)?;
        layout.check_lengths(rows)?;
        Ok(layout)
    }

    /// Returns true if the file names the cpus.
    pub fn names_cpus(&self) -> bool {
        self.header_rows + self.name_columns > 0
    }

    /// Finds the layout of a matrix that names its cpus in the first row, the first column or both; `None` if it does
    /// not.
    fn named_layout(rows: &[CellRow]) -> Result<Option<Self>, ImportError> {
        if let Some(layout) = Self::with_corner(rows)? {
            return Ok(Some(layout));
        }
        Ok(Self::with_header(rows).or_else(|| Self::with_named_rows(rows)))
    }

    /// Finds the layout of a matrix with a first row and a first column of names, and a corner cell.
    ///
    /// Without a word in that cell or before the numbers, the first row could be costs: then both must have the same
    /// rising numbers.
    fn with_corner(rows: &[CellRow]) -> Result<Option<Self>, ImportError> {
        let head = without_last_empty(&rows[0].cells);
        let body = &rows[1..];
        let [corner, rest @ ..] = head else { return Ok(None) };
        let Some(columns) = parse_names(rest) else { return Ok(None) };
        let layout = |rows, columns, remark| Some(Self { header_rows: 1, name_columns: 1, rows, columns, remark });
        let is_word = !is_unknown(corner) && !is_number(corner) && parse_cpu(corner).is_none();
        if is_word || is_unknown(corner) && cells::is_worded(rest[0]) {
            let rows: Result<Vec<u32>, _> = body.iter().map(|row| cpu_at(row.cells[0], row.line)).collect();
            return Ok(layout(rows?, columns, None));
        }
        let is_same = columns.len() > 1 && is_rising(&columns) && first_column(body).as_ref() == Some(&columns);
        if !is_unknown(corner) || !is_same {
            return Ok(None);
        }
        let remark = (columns[0] != 0).then(|| guess_remark(&columns));
        Ok(layout(columns.clone(), columns, remark))
    }

    /// Finds the layout of a matrix with a first row of names, and without a corner cell before it if the first column
    /// has the same names.
    fn with_header(rows: &[CellRow]) -> Option<Self> {
        let columns = parse_names(without_last_empty(&rows[0].cells)).filter(|names| names.len() > 1)?;
        let body = &rows[1..];
        let has_names = first_column(body).as_ref() == Some(&columns);
        let name_columns = usize::from(has_names);
        let fits = has_names || body.len() == columns.len() && is_rising(&columns);
        fits.then(|| Self { header_rows: 1, name_columns, rows: columns.clone(), columns, remark: None })
    }

    /// Finds the layout of a matrix with names in its first column alone.
    fn with_named_rows(rows: &[CellRow]) -> Option<Self> {
        let width = rows.len() + 1;
        let is_wide = |row: &CellRow| without_last_empty(&row.cells).len() == width || row.cells.len() == width;
        let names =
            first_column(rows).filter(|names| names.len() > 1 && is_rising(names) && rows.iter().all(is_wide))?;
        Some(Self { header_rows: 0, name_columns: 1, rows: names.clone(), columns: names, remark: None })
    }

    /// Finds the layout of a matrix without names: its rows and columns are the cpus 0, 1, 2, ….
    fn unnamed_layout(rows: &[CellRow]) -> Result<Self, ImportError> {
        let count = rows.len();
        let square = |rows: std::ops::Range<u32>, remark| {
            let columns = (0..rows.end).collect();
            Ok(Self { header_rows: 0, name_columns: 0, rows: rows.collect(), columns, remark })
        };
        if is_triangle(rows, 0) {
            let begins_with_cost = is_number(rows[0].cells[0]) && rows[0].cells[0].parse() != Ok(0.0);
            let remark = || "the first row is the second cpu's, because it has a cost".to_owned();
            return match begins_with_cost {
                true => square(1..count as u32 + 1, Some(remark())),
                false => square(0..count as u32, None),
            };
        }
        let expected = usual_length(rows);
        let is_empty = |column: usize| rows.iter().all(|row| row.cells.get(column).is_none_or(|cell| cell.is_empty()));
        let is_trailing = expected == count + 1 && is_empty(count);
        let width = if is_trailing { count } else { expected };
        for row in rows {
            check_length(row, 0, width)?;
        }
        match width == count {
            true => square(0..count as u32, (is_trailing && is_empty(count - 1)).then(maybe_cut)),
            false => Err(ImportError::NotSquare { rows: count, columns: width }),
        }
    }

    fn check_names(&self, rows: &[CellRow]) -> Result<(), ImportError> {
        let body = rows[self.header_rows..].iter().map(|row| row.line);
        let of_rows = self.rows.iter().copied().zip(body);
        let of_columns = self.columns.iter().map(|&cpu| (cpu, rows[0].line));
        no_cpu_twice(of_columns)?;
        no_cpu_twice(of_rows)
    }

    fn check_lengths(&self, rows: &[CellRow]) -> Result<(), ImportError> {
        let body = &rows[self.header_rows..];
        if self.rows.len() == self.columns.len() && is_triangle(body, self.name_columns) {
            return Ok(());
        }
        body.iter().try_for_each(|row| check_length(row, self.name_columns, self.columns.len()))
    }
}

/// Returns the cpus that cells name; `None` if there are no cells, or if one names no cpu.
fn parse_names(cells: &[&str]) -> Option<Vec<u32>> {
    cells.iter().map(|cell| parse_cpu(cell)).collect::<Option<Vec<u32>>>().filter(|names| !names.is_empty())
}

/// Returns the cpus that the first cells name; `None` if one names no cpu.
fn first_column(rows: &[CellRow]) -> Option<Vec<u32>> {
    rows.iter().map(|row| parse_cpu(row.cells[0])).collect()
}

fn is_rising(names: &[u32]) -> bool {
    names.is_sorted_by(|a, b| a < b)
}

fn guess_remark(names: &[u32]) -> String {
    let names = names.iter().copied().collect::<corewise_machine::CpuSet>();
    format!("the first row and the first column are assumed to be the cpus' numbers: {names}")
}

/// A lower triangle without its last row looks the same.
fn maybe_cut() -> String {
    "each row has one empty cell more than there are rows: assumed to be a separator at its end; otherwise the last \
        row is missing"
        .into()
}

/// Removes an empty cell after the last separator.
fn without_last_empty<'c, 't>(cells: &'c [&'t str]) -> &'c [&'t str] {
    match cells {
        [most @ .., ""] if !most.is_empty() => most,
        _ => cells,
    }
}

/// Returns true if each row ends at the diagonal: the first has one cell, the second two, and so on, or one less, and
/// perhaps an empty one at the end. Names before the costs do not count.
fn is_triangle(rows: &[CellRow], name_columns: usize) -> bool {
    let fits = |(place, row): (usize, &CellRow)| {
        let cells = row.cells.len().saturating_sub(name_columns);
        let ends_empty = row.cells.last().is_some_and(|cell| cell.is_empty());
        cells == place + 1 || cells == place && name_columns > 0 || cells == place + 2 && ends_empty
    };
    rows.len() > 1 && rows.iter().enumerate().all(fits)
}

/// Returns the length of the first row, or that of the second and the third if these two agree.
fn usual_length(rows: &[CellRow]) -> usize {
    match rows {
        [_, second, third, ..] if second.cells.len() == third.cells.len() => second.cells.len(),
        _ => rows[0].cells.len(),
    }
}

fn check_length(row: &CellRow, name_columns: usize, columns: usize) -> Result<(), ImportError> {
    let (found, expected) = (row.cells.len(), name_columns + columns);
    let ends_empty = row.cells.last().is_some_and(|cell| cell.is_empty());
    match found == expected || found == expected + 1 && ends_empty {
        true => Ok(()),
        false => Err(ImportError::RowLength { line: row.line, found, expected }),
    }
}

fn no_cpu_twice(names: impl Iterator<Item = (u32, usize)>) -> Result<(), ImportError> {
    let mut seen = BTreeSet::new();
    for (cpu, line) in names {
        if !seen.insert(cpu) {
            return Err(ImportError::Twice { line, cpu });
        }
    }
    Ok(())
}
