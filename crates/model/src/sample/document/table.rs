//! Numbers of tables: CSV, columns of tabs or spaces, and the tables of Markdown.

use super::{DocumentError, TextCell, take_numbers};
use corewise_statistics::quantity::{MeasuredQuantity, QuantityUnit, QuotedQuantity};

/// Separators of cells, the least ambiguous first; `None` is any number of spaces. By the end of the line a table has one column.
const SEPARATORS: [Option<char>; 6] = [Some('|'), Some('\t'), Some(';'), Some(','), None, Some(END)];
const END: char = '\n';
/// Maximum lines that are tried as a heading, the last first.
const MOST_HEADINGS: usize = 100;
/// Maximum rows in which cells are listed.
const MOST_ROWS: usize = 1_000;
/// Fewest columns of a table with spaces between its cells.
const FEWEST_WORDS: usize = 3;

/// Returns the numbers below a heading, or the number behind a cell with this text; `None` if there is neither.
///
/// # Errors
/// If the column has a text.
pub fn find_values(text: &str, name: &str) -> Result<Option<Vec<QuotedQuantity>>, DocumentError> {
    let lines: Vec<&str> = text.lines().collect();
    let mut without_numbers = None;
    for separator in SEPARATORS {
        let heads = lines.iter().enumerate().rev().filter(|(_, line)| line.contains(name)).take(MOST_HEADINGS);
        for (at, line) in heads {
            let Some(cells) = split_cells(line, separator) else { continue };
            let Some(column) = cells.iter().position(|cell| is_heading(cell, name)) else { continue };
            let below = TableColumn { lines: &lines, at, separator, columns: cells.len(), column }.read_cells();
            let has_numbers = below.iter().any(Result::is_ok);
            match take_numbers(below) {
                Ok(None) => {}
                Err(error) if !has_numbers => without_numbers = without_numbers.or(Some(error)),
                found => return found,
            }
            if let Some(values) = separator.and_then(|_| read_behind(line, &cells[column + 1..])) {
                return Ok(Some(values));
            }
        }
    }
    without_numbers.map_or(Ok(None), Err)
}

/// Returns the headings of the columns that have numbers.
pub fn list_columns(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let columns = |separator: &Option<char>| {
        let heads = lines
            .iter()
            .take(MOST_HEADINGS)
            .enumerate()
            .filter(|(_, line)| !is_rule(line))
            .filter_map(|(at, line)| Some((at, split_cells(line, *separator)?)));
        let named = heads.flat_map(|(at, cells)| {
            let has_numbers = |column: &usize| {
                !cells[*column].is_empty()
                    && read_quantity(&cells[*column]).is_none()
                    && has_numbers_below(&TableColumn {
                        lines: &lines,
                        at,
                        separator: *separator,
                        columns: cells.len(),
                        column: *column,
                    })
            };
            (0..cells.len()).filter(has_numbers).map(|column| cells[column].clone()).collect::<Vec<_>>()
        });
        let names: Vec<String> = named.collect();
        (!names.is_empty()).then_some(names)
    };
    SEPARATORS.iter().filter(|separator| separator.is_some()).find_map(columns).unwrap_or_default()
}

/// Returns the texts of cells with a number behind them that are in one row only: "tg128" of "| tg128 | 7.24 |".
pub fn list_cells(text: &str) -> Vec<String> {
    let names_of = |separator: &Option<char>| {
        let rows = text.lines().filter_map(|line| split_cells(line, *separator)).take(MOST_ROWS);
        let cells = rows.flat_map(|cells| {
            let is_named = |(at, cell): &(usize, &String)| {
                cell.chars().any(char::is_alphabetic)
                    && read_quantity(cell).is_none()
                    && cells.get(at + 1).is_some_and(|next| read_quantity(next).is_some())
            };
            cells.iter().enumerate().filter(is_named).map(|(_, cell)| cell.clone()).collect::<Vec<_>>()
        });
        let cells: Vec<String> = cells.collect();
        let is_alone = |cell: &&String| cells.iter().filter(|other| other == cell).count() == 1;
        Some(cells.iter().filter(is_alone).cloned().collect::<Vec<_>>()).filter(|names| !names.is_empty())
    };
    SEPARATORS.iter().filter(|separator| separator.is_some()).find_map(names_of).unwrap_or_default()
}

/// Splits a line into cells without quotation marks; `None` if it has only one, unless the table has one column.
fn split_cells(line: &str, separator: Option<char>) -> Option<Vec<String>> {
    let Some(separator) = separator else {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        return (words.len() >= FEWEST_WORDS).then_some(words);
    };
    let line = if separator == '|' { line.trim().trim_matches('|') } else { line };
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            other if other == separator && !is_quoted => cells.push(String::new()),
            other => cells.last_mut()?.push(other),
        }
    }
    cells.iter_mut().for_each(|cell| *cell = cell.trim().to_owned());
    (cells.len() > 1 || separator == END).then_some(cells)
}

/// Returns true for the name alone, or with its unit in brackets: "time (ms)".
fn is_heading(cell: &str, name: &str) -> bool {
    let behind = cell.strip_prefix(name).map(str::trim);
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(['(', '[']) && rest.ends_with([')', ']']))
}

/// A column of a table below its heading.
struct TableColumn<'a> {
    lines: &'a [&'a str],
    /// Place of the line with the heading.
    at: usize,
    separator: Option<char>,
    /// Number of cells of each row.
    columns: usize,
    column: usize,
}

impl TableColumn<'_> {
    /// Reads the cells until a row has other columns, or until the text behind a blank line. Lines of dashes are skipped.
    fn read_cells(&self) -> Vec<Result<QuotedQuantity, TextCell>> {
        let heading = split_cells(self.lines[self.at], self.separator).unwrap_or_default();
        let unit = heading.get(self.column).map(|heading| heading_unit(heading)).unwrap_or_default();
        let mut is_behind_blank = false;
        let mut cells = Vec::new();
        for (line, number) in self.lines[self.at + 1..].iter().zip(self.at + 2..) {
            is_behind_blank |= line.trim().is_empty();
            if is_rule(line) {
                continue;
            }
            let row = split_cells(line, self.separator).filter(|row| row.len() == self.columns);
            let Some(row) = row else { break };
            let cell = match read_quantity(&row[self.column]) {
                Some(quantity) => {
                    let unit = if quantity.unit.is_bare() { unit.clone() } else { quantity.unit };
                    Ok(QuotedQuantity::new(MeasuredQuantity { unit, ..quantity }, &row.join(" | "), 0))
                }
                None => Err(TextCell { text: row[self.column].clone(), line: Some(number) }),
            };
            let is_end = cell.as_ref().is_err_and(|text| is_behind_blank && !text.is_absent());
            if is_end {
                break;
            }
            is_behind_blank = false;
            cells.push(cell);
        }
        self.without_prose(cells)
    }

    /// Cuts off the texts behind the last number, or all if there is no number, where words are no cells for sure.
    fn without_prose(&self, mut cells: Vec<Result<QuotedQuantity, TextCell>>) -> Vec<Result<QuotedQuantity, TextCell>> {
        if matches!(self.separator, None | Some(END)) {
            let is_cell = |cell: &Result<_, TextCell>| cell.as_ref().map_or_else(TextCell::is_absent, |_| true);
            let end = cells.iter().rposition(is_cell).map_or(0, |at| at + 1);
            cells.truncate(end);
        }
        cells
    }
}

fn has_numbers_below(column: &TableColumn<'_>) -> bool {
    column.read_cells().iter().find(|cell| !cell.as_ref().is_err_and(TextCell::is_absent)).is_some_and(Result::is_ok)
}

/// Returns true for a line of dashes, and for a blank one.
fn is_rule(line: &str) -> bool {
    line.chars().all(|character| "-|: +=".contains(character))
}

/// Reads the first number behind a cell.
fn read_behind(line: &str, cells: &[String]) -> Option<Vec<QuotedQuantity>> {
    let quantity = cells.iter().find_map(|cell| read_quantity(cell))?;
    Some(vec![QuotedQuantity::new(quantity, line, 0)])
}

/// Reads a cell: a quantity, perhaps with its error: "7.24 ± 0.02".
fn read_quantity(cell: &str) -> Option<MeasuredQuantity> {
    let value = ["±", "+/-", "+-"].iter().find_map(|sign| cell.split_once(sign)).map_or(cell, |(value, _)| value);
    MeasuredQuantity::parse(value).ok()
}

/// Returns the unit of a heading: in brackets, or at its end as in "p99_ns".
fn heading_unit(heading: &str) -> QuantityUnit {
    let brackets = heading.rsplit_once(['(', '[']).map(|(_, rest)| rest.trim_end_matches([')', ']']));
    brackets.and_then(QuantityUnit::parse_known).unwrap_or_else(|| QuantityUnit::of_name(heading))
}
