//! Numbers by the names that documents give them: paths of JSON, columns and cells of tables.
//!
//! A name has one number, or one for each row of a column. Several are summarised: `p99(frametime)`, and by their mean without a word.

mod json;
mod table;

use crate::quantity::{MeasuredQuantity, QuotedQuantity};
use crate::stats::order::quantile;

/// Maximum number of names listed where one is missing.
const MOST_LISTED: usize = 12;
/// Last lines of an output in which words are listed.
const MOST_LINES: usize = 1_000;
/// Longest name that is listed, in characters.
const LONGEST_NAME: usize = 40;

/// How the numbers of a column become one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ColumnSummary {
    Mean,
    Sum,
    Last,
    /// A quantile: 0 is the least value, 1 the greatest.
    Quantile(f64),
}

/// Returns the number that a document has by this name; `None` if there is none. A name may be in a summary: "p99(frametime)",
/// "max(results.0.times)".
pub fn find_in_document(text: &str, name: &str) -> Option<QuotedQuantity> {
    let (summary, name) = split_summary(name);
    let values = json::find_values(text, name).or_else(|| table::find_values(text, name))?;
    summarize(&values, summary.unwrap_or(ColumnSummary::Mean))
}

/// Returns names of numbers that an output has, to offer if another was named: paths, columns, and words before a number.
pub fn list_numbers(text: &str) -> Vec<String> {
    let mut names = json::list_paths(text);
    if names.is_empty() {
        names = table::list_columns(text);
    }
    if names.is_empty() {
        names = list_labels(text);
    }
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

/// Splits "p99(frametime)" into its summary and the name; a name without one stays whole.
fn split_summary(text: &str) -> (Option<ColumnSummary>, &str) {
    let split = || {
        let (word, rest) = text.split_once('(')?;
        let percentile =
            || Some(word.strip_prefix('p')?.parse::<f64>().ok()?).filter(|part| (0.0..=100.0).contains(part));
        let summary = match word {
            "mean" | "avg" => ColumnSummary::Mean,
            "median" => ColumnSummary::Quantile(0.5),
            "min" => ColumnSummary::Quantile(0.0),
            "max" => ColumnSummary::Quantile(1.0),
            "sum" => ColumnSummary::Sum,
            "last" => ColumnSummary::Last,
            _ => ColumnSummary::Quantile(percentile()? / 100.0),
        };
        Some((summary, rest.strip_suffix(')')?))
    };
    split().map_or((None, text), |(summary, name)| (Some(summary), name))
}

/// Summarises quantities in the unit of the first one; `None` without any, or if their units do not convert.
fn summarize(values: &[QuotedQuantity], summary: ColumnSummary) -> Option<QuotedQuantity> {
    let (first, last) = (values.first()?, values.last()?);
    if let [only] = values {
        return Some(only.clone());
    }
    let numbers: Vec<f64> = values.iter().map(|value| value.in_unit_of(first).ok()).collect::<Option<_>>()?;
    let value = match summary {
        ColumnSummary::Mean => numbers.iter().sum::<f64>() / numbers.len() as f64,
        ColumnSummary::Sum => numbers.iter().sum(),
        ColumnSummary::Last => last.in_unit_of(first).ok()?,
        ColumnSummary::Quantile(at) => quantile(&numbers, at),
    };
    let quantity = MeasuredQuantity { value, unit: first.quantity.unit.clone() };
    let line = format!("{} values, the last \"{}\"", values.len(), last.line.trim());
    Some(QuotedQuantity::new(quantity, &line, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, name: &str) -> Option<f64> {
        find_in_document(text, name).map(|found| found.quantity.value)
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
        let time = find_in_document(quoted, "time").unwrap().quantity;
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
}
