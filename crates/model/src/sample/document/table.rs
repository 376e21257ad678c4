//! Numbers of tables: CSV, columns of tabs or spaces, and the tables of Markdown.

use crate::quantity::{MeasuredQuantity, QuantityUnit, QuotedQuantity};

/// Separators of cells, the least ambiguous first; `None` is any number of spaces. By the end of the line a table has one column.
const SEPARATORS: [Option<char>; 6] = [Some('|'), Some('\t'), Some(';'), Some(','), None, Some(END)];
const END: char = '\n';
/// Maximum lines that are tried as a heading, the last first.
const MOST_HEADINGS: usize = 100;
/// Fewest columns of a table with spaces between its cells.
const FEWEST_WORDS: usize = 3;

/// Returns the numbers below a heading, or the number behind a cell with this text; `None` if there is neither.
pub fn find_values(text: &str, name: &str) -> Option<Vec<QuotedQuantity>> {
    let lines: Vec<&str> = text.lines().collect();
    SEPARATORS.iter().find_map(|separator| {
        let heads = lines.iter().enumerate().rev().filter(|(_, line)| line.contains(name)).take(MOST_HEADINGS);
        heads.into_iter().find_map(|(at, line)| {
            let cells = split_cells(line, *separator)?;
            let column = cells.iter().position(|cell| is_heading(cell, name))?;
            let below = || read_column(&lines[at + 1..], *separator, cells.len(), column, &cells[column]);
            below().or_else(|| separator.and_then(|_| read_behind(line, &cells[column + 1..])))
        })
    })
}

/// Returns the headings of the columns that have numbers.
pub fn list_columns(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let columns = |separator: &Option<char>| {
        let heads = lines
            .iter()
            .take(MOST_HEADINGS)
            .enumerate()
            .filter_map(|(at, line)| Some((at, split_cells(line, *separator)?)));
        let named = heads.flat_map(|(at, cells)| {
            let has_numbers = |column: &usize| {
                !cells[*column].is_empty()
                    && read_quantity(&cells[*column]).is_none()
                    && read_column(&lines[at + 1..], *separator, cells.len(), *column, &cells[*column]).is_some()
            };
            (0..cells.len()).filter(has_numbers).map(|column| cells[column].clone()).collect::<Vec<_>>()
        });
        let names: Vec<String> = named.collect();
        (!names.is_empty()).then_some(names)
    };
    SEPARATORS.iter().filter(|separator| separator.is_some()).find_map(columns).unwrap_or_default()
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

/// Reads a column until a line has other columns; lines of dashes are skipped. `None` if its first cell is no number.
fn read_column(
    lines: &[&str],
    separator: Option<char>,
    columns: usize,
    column: usize,
    heading: &str,
) -> Option<Vec<QuotedQuantity>> {
    let is_rule = |line: &&&str| line.chars().all(|character| "-|: +=".contains(character));
    let rows = lines.iter().filter(|line| !is_rule(line)).map(|line| split_cells(line, separator));
    let rows = rows.map_while(|cells| cells.filter(|cells| cells.len() == columns));
    let unit = heading_unit(heading);
    let values: Vec<QuotedQuantity> = rows
        .map_while(|cells| Some((read_quantity(&cells[column])?, cells.join(" | "))))
        .map(|(quantity, line)| {
            let unit = if quantity.unit.is_bare() { unit.clone() } else { quantity.unit };
            QuotedQuantity::new(MeasuredQuantity { unit, ..quantity }, &line, 0)
        })
        .collect();
    (!values.is_empty()).then_some(values)
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
