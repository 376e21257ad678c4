//! Squares of numbers: row A, column B is the talk from thread A to thread B. TreeMatch writes them without names, spreadsheets with names
//! in the first line, the first column or both.

use super::{CellLine, MOST_THREADS, NamedEdge, TalkImportError, WakeMeans, parse_number};

/// Sizes of a square of numbers that can be a table of edges, too: both have as many numbers in a line.
const AMBIGUOUS: std::ops::RangeInclusive<usize> = 3..=4;

/// A square of numbers.
pub(super) struct NumberSquare<'a> {
    names: Vec<String>,
    /// Lines, each with as many numbers as there are names.
    rows: Vec<(usize, &'a [String])>,
}

/// Finds the square of a file. `None` if the file is a table of edges; without separators it cannot be one.
///
/// # Errors
/// It can be both.
pub(super) fn find_square(
    lines: &[CellLine],
    has_separators: bool,
) -> Result<Option<NumberSquare<'_>>, TalkImportError> {
    if let Some(named) = find_named(lines) {
        return Ok(Some(named));
    }
    let is_square = lines.iter().all(|(_, cells)| cells.len() == lines.len() && are_numbers(cells));
    let size = lines.len();
    if has_separators && is_square && AMBIGUOUS.contains(&size) {
        let (line, example) = (lines[0].0, "waker,wakee,wakes");
        let what = format!(
            "{size} lines of {size} numbers can be edges or a matrix: write \"{example}\" above edges, or spaces between the numbers of a matrix"
        );
        return Err(TalkImportError::Line { line, what });
    }
    if has_separators && !is_square {
        return Ok(None);
    }
    let names = (0..size).map(|thread| thread.to_string()).collect();
    Ok(Some(NumberSquare { names, rows: lines.iter().map(|(line, cells)| (*line, &cells[..])).collect() }))
}

/// Finds a square with names: above, with or without a cell for the corner, and perhaps before each line, too.
fn find_named(lines: &[CellLine]) -> Option<NumberSquare<'_>> {
    let ((_, heading), rows) = lines.split_first()?;
    let size = rows.len();
    let names = heading.get(heading.len().checked_sub(size)?..)?.to_vec();
    let begins_with_name = |((_, cells), name): (&CellLine, &String)| {
        cells.len() == size + 1 && cells[0] == *name && are_numbers(&cells[1..])
    };
    let corner = (heading.len() > size).then(|| &heading[0]);
    let has_corner = corner.is_none_or(|corner| parse_number(corner).is_none()) && heading.len() <= size + 1;
    let is_labelled = has_corner && rows.iter().zip(&names).all(begins_with_name);
    let is_headed = heading.len() == size
        && !AMBIGUOUS.contains(&size)
        && !are_numbers(heading)
        && rows.iter().all(|(_, cells)| cells.len() == size && are_numbers(cells));
    let from = usize::from(is_labelled);
    let rows = rows.iter().map(|(line, cells)| (*line, &cells[from..])).collect();
    (size > 1 && (is_labelled || is_headed)).then_some(NumberSquare { names, rows })
}

fn are_numbers(cells: &[String]) -> bool {
    cells.iter().all(|cell| cell.parse::<f64>().is_ok())
}

impl NumberSquare<'_> {
    /// Returns an edge for each number. Threads without talk are threads, too: each has an edge to itself.
    pub(super) fn read_edges(self) -> Result<Vec<NamedEdge>, TalkImportError> {
        let size = self.names.len();
        if size > MOST_THREADS {
            return Err(TalkImportError::TooMany);
        }
        let mut edges = Vec::new();
        for (a, (line, cells)) in self.rows.into_iter().enumerate() {
            let wrong = |what: String| TalkImportError::Line { line, what };
            if cells.len() != size {
                return Err(wrong(format!("expected {size} numbers, as many as lines, found {}", cells.len())));
            }
            for (b, cell) in cells.iter().enumerate() {
                let wakes = parse_number(cell).ok_or_else(|| wrong(format!("expected a number, found \"{cell}\"")))?;
                if wakes > 0.0 || a == b {
                    let ends = [self.names[a].clone(), self.names[b].clone()];
                    edges.push(NamedEdge { ends, wakes, waiting_ns: None, means: WakeMeans::Unknown });
                }
            }
        }
        Ok(edges)
    }
}
