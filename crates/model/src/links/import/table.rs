//! Tells lists of pairs and matrices apart.

use super::cells::{self, Row, Separator, rows};
use super::error::{ImportError, shown};
use super::found::Found;
use super::{MAXIMUM_CPUS, matrix, pairs};

/// Reads a list of pairs or a matrix.
pub fn read(text: &str) -> Result<Found, ImportError> {
    let separator = Separator::of(text);
    let Some(first) = parted(text, separator).next() else { return Err(ImportError::Empty) };
    if let Some(columns) = pairs::Columns::of(&first.cells) {
        return pairs::read(&columns, parted(text, separator).skip(1));
    }
    if let Some(columns) = pairs::without_header(&first.cells, || parted(text, separator).count()) {
        return pairs::read(&columns, parted(text, separator));
    }
    if is_prose(&first.cells) {
        return Err(ImportError::Header { line: first.line, found: shown(&first.cells.join(" ")) });
    }
    if first.cells.len() > MAXIMUM_CPUS + 2 {
        return Err(ImportError::TooMany { cpus: first.cells.len() - 2 });
    }
    // A header is the one row more that a matrix may have.
    let most = MAXIMUM_CPUS + 1;
    let all: Vec<Row> = parted(text, separator).take(most + 1).collect();
    if all.len() > most {
        return Err(ImportError::TooMany { cpus: MAXIMUM_CPUS + 1 });
    }
    let printed = separator == Separator::Space && first.cells[0] == "CPU";
    matrix::read(&all, printed || cells::is_plot(text))
}

/// The rows of a table, each of one cell or more.
fn parted(text: &str, separator: Separator) -> impl Iterator<Item = Row<'_>> {
    let is_row = move |(_, row): &(usize, &str)| separator == Separator::Character('\t') || !row.trim().is_empty();
    rows(text).filter(is_row).map(move |(line, row)| Row { line, cells: separator.cells(row) })
}

/// Whether a first row has words and not one number or cpu.
fn is_prose(header: &[&str]) -> bool {
    let says_something = |cell: &&str| cells::cpu(cell).is_some() || cells::is_number(cell);
    !header.iter().any(says_something) && header.iter().any(|cell| !cells::is_unknown(cell))
}
