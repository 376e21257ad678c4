//! Distinguishes lists of pairs from matrices.

use super::cells::{self, Row, Separator, rows};
use super::error::{ImportError, shown};
use super::found::Found;
use super::{MAXIMUM_CPUS, matrix, pairs};

/// Reads a list of pairs or a matrix.
pub fn read(text: &str) -> Result<Found, ImportError> {
    let separator = Separator::of(text);
    let row = |(line, row)| Row { line, cells: separator.cells(row).into() };
    let parted = || parted(text, separator);
    let Some(first) = parted().next().map(row) else { return Err(ImportError::Empty) };
    if let Some(columns) = pairs::Columns::of(&first.cells) {
        return pairs::read(&columns, parted().skip(1).map(row));
    }
    if let Some(columns) = pairs::without_header(&first.cells, || parted().count()) {
        return pairs::read(&columns, parted().map(row));
    }
    if is_prose(&first.cells) {
        return Err(ImportError::Header { line: first.line, found: shown(&first.cells.join(" ")) });
    }
    if first.cells.len() > MAXIMUM_CPUS + 2 {
        return Err(ImportError::TooMany { cpus: first.cells.len() - 2 });
    }
    // A matrix may have one more row, a header.
    let most = MAXIMUM_CPUS + 1;
    // The cells of all rows share one list: there may be millions, and their memory is freed at once.
    let (mut cells, mut rows) = (Vec::new(), Vec::new());
    for (line, row) in parted().take(most + 1) {
        let begin = cells.len();
        cells.extend(separator.cells(row));
        rows.push((line, begin..cells.len()));
    }
    if rows.len() > most {
        return Err(ImportError::TooMany { cpus: MAXIMUM_CPUS + 1 });
    }
    let all: Vec<Row> = rows.into_iter().map(|(line, place)| Row { line, cells: cells[place].into() }).collect();
    let printed = separator == Separator::Space && first.cells[0] == "CPU";
    matrix::read(&all, printed || cells::is_plot(text))
}

/// Returns the rows of a table with their lines, each of at least one cell.
fn parted(text: &str, separator: Separator) -> impl Iterator<Item = (usize, &str)> {
    let is_row = move |(_, row): &(usize, &str)| separator == Separator::Character('\t') || !row.trim().is_empty();
    rows(text).filter(is_row)
}

/// Returns true if a first row has words but neither a number nor a cpu.
fn is_prose(header: &[&str]) -> bool {
    let says_something = |cell: &&str| cells::cpu(cell).is_some() || cells::is_number(cell);
    !header.iter().any(says_something) && header.iter().any(|cell| !cells::is_unknown(cell))
}
