//! Numbers by the names that documents give them: paths of JSON, columns and cells of tables.
//!
//! A name has one number, or one for each row of a column. Several are summarised: `p99(frametime)`, and by their mean without a word.

mod json;
mod table;

use crate::metric_line::{ColumnSummary, parse_summary, split_summary, text_pattern};
use corewise_statistics::order::quantile;
use corewise_statistics::quantity::{MeasuredQuantity, QuantityUnit, QuotedQuantity, UnitChange};

/// Maximum number of names listed where one is missing.
const MOST_LISTED: usize = 12;
/// Last lines of an output in which words are listed.
const MOST_LINES: usize = 1_000;
/// Part of an output in which names are listed, in bytes: listing takes more than linear time and cannot be interrupted.
const LISTED_BYTES: usize = 32 << 10;
/// Largest JSON of which the paths are listed, in bytes.
const LISTED_JSON_BYTES: usize = 1 << 20;
/// Longest line in which a text is searched, in bytes.
const LONGEST_LINE: usize = 16 << 10;
/// Longest name or cell that is listed, in characters.
const LONGEST_NAME: usize = 40;

/// Texts that stand in a column where a value is missing, in lower case.
const ABSENT_CELLS: [&str; 7] = ["", "-", "n/a", "na", "nan", "null", "none"];

/// Reason why the number by a name cannot be used, said of the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is a text.
    #[error("is there, but is no number: {0}")]
    NotANumber(String),
    /// A column of numbers has a text.
    #[error("is there, but is no number in line {line}: {cell}")]
    TextInColumn {
        /// The number of the line, from 1.
        line: usize,
        /// The text.
        cell: String,
    },
    /// A value of a column has another unit.
    #[error("{0}")]
    UnitChange(#[from] UnitChange),
    /// The name is a call of a function that there is not.
    #[error("calls a function that is not known: {0}. These are: {FUNCTIONS}")]
    UnknownFunction(String),
    /// The name is a call without its end.
    #[error("has no closing bracket: write \"{0})\"")]
    NoBracket(String),
}

/// Functions of a column, for a message.
const FUNCTIONS: &str = "mean, median, min, max, sum, last, and p0 to p100";

/// A cell that is no number.
struct TextCell {
    text: String,
    /// The number of its line, if it is in a table.
    line: Option<usize>,
}

impl TextCell {
    fn is_absent(&self) -> bool {
        ABSENT_CELLS.contains(&self.text.trim().to_lowercase().as_str())
    }

    fn into_error(self) -> DocumentError {
        let cell: String = self.text.chars().take(LONGEST_NAME).collect();
        match self.line {
            Some(line) => DocumentError::TextInColumn { line, cell: format!("\"{cell}\"") },
            None => DocumentError::NotANumber(cell),
        }
    }
}

/// Returns the numbers of a column without its absent cells; `None` if it has no cell.
///
/// # Errors
/// If a cell is another text, or all are absent.
fn take_numbers(cells: Vec<Result<QuotedQuantity, TextCell>>) -> Result<Option<Vec<QuotedQuantity>>, DocumentError> {
    let mut absent = None;
    let mut values = Vec::new();
    for cell in cells {
        match cell {
            Ok(value) => values.push(value),
            Err(text) if text.is_absent() => absent = absent.or(Some(text)),
            Err(text) => return Err(text.into_error()),
        }
    }
    match absent {
        Some(text) if values.is_empty() => Err(text.into_error()),
        _ => Ok(Some(values).filter(|values| !values.is_empty())),
    }
}

/// Returns the number that a document has by this name; `None` if there is none. A name may be in a summary: "p99(frametime)",
/// "max(results.0.times)".
///
/// # Errors
/// If the name is there without a number, or calls a function that there is not.
pub fn find_in_document(text: &str, name: &str) -> Result<Option<QuotedQuantity>, DocumentError> {
    let find = |name: &str| match json::find_values(text, name)? {
        Some(values) => Ok(Some(values)),
        None => table::find_values(text, name),
    };
    let call = split_summary(name);
    if let Some((summary, column)) = call
        && let Some(values) = find(column)?
    {
        return Ok(summarize(&values, summary)?);
    }
    if let Some(values) = find(name)? {
        return Ok(summarize(&values, ColumnSummary::Mean)?);
    }
    match (explain_call(name), find_text_behind(text, call.map_or(name, |(_, column)| column))) {
        (Some(error), _) => Err(error),
        (None, Some(word)) => Err(DocumentError::NotANumber(word)),
        (None, None) => Ok(None),
    }
}

/// Returns the text behind a name where its number should be: "NaN" of "lat: NaN".
fn find_text_behind(text: &str, name: &str) -> Option<String> {
    let pattern = regex_lite::Regex::new(&text_pattern(name)).ok()?;
    let lines = text.lines().rev().filter(|line| line.len() <= LONGEST_LINE && line.contains(name));
    lines.take(MOST_LINES).find_map(|line| Some(pattern.captures(line)?.get(1)?.as_str().to_owned()))
}

/// Explains what is wrong with a name that is written as a call: "stddev(x)", "p99(x". The unit of "time(ms)" is no call.
fn explain_call(name: &str) -> Option<DocumentError> {
    let (word, rest) = name.split_once('(')?;
    let word = word.trim();
    let is_word = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let Some(column) = rest.trim_end().strip_suffix(')') else {
        return is_word.then(|| DocumentError::NoBracket(name.trim().to_owned()));
    };
    let is_unknown = is_word && parse_summary(word).is_none() && QuantityUnit::parse_known(column.trim()).is_none();
    is_unknown.then(|| DocumentError::UnknownFunction(word.to_owned()))
}

/// Returns names of numbers that an output has, to offer if another was named: paths, columns, and words before a number.
pub fn list_numbers(text: &str) -> Vec<String> {
    let (first, last) = (first_lines(text), last_lines(text));
    let mut names = if text.len() <= LISTED_JSON_BYTES { json::list_paths(text) } else { Vec::new() };
    if names.is_empty() {
        names = table::list_columns(first);
        if !names.is_empty() {
            names.extend(table::list_cells(first));
        }
    }
    if names.is_empty() {
        names = list_labels(last);
    }
    if names.is_empty() {
        names = table::list_cells(first);
    }
    shorten_list(names)
}

/// Returns the first whole lines, at most [`LISTED_BYTES`] of them.
fn first_lines(text: &str) -> &str {
    match text.as_bytes().get(..LISTED_BYTES) {
        Some(first) => &text[..first.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)],
        None => text,
    }
}

/// Returns the last whole lines, at most [`LISTED_BYTES`] of them.
fn last_lines(text: &str) -> &str {
    let Some(begin) = text.len().checked_sub(LISTED_BYTES) else { return text };
    let end_of_line = text.as_bytes()[begin..].iter().position(|byte| *byte == b'\n');
    &text[end_of_line.map_or(text.len(), |at| begin + at + 1)..]
}

/// Returns the first names of a list that are short enough to be typed, and how many more there are.
pub(super) fn shorten_list(mut names: Vec<String>) -> Vec<String> {
    names.dedup();
    names.retain(|name| name.chars().count() <= LONGEST_NAME);
    let more = names.len().saturating_sub(MOST_LISTED);
    names.truncate(MOST_LISTED);
    names.extend((more > 0).then(|| format!("{more} more")));
    names
}

/// Returns the words in front of numbers: "Requests/sec" of "Requests/sec: 1234", each once.
fn list_labels(text: &str) -> Vec<String> {
    let Ok(label) = regex_lite::Regex::new(r"([A-Za-z][A-Za-z0-9_./% -]*?)\s*[:=]\s*[-+]?\.?[0-9]") else {
        return Vec::new();
    };
    let mut names: Vec<String> = Vec::new();
    let lines: Vec<&str> = text.lines().rev().take(MOST_LINES).collect();
    for line in lines.into_iter().rev() {
        for found in label.captures_iter(line).filter_map(|found| found.get(1)) {
            let name = found.as_str().trim().to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Summarises quantities in the unit of the first one; `None` without any.
fn summarize(values: &[QuotedQuantity], summary: ColumnSummary) -> Result<Option<QuotedQuantity>, UnitChange> {
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return Ok(None) };
    if let [only] = values {
        return Ok(Some(only.clone()));
    }
    let numbers: Vec<f64> = values.iter().map(|value| value.in_unit_of(first)).collect::<Result<_, _>>()?;
    let value = match summary {
        ColumnSummary::Mean => numbers.iter().sum::<f64>() / numbers.len() as f64,
        ColumnSummary::Sum => numbers.iter().sum(),
        ColumnSummary::Last => last.in_unit_of(first)?,
        ColumnSummary::Quantile(at) => quantile(&numbers, at),
    };
    let quantity = MeasuredQuantity { value, unit: first.quantity.unit.clone() };
    let line = format!("{} values, the last \"{}\"", values.len(), last.line.trim());
    Ok(Some(QuotedQuantity::new(quantity, &line, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, name: &str) -> Option<f64> {
        find_in_document(text, name).ok().flatten().map(|found| found.quantity.value)
    }

    fn refused(text: &str, name: &str) -> String {
        find_in_document(text, name).unwrap_err().to_string()
    }

    const HYPERFINE: &str = r#"{"results": [{"command": "a b", "mean": 0.5, "times": [0.4, 0.5, 0.6]}, {"command": "c", "mean": "12 ms"}]}"#;

    #[test]
    fn paths_of_json_are_numbers_and_columns() {
        assert_eq!(found(HYPERFINE, "results.0.mean"), Some(0.5));
        assert_eq!(found(HYPERFINE, ".results[0].mean"), Some(0.5), "as jq writes it");
        assert_eq!(found(HYPERFINE, "results.1.mean"), Some(12.0));
        assert_eq!(found(HYPERFINE, "max(results.0.times)"), Some(0.6));
        assert_eq!(found(HYPERFINE, "results.0.times"), Some(0.5));
        assert_eq!([found(HYPERFINE, "results.7.mean"), found(HYPERFINE, "results.0.command")], [None, None]);
        let behind_words = format!("warming up 3\n{HYPERFINE}\ndone\n");
        assert_eq!(found(&behind_words, "results.0.mean"), Some(0.5));
        assert_eq!(found("{\"a\": {\"b.c\": 4}}", "a.b.c"), Some(4.0), "a key with a dot");
        assert_eq!(found("{\"n\": 1}\n{\"n\": 3}\n", "sum(n)"), Some(4.0), "a document a line");
    }

    #[test]
    fn columns_of_tables_are_read_below_their_heading() {
        let mangohud =
            "os,cpu,gpu\nLinux,7950X3D,7900\nfps,frametime,cpu_load\n60.5,16.5,20\n59.5,16.8,30\n30,33.3,40\n";
        assert_eq!(found(mangohud, "fps"), Some(50.0));
        assert_eq!(found(mangohud, "max(frametime)"), Some(33.3));
        assert_eq!(found(mangohud, "min(fps)"), Some(30.0));
        assert_eq!(found(mangohud, "gpu_load"), None);
        let quoted = "\"name\";\"time (ms)\"\n\"a, b\";12\n\"c\";14\n";
        let time = find_in_document(quoted, "time").unwrap().unwrap().quantity;
        assert_eq!((time.value, time.unit.unit_suffix().as_str()), (13.0, " ms"));
        assert_eq!(found("fps\n60\n62\n", "fps"), Some(61.0), "one column");
        assert_eq!(found("a\tb\n1\t2\n3\t4\n", "last(b)"), Some(4.0));
        assert_eq!(found("procs  r  b  swpd\n  0 1 2 77\n  0 1 4 79\n", "swpd"), Some(78.0), "columns of spaces");
    }

    #[test]
    fn a_cell_names_the_number_behind_it() {
        let bench = "| model | size | threads | test | t/s |\n| --- | ---: | ---: | ---: | ---: |\n\
                     | llama 7B | 3.5 GiB | 4 | pp512 | 20.10 ± 0.30 |\n| llama 7B | 3.5 GiB | 4 | tg128 | 7.24 ± 0.02 |\n";
        assert_eq!(found(bench, "tg128"), Some(7.24));
        assert_eq!(found(bench, "pp512"), Some(20.1));
        assert_eq!(found(bench, "max(t/s)"), Some(20.1));
        assert_eq!(found("Triad,12345.6 MB/s\nCopy,2 MB/s\n", "Triad"), Some(12345.6));
    }

    #[test]
    fn what_there_is_is_listed() {
        assert_eq!(list_numbers(HYPERFINE), ["results.0.mean", "results.0.times", "results.1.mean"]);
        assert_eq!(list_numbers("fps,frametime\n60,16\n"), ["fps", "frametime"]);
        assert_eq!(
            list_numbers("took 3\nRequests/sec: 1234.5\nLatency = 3ms, p99 = 4ms\n"),
            ["Requests/sec", "Latency", "p99"]
        );
        assert_eq!(list_numbers("no number\n"), [""; 0]);
        assert_eq!(list_numbers(&(0..20).map(|n| format!("n{n}: 1\n")).collect::<String>()).last().unwrap(), "8 more");
    }

    #[test]
    fn cells_without_a_value_are_left_out_and_the_rest_counts() {
        for absent in ["N/A", "", "-", "nan", "NaN", "NA", "n/a", " "] {
            let table = format!("frame,ft,c\n1,16,1\n2,{absent},1\n3,20,1\n4,30,1\n");
            assert_eq!(found(&table, "max(ft)"), Some(30.0), "{absent}");
            assert_eq!(found(&table, "ft"), Some(22.0), "{absent}");
            assert_eq!(found(&table.replace(',', "\t"), "max(ft)"), Some(30.0), "{absent}");
            let first = format!("frame;ft\n1;{absent}\n2;16\n3;30\n");
            assert_eq!(found(&first, "max(ft)"), Some(30.0), "the first cell is {absent}");
        }
        let markdown = "| a | ft |\n| --- | ---: |\n| x | 16 |\n| y | - |\n| z | 30 |\n";
        assert_eq!(found(markdown, "max(ft)"), Some(30.0));
        assert_eq!(found("ft\n16\nN/A\n\n30\n", "max(ft)"), Some(30.0), "one column");
        assert_eq!(found("a ft c\n1 16 1\n2 N/A 1\n3 30 1\n", "max(ft)"), Some(30.0), "columns of spaces");
        assert_eq!(found("{\"ft\": [16, null, \"N/A\", 30]}", "max(ft)"), Some(30.0));
        assert_eq!(found("{\"ft\": 16}\n{\"ft\": null}\n{\"ft\": 30}\n", "max(ft)"), Some(30.0));
    }

    #[test]
    fn a_text_among_numbers_is_named_with_its_line() {
        let table = "frame,ft,c\n1,16,1\n2,error,1\n3,30,1\n";
        let expected = "is there, but is no number in line 3: \"error\"";
        assert_eq!(refused(table, "max(ft)"), expected);
        assert_eq!(refused(&table.replace(',', ";"), "ft"), expected);
        assert_eq!(refused(&table.replace(',', " "), "ft"), expected);
        assert_eq!(refused("ft\n16\nerror\n30\n", "ft"), expected);
        assert_eq!(refused("a;ft\n1;16,5\n2;17,5\n", "ft"), "is there, but is no number in line 2: \"16,5\"");
        assert_eq!(refused("a,ft\n1,N/A\n2,N/A\n", "ft"), "is there, but is no number in line 2: \"N/A\"");
        assert_eq!(refused("{\"ft\": [16, \"error\", 30]}", "ft"), "is there, but is no number: error");
        assert!(refused("a,ft\n1,16 ms\n2,3 MB\n", "ft").contains("changed its unit"));
    }

    #[test]
    fn a_table_ends_with_other_columns_or_a_blank_line() {
        assert_eq!(found("a,ft\n1,16\n2,30\ndone\n3,40\n", "max(ft)"), Some(30.0));
        assert_eq!(found("a,ft\n1,16\n2,30\n\ntotal,none of it\n", "max(ft)"), Some(30.0));
        assert_eq!(found("ft\n16\n30\nall done\n", "max(ft)"), Some(30.0), "words behind the only column");
    }

    #[test]
    fn a_name_without_a_number_is_there() {
        let there = |word: &str| format!("is there, but is no number: {word}");
        assert_eq!(refused("lat: NaN\n", "lat"), there("NaN"));
        assert_eq!(refused("x 3\nlat = fast ms\n", "max(lat)"), there("fast"));
        assert_eq!(refused("{\"lat\": NaN}", "lat"), there("NaN"));
        assert_eq!(refused("{\"a\": {\"lat\": null}}", "a.lat"), there("null"));
        assert_eq!(refused(HYPERFINE, "results.0.command"), there("a b"));
        assert_eq!(find_in_document("lat was not measured\n", "lat"), Ok(None));
        assert_eq!(find_in_document("flat: NaN\n", "lat"), Ok(None));
    }

    #[test]
    fn functions_are_known_in_any_case_and_unknown_ones_are_named() {
        let table = "fps\n60\n50\n40\n";
        for name in ["P100(fps)", "max( fps )", "MAX(fps)", "max (fps)"] {
            assert_eq!(found(table, name), Some(60.0), "{name}");
        }
        for word in ["p101", "stddev", "p999"] {
            let message = refused(table, &format!("{word}(fps)"));
            assert!(message.ends_with("These are: mean, median, min, max, sum, last, and p0 to p100"), "{message}");
        }
        assert_eq!(refused(table, "p99(fps"), "has no closing bracket: write \"p99(fps)\"");
        assert_eq!(find_in_document(table, "time(ms)"), Ok(None), "a unit");
        assert_eq!(find_in_document(table, "p99(ft)"), Ok(None));
    }

    #[test]
    fn cells_are_listed_and_rules_are_not() {
        let bench = "| model | size | threads | test | t/s |\n| --- | ---: | ------: | ---: | ---: |\n\
                     | llama 7B | 3.5 GiB | 4 | pp512 | 20.10 ± 0.30 |\n| llama 7B | 3.5 GiB | 4 | tg128 | 7.24 ± 0.02 |\n";
        assert_eq!(list_numbers(bench), ["size", "threads", "t/s", "pp512", "tg128"]);
        assert_eq!(list_numbers("Triad,12345.6 MB/s\nCopy,2 MB/s\n"), ["Triad", "Copy"]);
    }
}
