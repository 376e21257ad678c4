//! Files of timings: hyperfine's JSON, that of Google Benchmark, pyperf and Criterion, and CSV.

mod csv;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::TimingSeries;
use corewise_statistics::quantity::QuantityUnit;

/// Maximum number of series, and of values together.
const MOST_SERIES: usize = 1_000;
const MOST_VALUES: usize = 1_000_000;

/// The program that wrote a file of timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// The timings of files, and what must be said of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingFile {
    /// The programs that wrote them.
    pub formats: BTreeSet<TimingFormat>,
    /// The series.
    pub series: Vec<TimingSeries>,
    /// What was left out or assumed, in sentences.
    pub notes: Vec<String>,
}

/// Reason why a file has no timings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// It is something else.
    #[error("it holds no result")]
    NoTimings,
    /// It has timings that cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// Returns an error about a place in a file.
fn unusable<T>(why: impl Into<String>) -> Result<T, TimingError> {
    Err(TimingError::Unusable(why.into()))
}

/// Reads a file of timings. A byte order mark is passed over.
///
/// # Errors
/// If it is no such file, or has a value that is no number above zero, or too many values.
pub fn read_timings(text: &str) -> Result<TimingFile, TimingError> {
    let text = text.trim_start_matches('\u{feff}');
    let file = match serde_json::from_str::<Value>(text) {
        Ok(document) if document.is_object() || document.is_array() => read_json(&document)?,
        Err(error) if text.trim_start().starts_with(['{', '[']) => return unusable(explain_json(text, &error)),
        _ => csv::read_csv(text)?,
    };
    let values: usize = file.series.iter().map(|series| series.values.len()).sum();
    match () {
        () if values == 0 => Err(TimingError::NoTimings),
        () if file.series.len() > MOST_SERIES => unusable(format!("it has more than {MOST_SERIES} series")),
        () if values > MOST_VALUES => unusable(format!("it has more than {MOST_VALUES} values")),
        () => Ok(file),
    }
}

/// Joins files into one: series are named after their file, and compared with the same benchmark's in other files.
pub fn join_files(files: Vec<(String, TimingFile)>) -> TimingFile {
    if let [_] = files[..] {
        return files.into_iter().map(|(_, file)| file).next().unwrap_or_default();
    }
    let names = |file: &TimingFile| file.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>();
    let are_same = files.windows(2).all(|pair| names(&pair[0].1) == names(&pair[1].1));
    let mut joined = TimingFile::default();
    for (name, file) in files {
        joined.formats.extend(file.formats);
        joined.notes.extend(file.notes.iter().map(|note| format!("{name}: {note}")));
        joined.series.extend(file.series.into_iter().map(|series| TimingSeries {
            benchmark: series.benchmark.or_else(|| are_same.then(|| series.name.clone())),
            name: format!("{name}: {}", series.name),
            ..series
        }));
    }
    joined
}

/// Explains broken JSON by its place, and by what JSON has not.
fn explain_json(text: &str, error: &serde_json::Error) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let near: String = line.chars().skip(error.column().saturating_sub(1)).take(8).collect();
    let why =
        match ["NaN", "Infinity", "-Infinity"].iter().find(|word| near.starts_with(&word[..1]) && line.contains(*word))
        {
            Some(word) => format!("{word} is no number"),
            None if error.is_eof() => "it ends within the JSON".to_owned(),
            None => error.to_string().split(" at line").next().unwrap_or_default().to_owned(),
        };
    format!("line {}, column {}: broken JSON: {why}", error.line(), error.column())
}

fn read_json(document: &Value) -> Result<TimingFile, TimingError> {
    let list = |name: &str| document.get(name).and_then(Value::as_array);
    let (format, read) = if let Some(results) = list("results") {
        (TimingFormat::Hyperfine, read_hyperfine(results)?)
    } else if let (Some(counts), Some(times)) = (list("iters"), list("times")) {
        (TimingFormat::Criterion, read_criterion(counts, times)?)
    } else if let Some(benchmarks) = list("benchmarks") {
        match document.get("context") {
            Some(_) => (TimingFormat::GoogleBenchmark, read_google(benchmarks)?),
            None => (TimingFormat::Pyperf, read_pyperf(document, benchmarks)?),
        }
    } else {
        return Err(TimingError::NoTimings);
    };
    let (series, mut notes) = read;
    let has_others = matches!(format, TimingFormat::GoogleBenchmark | TimingFormat::Pyperf) && series.len() > 1;
    notes.extend(has_others.then(|| "Different benchmarks are not compared with each other.".to_owned()));
    Ok(TimingFile { formats: BTreeSet::from([format]), series, notes })
}

type SeriesAndNotes = (Vec<TimingSeries>, Vec<String>);

/// Reads the runs of each command, without failed ones.
fn read_hyperfine(results: &[Value]) -> Result<SeriesAndNotes, TimingError> {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for (at, result) in results.iter().enumerate() {
        let name = result.get("command").and_then(Value::as_str).map_or_else(|| format!("results.{at}"), str::to_owned);
        let Some(times) = result.get("times").and_then(Value::as_array).filter(|times| !times.is_empty()) else {
            notes.push(format!("{name} has no times (results.{at}.times), and is left out."));
            continue;
        };
        let codes = result.get("exit_codes").and_then(Value::as_array);
        let has_failed =
            |run: usize| codes.and_then(|codes| codes.get(run)).is_some_and(|code| code.as_i64() != Some(0));
        let failed = (0..times.len()).filter(|run| has_failed(*run)).count();
        let kept: Vec<(usize, &Value)> = times.iter().enumerate().filter(|(run, _)| !has_failed(*run)).collect();
        let (values, absent) = read_numbers(&kept, &format!("results.{at}.times"))?;
        let of = |number: usize| format!("{name}: {number} of {} runs", times.len());
        notes.extend((failed > 0).then(|| format!("{} failed (exit_codes): left out.", of(failed))));
        notes.extend((absent > 0).then(|| format!("{} without a time (null): left out.", of(absent))));
        if values.is_empty() {
            notes.push(format!("{name} has no run that counts, and is left out."));
        } else {
            all.push(TimingSeries::in_seconds(name, values));
        }
    }
    match all.is_empty() && !notes.is_empty() {
        true => unusable(notes.join(" ")),
        false => Ok((all, notes)),
    }
}

fn read_criterion(counts: &[Value], times: &[Value]) -> Result<SeriesAndNotes, TimingError> {
    if counts.len() != times.len() {
        return unusable(format!("iters has {} numbers, and times {}", counts.len(), times.len()));
    }
    let numbers = |list: &[Value], path: &str| {
        let (numbers, absent) = read_numbers(&list.iter().enumerate().collect::<Vec<_>>(), path)?;
        if absent == 0 { Ok(numbers) } else { unusable(format!("{path}: {absent} are null")) }
    };
    let (counts, times) = (numbers(counts, "iters")?, numbers(times, "times")?);
    let values = times.iter().zip(counts).map(|(nanoseconds, count)| nanoseconds / count / 1e9).collect();
    Ok((vec![TimingSeries::in_seconds("benchmark".to_owned(), values)], Vec::new()))
}

fn read_pyperf(document: &Value, benchmarks: &[Value]) -> Result<SeriesAndNotes, TimingError> {
    let of_all = |path: &str| document.pointer(path);
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for (at, benchmark) in benchmarks.iter().enumerate() {
        let own = |path: &str| benchmark.pointer(path).or_else(|| of_all(path)).and_then(Value::as_str);
        let Some(name) = own("/metadata/name") else {
            return unusable(format!("benchmarks.{at} has no metadata.name"));
        };
        let Some(runs) = benchmark.get("runs").and_then(Value::as_array) else {
            return unusable(format!("benchmarks.{at}.runs is not there"));
        };
        let values = runs.iter().filter_map(|run| run.get("values")).filter_map(Value::as_array).flatten();
        let (values, absent) =
            read_numbers(&values.enumerate().collect::<Vec<_>>(), &format!("benchmarks.{at}.runs.values"))?;
        notes.extend((absent > 0).then(|| format!("{name}: {absent} values are null, and are left out.")));
        if values.is_empty() {
            notes.push(format!("{name} has no values, and is left out."));
            continue;
        }
        let unit = match own("/metadata/unit") {
            None | Some("second") => QuantityUnit::seconds(),
            Some(_) => QuantityUnit::BARE,
        };
        let series = TimingSeries::in_seconds(name.to_owned(), values);
        all.push(TimingSeries { benchmark: Some(name.to_owned()), unit, ..series });
    }
    match all.is_empty() && !notes.is_empty() {
        true => unusable(notes.join(" ")),
        false => Ok((all, notes)),
    }
}

/// Reads repetitions of equal names as one series, without the means and medians that the file adds to them.
fn read_google(benchmarks: &[Value]) -> Result<SeriesAndNotes, TimingError> {
    let mut all: Vec<TimingSeries> = Vec::new();
    let (mut failed, mut aggregates) = (0, 0);
    for (at, benchmark) in benchmarks.iter().enumerate() {
        let text = |name: &str| benchmark.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("run_type") == "aggregate" {
            aggregates += 1;
            continue;
        }
        if benchmark.get("error_occurred").and_then(Value::as_bool) == Some(true) {
            failed += 1;
            continue;
        }
        let unit = match text("time_unit") {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            _ => 1.0,
        };
        let Some(time) = benchmark.get("real_time").filter(|time| !time.is_null()) else {
            return unusable(format!("benchmarks.{at} has no real_time"));
        };
        let value = unit * read_number(time, || format!("benchmarks.{at}.real_time"))?;
        match all.iter_mut().find(|known| known.name == text("name")) {
            Some(known) => known.values.push(value),
            None => {
                let series = TimingSeries::in_seconds(text("name").to_owned(), vec![value]);
                all.push(TimingSeries { benchmark: Some(series.name.clone()), ..series });
            }
        }
    }
    if all.is_empty() && aggregates > 0 {
        return unusable(
            "it has aggregates only (mean, median); --benchmark_report_aggregates_only=false writes the repetitions",
        );
    }
    let note = (failed > 0).then(|| format!("{failed} repetitions failed (error_occurred), and are left out."));
    match all.is_empty() {
        true if failed > 0 => unusable("every repetition failed (error_occurred)"),
        _ => Ok((all, note.into_iter().collect())),
    }
}

/// Reads the numbers of a list, and counts the nulls among them.
fn read_numbers(list: &[(usize, &Value)], path: &str) -> Result<(Vec<f64>, usize), TimingError> {
    let present = list.iter().filter(|(_, value)| !value.is_null());
    let numbers =
        present.map(|(at, value)| read_number(value, || format!("{path}.{at}"))).collect::<Result<Vec<f64>, _>>()?;
    let absent = list.len() - numbers.len();
    Ok((numbers, absent))
}

fn read_number(value: &Value, path: impl Fn() -> String) -> Result<f64, TimingError> {
    match value.as_f64() {
        Some(number) if number > 0.0 && number.is_finite() => Ok(number),
        Some(number) => unusable(format!("{} is {number}, which is not above zero", path())),
        None => unusable(format!("{} is no number: {value}", path())),
    }
}

#[cfg(test)]
mod tests;
