//! Files of timings: hyperfine's JSON, that of Google Benchmark, pyperf and Criterion, and CSV.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::TimingSeries;

/// Maximum number of series, and of values together.
const MOST_SERIES: usize = 1_000;
const MOST_VALUES: usize = 1_000_000;

/// The program that wrote a file of timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingFormat {
    /// `hyperfine --export-json`.
    Hyperfine,
    /// `--benchmark_out` of Google Benchmark.
    GoogleBenchmark,
    /// `pyperf` and `pyperformance`.
    Pyperf,
    /// `sample.json` of Criterion, one benchmark.
    Criterion,
    /// Columns of values, or names and values.
    Csv,
}

impl fmt::Display for TimingFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Hyperfine => "hyperfine",
            Self::GoogleBenchmark => "Google Benchmark",
            Self::Pyperf => "pyperf",
            Self::Criterion => "Criterion",
            Self::Csv => "CSV",
        })
    }
}

impl TimingFormat {
    /// Returns true if the values are seconds. CSV has no unit.
    pub fn is_in_seconds(self) -> bool {
        self != Self::Csv
    }
}

/// Reads a file of timings; `None` for any other text, for values that are not above zero, and for too many.
pub fn read_timings(text: &str) -> Option<(TimingFormat, Vec<TimingSeries>)> {
    let (format, series) = match serde_json::from_str::<Value>(text) {
        Ok(document) => read_json(&document)?,
        Err(_) => (TimingFormat::Csv, read_csv(text)?),
    };
    let values = || series.iter().flat_map(|series| &series.values);
    let is_sound = values().all(|value| *value > 0.0 && value.is_finite());
    let is_small = series.len() <= MOST_SERIES && values().count() <= MOST_VALUES;
    (is_sound && is_small && values().next().is_some()).then_some((format, series))
}

fn read_json(document: &Value) -> Option<(TimingFormat, Vec<TimingSeries>)> {
    let list = |name: &str| document.get(name).and_then(Value::as_array);
    if let Some(results) = list("results") {
        let series = results.iter().map(|result| Some(named(result.get("command")?, numbers(result.get("times")?))));
        return Some((TimingFormat::Hyperfine, series.collect::<Option<_>>()?));
    }
    if let (Some(counts), Some(times)) = (list("iters"), list("times")) {
        let (counts, times) = (numbers(&counts.clone().into()), numbers(&times.clone().into()));
        let values = times.iter().zip(counts).map(|(nanoseconds, count)| nanoseconds / count / 1e9).collect();
        return Some((TimingFormat::Criterion, vec![TimingSeries { name: "benchmark".to_owned(), values }]));
    }
    let benchmarks = list("benchmarks")?;
    if document.get("context").is_some() {
        return Some((TimingFormat::GoogleBenchmark, read_google(benchmarks)));
    }
    let of_all = document.pointer("/metadata/name").cloned();
    let series = benchmarks.iter().map(|benchmark| {
        let name = benchmark.pointer("/metadata/name").or(of_all.as_ref())?;
        let runs = benchmark.get("runs")?.as_array()?;
        Some(named(name, runs.iter().filter_map(|run| run.get("values")).flat_map(numbers).collect()))
    });
    Some((TimingFormat::Pyperf, series.collect::<Option<_>>()?))
}

/// Reads repetitions of equal names as one series, without the means and medians that the file adds to them.
fn read_google(benchmarks: &[Value]) -> Vec<TimingSeries> {
    let mut series: Vec<TimingSeries> = Vec::new();
    for benchmark in benchmarks {
        let text = |name: &str| benchmark.get(name).and_then(Value::as_str).unwrap_or_default();
        let unit = match text("time_unit") {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            _ => 1.0,
        };
        let time = benchmark.get("real_time").and_then(Value::as_f64).filter(|_| text("run_type") != "aggregate");
        let Some(value) = time.map(|time| time * unit) else { continue };
        match series.iter_mut().find(|known| known.name == text("name")) {
            Some(known) => known.values.push(value),
            None => series.push(TimingSeries { name: text("name").to_owned(), values: vec![value] }),
        }
    }
    series
}

/// Reads columns of numbers with or without headings, or lines of a name and a number.
fn read_csv(text: &str) -> Option<Vec<TimingSeries>> {
    let separator = [';', '\t', ','].into_iter().find(|separator| text.contains(*separator)).unwrap_or(',');
    let cells = |line: &str| -> Vec<String> {
        line.split(separator).map(|cell| cell.trim().trim_matches('"').to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = text.lines().filter(|line| !line.trim().is_empty()).map(cells).collect();
    let number = |cell: &String| cell.parse::<f64>().ok();
    let has_heading = rows.first()?.iter().all(|cell| number(cell).is_none());
    let (heading, body) = rows.split_at(usize::from(has_heading));
    let width = body.first()?.len();
    if body.iter().any(|row| row.len() != width) {
        return None;
    }
    if width == 2 && body.iter().all(|row| number(&row[0]).is_none() && number(&row[1]).is_some()) {
        return Some(group_by_name(body.iter().filter_map(|row| Some((row[0].clone(), number(&row[1])?)))));
    }
    let column = |at: usize| {
        let name =
            heading.first().and_then(|names| names.get(at)).cloned().unwrap_or_else(|| format!("column {}", at + 1));
        let values = body.iter().map(|row| number(&row[at])).collect::<Option<Vec<f64>>>()?;
        Some(TimingSeries { name, values })
    };
    (0..width).map(column).collect()
}

fn group_by_name(rows: impl Iterator<Item = (String, f64)>) -> Vec<TimingSeries> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut series: Vec<TimingSeries> = Vec::new();
    for (name, value) in rows {
        let place = *places.entry(name.clone()).or_insert_with(|| {
            series.push(TimingSeries { name, values: Vec::new() });
            series.len() - 1
        });
        series[place].values.push(value);
    }
    series
}

fn named(name: &Value, values: Vec<f64>) -> TimingSeries {
    TimingSeries { name: name.as_str().unwrap_or_default().to_owned(), values }
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let Some((format, series)) = read_timings(text) else { return "nothing".to_owned() };
        let series: Vec<String> = series.iter().map(|series| format!("{} {:?}", series.name, series.values)).collect();
        format!("{format}: {}", series.join("; "))
    }

    #[test]
    fn each_format_gives_its_runs_in_seconds() {
        assert_eq!(
            read(
                r#"{"results": [{"command": "a b", "mean": 1, "times": [1.0, 1.5]}, {"command": "c", "times": [2]}]}"#
            ),
            "hyperfine: a b [1.0, 1.5]; c [2.0]"
        );
        let google = r#"{"context": {}, "benchmarks": [
            {"name": "BM_x/8", "run_type": "iteration", "real_time": 20, "time_unit": "ms"},
            {"name": "BM_x/8", "run_type": "iteration", "real_time": 30, "time_unit": "ms"},
            {"name": "BM_x/8_mean", "run_type": "aggregate", "real_time": 25, "time_unit": "ms"}]}"#;
        assert_eq!(read(google), "Google Benchmark: BM_x/8 [0.02, 0.03]");
        let pyperf = r#"{"metadata": {"name": "x"}, "benchmarks": [{"runs": [{"warmups": [[1, 9]]}, {"values": [0.5, 0.25]}]}]}"#;
        assert_eq!(read(pyperf), "pyperf: x [0.5, 0.25]");
        assert_eq!(
            read(r#"{"sampling_mode": "Linear", "iters": [1, 2], "times": [1e9, 4e9]}"#),
            "Criterion: benchmark [1.0, 2.0]"
        );
    }

    #[test]
    fn columns_and_names_of_csv_are_series() {
        assert_eq!(read("old,new\n1,2\n3,4\n"), "CSV: old [1.0, 3.0]; new [2.0, 4.0]");
        assert_eq!(read("old;1.5\nnew;2\nold;1.25\n"), "CSV: old [1.5, 1.25]; new [2.0]");
        assert_eq!(read("1.5\n2\n"), "CSV: column 1 [1.5, 2.0]");
        assert_eq!(read("name,time\na,1\nb,2\na,3\n"), "CSV: a [1.0, 3.0]; b [2.0]");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{}",
            "[]",
            "words\nmore words\n",
            "1,2\n3\n",
            r#"{"results": [{"command": "a", "times": [0]}]}"#,
            r#"{"benchmarks": 3}"#,
            "a,b\n1,-2\n",
        ] {
            assert_eq!(read(text), "nothing", "{text}");
        }
    }
}
