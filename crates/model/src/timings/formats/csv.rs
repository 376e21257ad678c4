//! Timings of CSV: columns of values, or lines of a name and a value.

use std::collections::{BTreeMap, BTreeSet};

use super::{SeriesAndNotes, TimingError, TimingFile, TimingFormat, unusable};
use crate::metric_line::more_is_better;
use crate::timings::TimingSeries;
use corewise_statistics::quantity::{MeasuredQuantity, QuantityUnit};

/// Headings of a first column that counts or dates the runs, in lower case.
const COUNTING: [&str; 12] =
    ["run", "runs", "iteration", "iter", "i", "n", "nr", "index", "#", "date", "timestamp", "day"];
/// Texts of cells without a value, in lower case.
const ABSENT: [&str; 7] = ["", "-", "n/a", "na", "nan", "null", "none"];

/// A line of a file.
struct CsvRow {
    /// Its number, from 1.
    line: usize,
    cells: Vec<String>,
}

/// Reads columns of numbers with or without headings, or lines of a name and a number. Lines of `#` are comments.
pub fn read_csv(text: &str) -> Result<TimingFile, TimingError> {
    let rows = read_rows(text);
    let has_number = rows.iter().any(|row| row.cells.iter().any(|cell| is_number(cell)));
    let Some(first) = rows.first().filter(|_| has_number && !text.trim_start().starts_with('<')) else {
        return Err(TimingError::NoTimings);
    };
    let has_heading = !first.cells.iter().any(|cell| is_number(cell) || is_date(cell));
    let (heading, body) = rows.split_at(usize::from(has_heading));
    let headings = heading.first().map(|row| &row.cells[..]);
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].cells.len() != pair[1].cells.len()) {
        let (cells, before) = (pair[1].cells.len(), pair[0].cells.len());
        let word = if cells == 1 { "cell" } else { "cells" };
        let is_decimal = cells == 2 * before && pair[1].cells.iter().all(|cell| is_number(cell));
        let hint = if is_decimal { ". If the comma is a decimal one, write a point" } else { "" };
        return unusable(format!("line {} has {cells} {word}, and the line before it {before}{hint}", pair[1].line));
    }
    if headings.is_some_and(|names| ["mean", "stddev"].iter().all(|name| names.iter().any(|cell| cell == name))) {
        return unusable("it has means only, without the runs; hyperfine writes these with --export-json");
    }
    let named = |row: &CsvRow| !is_number(&row.cells[0]) && !is_date(&row.cells[0]) && !is_absent(&row.cells[0]);
    let (series, mut notes) = match first.cells.len() == 2 && body.iter().all(named) {
        true => read_named(headings, body)?,
        false => read_columns(headings, body)?,
    };
    notes.extend(describe_direction(&series));
    Ok(TimingFile { formats: BTreeSet::from([TimingFormat::Csv]), series, notes })
}

fn read_rows(text: &str) -> Vec<CsvRow> {
    let lines = || {
        let numbered = text.lines().zip(1..).map(|(line, number)| (line.trim(), number));
        numbered.filter(|(line, _)| !line.is_empty() && !is_comment(line))
    };
    let separator = [';', '\t', ','].into_iter().find(|separator| lines().any(|(line, _)| line.contains(*separator)));
    let cells = |line: &str| {
        line.split(separator.unwrap_or(',')).map(|cell| cell.trim().trim_matches('"').to_owned()).collect()
    };
    lines().map(|(line, number)| CsvRow { line: number, cells: cells(line) }).collect()
}

/// Returns true for a line of "#", unless it is the heading of a column that counts the runs.
fn is_comment(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(|rest| !rest.starts_with([',', ';', '\t']))
}

/// Reads lines of a name and a value; equal names are one series.
fn read_named(headings: Option<&[String]>, body: &[CsvRow]) -> Result<SeriesAndNotes, TimingError> {
    let mut rows_of: Vec<(String, Vec<&CsvRow>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for row in body {
        let place = *places.entry(&row.cells[0]).or_insert_with(|| {
            rows_of.push((row.cells[0].clone(), Vec::new()));
            rows_of.len() - 1
        });
        rows_of[place].1.push(row);
    }
    let heading = headings.map_or("", |names| &names[1]);
    let columns = rows_of.into_iter().map(|(name, rows)| CsvColumn { name, heading, rows, at: 1 });
    read_all(columns)
}

fn read_columns(headings: Option<&[String]>, body: &[CsvRow]) -> Result<SeriesAndNotes, TimingError> {
    let width = body.first().map_or(0, |row| row.cells.len());
    let heading = |at: usize| headings.and_then(|names| names.get(at)).map_or("", String::as_str);
    let counts = width > 1 && (COUNTING.contains(&heading(0).to_lowercase().as_str()) || is_counter(body));
    let column = |at: usize| {
        let name = Some(heading(at)).filter(|name| !name.is_empty());
        let name = name.map_or_else(|| format!("column {}", at + 1), str::to_owned);
        CsvColumn { name, heading: heading(at), rows: body.iter().collect(), at }
    };
    let (series, mut notes) = read_all((usize::from(counts)..width).map(column))?;
    let name = if heading(0).is_empty() { String::new() } else { format!(" ({})", heading(0)) };
    notes.extend(counts.then(|| format!("The first column{name} counts or dates the runs, and is no series.")));
    Ok((series, notes))
}

/// Returns true if the first cells are dates, or 1, 2, 3 and so on.
fn is_counter(body: &[CsvRow]) -> bool {
    let numbers: Option<Vec<u64>> = body.iter().map(|row| row.cells[0].parse().ok()).collect();
    let is_consecutive = |numbers: &Vec<u64>| {
        numbers.len() > 2 && numbers[0] <= 1 && numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
    };
    numbers.as_ref().is_some_and(is_consecutive) || body.iter().all(|row| is_date(&row.cells[0]))
}

fn is_date(cell: &str) -> bool {
    let begins = cell.len() >= 8 && cell.starts_with(|first: char| first.is_ascii_digit());
    begins
        && cell.chars().all(|letter| letter.is_ascii_digit() || "-/.:TZ+ ".contains(letter))
        && ["-", "/", ".", ":"].iter().any(|mark| cell.matches(mark).count() >= 2)
}

fn is_absent(cell: &str) -> bool {
    ABSENT.contains(&cell.to_lowercase().as_str())
}

/// Returns true for a finite number, one with a known unit, or one with a comma, which is refused later; "8 threads" is a name.
fn is_number(cell: &str) -> bool {
    let has_unit = |quantity: &MeasuredQuantity| quantity.unit.is_time() || quantity.unit.is_rate();
    let has_comma = cell.split_once(',').is_some_and(|parts| {
        [parts.0, parts.1].iter().all(|part| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit()))
    });
    has_comma
        || cell.parse::<f64>().is_ok_and(f64::is_finite)
        || MeasuredQuantity::parse(cell).is_ok_and(|found| has_unit(&found))
}

/// Cells that become a series.
struct CsvColumn<'a> {
    name: String,
    heading: &'a str,
    rows: Vec<&'a CsvRow>,
    at: usize,
}

fn read_all<'a>(columns: impl Iterator<Item = CsvColumn<'a>>) -> Result<SeriesAndNotes, TimingError> {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for column in columns {
        let series = column.read_series()?;
        let (cells, absent) = (column.rows.len(), column.rows.len() - series.values.len());
        let verb = if absent == 1 { "has" } else { "have" };
        notes.extend((absent > 0).then(|| format!("{}: {absent} of {cells} cells {verb} no value.", series.name)));
        if !series.values.is_empty() {
            all.push(series);
        }
    }
    Ok((all, notes))
}

impl CsvColumn<'_> {
    /// Reads the values: times in seconds, others in the unit of the heading or of the first cell.
    fn read_series(&self) -> Result<TimingSeries, TimingError> {
        let of_heading = unit_of_heading(self.heading);
        let mut unit: Option<QuantityUnit> = None;
        let mut values = Vec::new();
        for CsvRow { line, cells } in self.rows.iter().filter(|row| !is_absent(&row.cells[self.at])) {
            let cell = &cells[self.at];
            let found = match MeasuredQuantity::parse(cell) {
                Ok(found) => found,
                Err(why) => return unusable(format!("line {line}: {}", why.to_string().replace(", which is", " is"))),
            };
            let own = if found.unit.is_bare() { of_heading.clone() } else { found.unit };
            let base = if own.is_time() { QuantityUnit::seconds() } else { own.clone() };
            let unit = unit.get_or_insert(base);
            match own.convert_value(found.value, unit) {
                Some(value) if value > 0.0 && value.is_finite() => values.push(value),
                Some(_) => return unusable(format!("line {line}: \"{cell}\" is not above zero")),
                None => {
                    return unusable(format!(
                        "line {line}: \"{cell}\" does not convert to{}, the unit of {}",
                        unit.unit_suffix(),
                        self.name
                    ));
                }
            }
        }
        let unit = unit.unwrap_or_default();
        let by_unit = unit.is_rate().then_some(true).or(unit.is_time().then_some(false));
        let said = by_unit.or_else(|| more_is_better(self.heading, "")).or_else(|| more_is_better(&self.name, ""));
        let name = if unit.is_time() { without_unit(&self.name).to_owned() } else { self.name.clone() };
        Ok(TimingSeries { name, values, unit, higher_is_better: said, benchmark: None })
    }
}

/// Returns the unit of a heading: in brackets, at its end, or alone.
fn unit_of_heading(heading: &str) -> QuantityUnit {
    let brackets = heading.rsplit_once(['(', '[']).map(|(_, rest)| rest.trim_end_matches([')', ']']));
    let known = brackets.and_then(QuantityUnit::parse_known).or_else(|| QuantityUnit::parse_known(heading));
    known.unwrap_or_else(|| QuantityUnit::of_name(heading))
}

/// Returns a name without a unit in brackets; its values are in seconds.
fn without_unit(name: &str) -> &str {
    name.rsplit_once(['(', '[']).map_or(name, |(name, _)| name.trim()).trim()
}

/// Says which direction was assumed, unless all are times.
fn describe_direction(series: &[TimingSeries]) -> Vec<String> {
    let names = |wanted: &dyn Fn(&TimingSeries) -> bool| {
        series.iter().filter(|series| wanted(series)).map(|series| series.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let more = names(&|series| series.higher_is_better == Some(true));
    let mut notes: Vec<String> = Vec::new();
    notes.extend((!more.is_empty()).then(|| format!("More is taken to be better: {more}.")));
    let unknown = series.iter().filter(|series| series.higher_is_better.is_none()).count();
    notes.extend((unknown > 0).then(|| match unknown == series.len() {
        true => "Less is taken to be better: no unit or name says it.".to_owned(),
        false => format!("Less is taken to be better: {}.", names(&|series| series.higher_is_better.is_none())),
    }));
    notes
}
