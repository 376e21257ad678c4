//! Rows and cells: splitting a line, and interpreting a cell.

use std::borrow::Cow;

use corewise_machine::cpu_set::MAXIMUM_CPU;

use super::MOST_CPUS;
use super::error::{ImportError, show_text};

/// The lines around the data that `c2clat -p` writes for gnuplot.
const PLOT: (&str, &str) = ("$data << EOD", "EOD");

/// Maximum number of cells read of a row: a name, the cells, an empty one after the last separator, and a surplus one.
const MOST_CELLS: usize = MOST_CPUS + 3;

/// A row and its line number.
#[derive(Clone, Debug)]
pub struct CellRow<'t> {
    /// The line of the text, counted from 1.
    pub line: usize,
    /// Its cells, in a list of their own or of a whole matrix.
    pub cells: Cow<'t, [&'t str]>,
}

/// Separator of two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellSeparator {
    /// One character; between two of them is an empty cell.
    Character(char),
    /// Any number of spaces and tabs; no cell is empty.
    Space,
}

impl CellSeparator {
    /// Returns the separator of a text: that of the first row with one other than spaces.
    pub fn from_text(text: &str) -> Self {
        let in_row = |(_, row): (usize, &str)| {
            let bare = row.trim();
            // A row may consist of one tab, but a tab before spaces is indentation.
            let has_tab = bare.contains('\t') || row.contains('\t') && !bare.contains(' ');
            [(';', bare.contains(';')), ('\t', has_tab), (',', bare.contains(','))]
                .into_iter()
                .find(|(_, is_there)| *is_there)
        };
        table_rows(text).find_map(in_row).map_or(Self::Space, |(mark, _)| Self::Character(mark))
    }

    /// Splits a row into cells, without white space and quotation marks around them.
    pub fn split_cells(self, row: &str) -> Vec<&str> {
        match self {
            Self::Character(mark) => row.split(mark).take(MOST_CELLS).map(bare_cell).collect(),
            Self::Space => row.split_whitespace().take(MOST_CELLS).map(bare_cell).collect(),
        }
    }
}

fn bare_cell(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim)
}

/// Returns the rows of a table with their line numbers: no empty lines, no comments, and only the data of a gnuplot
/// script. If tabs separate cells, a line of tabs is a row of empty cells.
pub fn table_rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let plot = text.lines().any(|line| line.trim() == PLOT.0);
    let mut inside = !plot;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let bare = line.trim();
        if plot && (bare == PLOT.0 || bare == PLOT.1) {
            inside = bare == PLOT.0;
            return None;
        }
        (inside && !line.trim_matches(' ').is_empty() && !bare.starts_with('#')).then_some((index + 1, line))
    })
}

/// Returns true if the text is a gnuplot script of c2clat.
pub fn is_plot(text: &str) -> bool {
    text.lines().any(|line| line.trim() == PLOT.0)
}

/// Position of a cell, counted from 1.
#[derive(Clone, Copy, Debug)]
pub struct CellPosition {
    /// The line of the text.
    pub line: usize,
    /// The cell in the row.
    pub column: usize,
}

/// Returns true if a cell marks an unknown cost.
pub fn is_unknown(cell: &str) -> bool {
    const WORDS: [&str; 10] = ["", "x", "-", "--", "?", "nan", "-nan", "na", "n/a", "none"];
    WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// Largest cost, in nanoseconds: a quarter of an hour.
const LARGEST: f64 = 1e12;

/// Returns the cost in a cell, with or without "ns" after it; `None` if the cell marks it as unknown.
pub fn parse_cost(cell: &str, CellPosition { line, column }: CellPosition) -> Result<Option<f64>, ImportError> {
    if is_unknown(cell) {
        return Ok(None);
    }
    let number = cell.strip_suffix("ns").unwrap_or(cell).trim_end();
    let parsed = number.parse().or_else(|error| match number.split_once(',') {
        // "16,29" between semicolons or tabs: spreadsheets of many countries have a decimal comma.
        Some((whole, rest)) if !rest.contains(['.', ',']) => format!("{whole}.{rest}").parse(),
        _ => Err(error),
    });
    match parsed {
        Ok(value) if f64::is_nan(value) => Ok(None),
        Ok(value) if value > LARGEST => Err(ImportError::Infinite { line, column, found: show_text(cell) }),
        Ok(value) if value < 0.0 => Err(ImportError::Negative { line, column, found: show_text(cell) }),
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(ImportError::NoNumber { line, column, found: show_text(cell) }),
    }
}

/// Returns true if a cell has a cost.
pub fn is_number(cell: &str) -> bool {
    matches!(parse_cost(cell, CellPosition { line: 0, column: 0 }), Ok(Some(_)))
}

/// Returns the cpu that a cell names: "7", "cpu7", "Core 7".
pub fn parse_cpu(cell: &str) -> Option<u32> {
    let number = cpu_word(cell).map_or(cell, |word| cell[word.len()..].trim_start_matches([' ', '_', '#']));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|&cpu| is_number && cpu <= MAXIMUM_CPU)
}

/// Returns the same, or an error.
pub fn cpu_at(cell: &str, line: usize) -> Result<u32, ImportError> {
    parse_cpu(cell).ok_or_else(|| ImportError::Cpu { line, found: show_text(cell) })
}

/// Returns true if a cell names a cpu by more than a bare number.
pub fn is_worded(cell: &str) -> bool {
    cpu_word(cell).is_some() && parse_cpu(cell).is_some()
}

/// Returns the "cpu" before a number.
fn cpu_word(cell: &str) -> Option<&str> {
    ["cpu", "core"].iter().find_map(|word| cell.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)))
}
