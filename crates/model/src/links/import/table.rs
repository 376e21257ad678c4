//! Distinguishes lists of pairs from matrices.

use super::cells::{self, CellRow, CellSeparator, table_rows};
use super::error::{ImportError, show_text};
use super::format_match::FormatMatch;
use super::{MOST_CPUS, matrix, pairs};

/// Reads a list of pairs or a matrix.
pub fn read_table(text: &str) -> Result<FormatMatch, ImportError> {
    let separator = CellSeparator::from_text(text);
    let row = |(line, row)| CellRow { line, cells: separator.split_cells(row).into() };
    let parted = || parted_rows(text, separator);
    let Some(first) = parted().next().map(row) else { return Err(ImportError::Empty) };
    if let Some(columns) = pairs::PairColumns::from_header(&first.cells) {
        return pairs::read_pairs(&columns, parted().skip(1).map(row));
    }
    if let Some(columns) = pairs::without_header(&first.cells, || parted().count()) {
        return pairs::read_pairs(&columns, parted().map(row));
    }
    if is_prose(&first.cells) {
        return Err(ImportError::Header { line: first.line, found: show_text(&first.cells.join(" ")) });
    }
    if first.cells.len() > MOST_CPUS + 2 {
        return Err(ImportError::TooMany { cpus: first.cells.len() - 2 });
    }
    // A matrix may have one more row, a header.
    let most = MOST_CPUS + 1;
    // The cells of all rows share one list: there may be millions, and their memory is freed at once.
    let (mut cells, mut rows) = (Vec::new(), Vec::new());
    for (line, row) in parted().take(most + 1) {
        let begin = cells.len();
        cells.extend(separator.split_cells(row));
        rows.push((line, begin..cells.len()));
    }
    if rows.len() > most {
        return Err(ImportError::TooMany { cpus: MOST_CPUS + 1 });
    }
    let all: Vec<CellRow> =
        rows.into_iter().map(|(line, place)| CellRow { line, cells: cells[place].into() }).collect();
    let printed = separator == CellSeparator::Space && first.cells[0] == "CPU";
    matrix::read_matrix(&all, printed || cells::is_plot(text))
}

/// Returns the rows of a table with their lines, each of at least one cell.
fn parted_rows(text: &str, separator: CellSeparator) -> impl Iterator<Item = (usize, &str)> {
    let is_row = move |(_, row): &(usize, &str)| separator == CellSeparator::Character('\t') || !row.trim().is_empty();
    table_rows(text).filter(is_row)
}

/// Returns true if a first row has words but neither a number nor a cpu.
fn is_prose(header: &[&str]) -> bool {
    let says_something = |cell: &&str| cells::parse_cpu(cell).is_some() || cells::is_number(cell);
    !header.iter().any(says_something) && header.iter().any(|cell| !cells::is_unknown(cell))
}
