//! Rows and cells: how a line is parted, and what a cell says.

use std::borrow::Cow;

use corewise_machine::cpu_set::MAXIMUM_CPU;

use super::MAXIMUM_CPUS;
use super::error::{ImportError, shown};

/// The lines around what `c2clat -p` writes for gnuplot.
const PLOT: (&str, &str) = ("$data << EOD", "EOD");

/// The most cells of a row that are looked at: a name, the cells, an empty one behind the last separator, and one that is too many.
const MOST_CELLS: usize = MAXIMUM_CPUS + 3;

/// A row and where it stands.
#[derive(Clone, Debug)]
pub struct Row<'t> {
    /// The line of the text, counted from 1.
    pub line: usize,
    /// Its cells, in a list of its own or in that of a whole matrix.
    pub cells: Cow<'t, [&'t str]>,
}

/// What stands between two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One character; two of them have an empty cell between them.
    Character(char),
    /// Any number of spaces and tabs; no cell is empty.
    Space,
}

impl Separator {
    /// The separator of a text: that of the first row which has one that is not a space.
    pub fn of(text: &str) -> Self {
        let in_row = |(_, row): (usize, &str)| {
            let bare = row.trim();
            // One tab may be all there is in a row, but before spaces it is mere indentation.
            let has_tab = bare.contains('\t') || row.contains('\t') && !bare.contains(' ');
            [(';', bare.contains(';')), ('\t', has_tab), (',', bare.contains(','))]
                .into_iter()
                .find(|(_, is_there)| *is_there)
        };
        rows(text).find_map(in_row).map_or(Self::Space, |(mark, _)| Self::Character(mark))
    }

    /// The cells of a row, without white space and quotation marks around them.
    pub fn cells(self, row: &str) -> Vec<&str> {
        match self {
            Self::Character(mark) => row.split(mark).take(MOST_CELLS).map(bare).collect(),
            Self::Space => row.split_whitespace().take(MOST_CELLS).map(bare).collect(),
        }
    }
}

fn bare(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim)
}

/// The rows of a table with their line numbers: no empty lines, no comments, and of a gnuplot script the data alone. A line of tabs is a
/// row of empty cells where cells are parted by tabs.
pub fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
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

/// Whether the text is a gnuplot script of c2clat.
pub fn is_plot(text: &str) -> bool {
    text.lines().any(|line| line.trim() == PLOT.0)
}

/// Where a cell stands, counted from 1.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The line of the text.
    pub line: usize,
    /// The cell in the row.
    pub column: usize,
}

/// Whether a cell says that its cost is not known.
pub fn is_unknown(cell: &str) -> bool {
    const WORDS: [&str; 10] = ["", "x", "-", "--", "?", "nan", "-nan", "na", "n/a", "none"];
    WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// No talk takes longer, in nanoseconds: a quarter of an hour.
const LARGEST: f64 = 1e12;

/// The cost in a cell, with "ns" behind it or not; nothing where the cell says that it is not known.
pub fn cost(cell: &str, Place { line, column }: Place) -> Result<Option<f64>, ImportError> {
    if is_unknown(cell) {
        return Ok(None);
    }
    let number = cell.strip_suffix("ns").unwrap_or(cell).trim_end();
    let parsed = number.parse().or_else(|error| match number.split_once(',') {
        // "16,29" between semicolons or tabs, as spreadsheets write it in many countries.
        Some((whole, rest)) if !rest.contains(['.', ',']) => format!("{whole}.{rest}").parse(),
        _ => Err(error),
    });
    match parsed {
        Ok(value) if f64::is_nan(value) => Ok(None),
        Ok(value) if value > LARGEST => Err(ImportError::Infinite { line, column, found: shown(cell) }),
        Ok(value) if value < 0.0 => Err(ImportError::Negative { line, column, found: shown(cell) }),
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(ImportError::NoNumber { line, column, found: shown(cell) }),
    }
}

/// Whether a cell has a cost.
pub fn is_number(cell: &str) -> bool {
    matches!(cost(cell, Place { line: 0, column: 0 }), Ok(Some(_)))
}

/// The cpu that a cell names: "7", "cpu7", "Core 7".
pub fn cpu(cell: &str) -> Option<u32> {
    let number = word(cell).map_or(cell, |word| cell[word.len()..].trim_start_matches([' ', '_', '#']));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|&cpu| is_number && cpu <= MAXIMUM_CPU)
}

/// The same, or the error that it is none.
pub fn cpu_at(cell: &str, line: usize) -> Result<u32, ImportError> {
    cpu(cell).ok_or_else(|| ImportError::Cpu { line, found: shown(cell) })
}

/// Whether a cell names a cpu by more than a bare number.
pub fn is_worded(cell: &str) -> bool {
    word(cell).is_some() && cpu(cell).is_some()
}

/// The "cpu" before a number.
fn word(cell: &str) -> Option<&str> {
    ["cpu", "core"].iter().find_map(|word| cell.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)))
}
