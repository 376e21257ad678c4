//! Value of a metric of running processes within a slot, from readings at its ends and between them.
//!
//! Programs report either present values (gauges), or counts since their start, of which the difference counts. This
//! module does not read anything: texts, times and the kernel's accounts come as values.

mod document;
mod finder;
mod literal;
mod metric_reading;
pub mod prometheus;
mod search;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_machine::vocabulary::vocabulary;
pub use document::{DocumentError, find_in_document, list_numbers};
pub use finder::{PatternError, QuantityFinder};
pub use metric_reading::MetricReading;
pub use search::{LineSearch, OutputSearch, SearchEndedError};

use prometheus::{HistogramBuckets, SeriesSelector};

use corewise_statistics::quantity::{MeasuredQuantity, QuantityError, QuantityUnit, QuotedQuantity, UnitChange};

vocabulary! {
    /// A word of metrics of running processes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MetricWord {
        Rate "rate": "the increase of a count per second";
        CpuTime "cpu-time": "the cpu time of the threads";
        RunDelay "run-delay": "the time that the threads waited for a cpu";
    }
}

/// Notations for a metric or a guard of running processes, with their meanings.
pub const METRIC_FORMS: [(&str, &str); 6] = [
    (
        "`NAME`, `NAME{label=\"value\"}`",
        "the series of a page with that name (and labels), added up; in a command's output the number behind the name, as [above](#what-a-run-is)",
    ),
    ("`NAME=REGEX`", "the first group of the regular expression in the last line that has it"),
    (
        "with `--counter`, `rate(NAME)`, or a name that ends in `_total`",
        "a counter that only grows: its increase per second",
    ),
    (
        "`p99(NAME)`",
        "that percentile of a histogram (`NAME_bucket`) within the slot; p99 needs at least 100 values per slot",
    ),
    ("`cpu-time(NAME)`", "a proxy: the cpu time of the threads divided by the increase of NAME"),
    (
        "`cpu-time`, `run-delay`",
        "proxies that need no `--sample`: the cpu time of the threads, and their waiting time for a cpu, in seconds per second",
    ),
];

/// Way of reading a metric of running processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricSource {
    /// Meaning of its numbers.
    pub kind: MetricKind,
    /// The series of a page in Prometheus' text format; absent if a regular expression finds the number, and for
    /// metrics of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

/// Meaning of a metric's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricKind {
    /// A present value: its mean over the slot counts.
    Gauge,
    /// A count since the start: the increase per second of the slot counts.
    Rate,
    /// A histogram's counts since the start: this quantile, from 0 to 1, of the increase within the slot.
    Quantile(f64),
    /// A proxy: the threads' waiting time for a cpu, in seconds per second of the slot.
    RunDelay,
    /// A proxy: the cpu time that the threads used, in seconds per second of the slot, or per increment of a count.
    CpuTime,
}

impl MetricKind {
    /// Returns true if it only approximates the wanted metric, such as throughput or latency.
    pub fn is_proxy(self) -> bool {
        matches!(self, Self::RunDelay | Self::CpuTime)
    }

    /// Returns true if more is better by default, when neither the user nor the name says it.
    pub fn usually_higher_is_better(self) -> Option<bool> {
        match self {
            Self::Gauge => None,
            Self::Rate => Some(true),
            Self::Quantile(_) | Self::RunDelay | Self::CpuTime => Some(false),
        }
    }

    /// Parses the name of a metric: "p99(NAME)", "rate(NAME)", "cpu-time(NAME)", "run-delay", "cpu-time", or a name
    /// alone, which is a rate if it ends in `_total` (the name of counters in OpenMetrics) and a gauge otherwise.
    /// Returns the name to read, or `None` for metrics of the kernel.
    pub fn of_name(text: &str) -> (Self, Option<&str>) {
        let call = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let percentile = |word: &str| {
            let percent: f64 = word.strip_prefix('p')?.parse().ok()?;
            (percent > 0.0 && percent < 100.0).then_some(Self::Quantile(percent / 100.0))
        };
        let known = |text: &str| MetricWord::ALL.into_iter().find(|word| word.word() == text);
        match (known(text), call.map(|(word, name)| (known(word), word, name))) {
            (Some(MetricWord::RunDelay), _) => (Self::RunDelay, None),
            (Some(MetricWord::CpuTime), _) => (Self::CpuTime, None),
            (_, Some((Some(MetricWord::Rate), _, name))) => (Self::Rate, Some(name)),
            (_, Some((Some(MetricWord::CpuTime), _, name))) => (Self::CpuTime, Some(name)),
            (_, Some((_, word, name))) if percentile(word).is_some() => {
                (percentile(word).unwrap_or(Self::Gauge), Some(name))
            }
            _ if text.split('{').next().is_some_and(|name| name.ends_with("_total")) => (Self::Rate, Some(text)),
            _ => (Self::Gauge, Some(text)),
        }
    }
}

/// Observation of processes at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricMoment {
    /// Time in seconds since any origin.
    pub at_s: f64,
    /// Output of the metrics' source; empty if there is none.
    pub text: String,
    /// The cpu time of all threads up to then, in seconds.
    pub cpu_s: f64,
    /// Waiting time of all threads for a cpu up to then, in seconds.
    pub waited_s: f64,
}

/// A metric at one moment.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricSample {
    /// A present value.
    Now(QuotedQuantity),
    /// A count, and its divisor: seconds, or another count.
    Count(QuotedQuantity, f64),
    /// A histogram's counts.
    Buckets(HistogramBuckets),
}

/// Reason why a metric has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// It was not found.
    #[error("{name} is not in what was read{}", list_others(.others))]
    Missing {
        /// The metric.
        name: String,
        /// Names of numbers that were read.
        others: Vec<String>,
    },
    /// It was found, but is not a number.
    #[error("{name} is {why}")]
    NotANumber {
        /// The metric.
        name: String,
        /// The reason, with the text that was found.
        why: QuantityError,
    },
    /// Its unit has changed.
    #[error("{name} {why}")]
    UnitChange {
        /// The metric.
        name: String,
        /// Both lines.
        why: UnitChange,
    },
    /// The search for it was ended.
    #[error(
        "{name} was not found in time in {bytes} bytes: its regular expression is too slow, or there is too much to read"
    )]
    Slow {
        /// The metric.
        name: String,
        /// Length of the text that was searched.
        bytes: usize,
    },
    /// A count went backwards: the program was restarted, or reset it.
    #[error("{0} went backwards: it was set back, or its program was restarted")]
    Reset(String),
    /// Too little was counted for a value.
    #[error("{name}: {counted} were counted in the slot, {needed} are needed")]
    TooFew {
        /// The metric.
        name: String,
        /// Number of counted values.
        counted: u64,
        /// Required number of values.
        needed: u64,
    },
}

/// Returns "; these numbers are: a, b", or nothing without any.
fn list_others(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!("; these numbers are: {}", others.join(", ")) }
}

/// Finds one metric in the text of each moment, and computes its value over a slot.
#[derive(Clone, Debug)]
pub struct MetricMeter {
    name: String,
    kind: MetricKind,
    find: MetricFinder,
}

#[derive(Clone, Debug)]
enum MetricFinder {
    /// No text is needed.
    Kernel,
    Pattern(Box<LineSearch>),
    Series(SeriesSelector),
}

/// Error in the description of a metric.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MeterError {
    /// Its regular expression.
    #[error("{0}")]
    Pattern(#[from] PatternError),
    /// Its series.
    #[error("{0}")]
    Series(String),
}

impl MetricMeter {
    /// Creates a meter for a metric by its name, its reading, and its regular expression, if it has one.
    ///
    /// # Errors
    /// If the expression or the series is invalid.
    pub fn new(name: &str, reading: &MetricSource, pattern: Option<&str>) -> Result<Self, MeterError> {
        let find = match (pattern, &reading.series) {
            (Some(_), _) if matches!(reading.kind, MetricKind::Quantile(_)) => {
                return Err(MeterError::Series(
                    "a quantile needs a histogram of a page, not a regular expression".to_owned(),
                ));
            }
            (Some(pattern), _) => MetricFinder::Pattern(Box::new(LineSearch::for_metric(name, pattern)?)),
            (None, Some(series)) => MetricFinder::Series(series.parse().map_err(MeterError::Series)?),
            (None, None) => MetricFinder::Kernel,
        };
        Ok(Self { name: name.to_owned(), kind: reading.kind, find })
    }

    /// Returns the metric's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the meaning of its numbers.
    pub fn kind(&self) -> MetricKind {
        self.kind
    }

    /// Returns the metric at a moment. `is_over` ends a search that takes long.
    ///
    /// # Errors
    /// If it is not found, or is not a number, or the search was ended.
    pub fn read_metric(&self, moment: &MetricMoment, is_over: &dyn Fn() -> bool) -> Result<MetricSample, SampleError> {
        let number = || self.find_number(&moment.text, is_over);
        let (time, cpu) = (moment.at_s, moment.cpu_s);
        let seconds = |seconds: f64| QuotedQuantity {
            quantity: MeasuredQuantity { value: seconds, unit: QuantityUnit::seconds() },
            line: String::new(),
        };
        Ok(match (self.kind, &self.find) {
            (MetricKind::RunDelay, _) => MetricSample::Count(seconds(moment.waited_s), time),
            (MetricKind::CpuTime, MetricFinder::Kernel) => MetricSample::Count(seconds(cpu), time),
            (MetricKind::CpuTime, _) => MetricSample::Count(seconds(cpu), number()?.quantity.value),
            (MetricKind::Rate, _) => MetricSample::Count(number()?, time),
            (MetricKind::Gauge, _) => MetricSample::Now(number()?),
            (MetricKind::Quantile(_), MetricFinder::Series(series)) => {
                let buckets = series.sum_buckets(&moment.text);
                if buckets.is_empty() {
                    return Err(self.missing_in(&moment.text));
                }
                MetricSample::Buckets(buckets)
            }
            (MetricKind::Quantile(_), _) => return Err(self.missing_error()),
        })
    }

    fn missing_error(&self) -> SampleError {
        SampleError::Missing { name: self.name.clone(), others: Vec::new() }
    }

    /// Returns the error for a text without the metric, with the numbers that it has.
    fn missing_in(&self, text: &str) -> SampleError {
        let others = match &self.find {
            MetricFinder::Kernel => Vec::new(),
            MetricFinder::Pattern(_) => list_numbers(text),
            MetricFinder::Series(_) => document::shorten_list(prometheus::list_series(text)),
        };
        SampleError::Missing { name: self.name.clone(), others }
    }

    fn find_number(&self, text: &str, is_over: &dyn Fn() -> bool) -> Result<QuotedQuantity, SampleError> {
        let found = match &self.find {
            MetricFinder::Kernel => None,
            // The last match counts, as in the output of a command.
            MetricFinder::Pattern(search) => {
                let line = search.find_last_line(text.as_bytes(), is_over);
                let line =
                    line.map_err(|SearchEndedError| SampleError::Slow { name: self.name.clone(), bytes: text.len() })?;
                line.and_then(|line| search.finder().find_quantity(&line))
            }
            MetricFinder::Series(series) => series.sum_series(text).map(|sum| self.quote_series(sum)),
        };
        found
            .ok_or_else(|| self.missing_in(text))?
            .map_err(|why| SampleError::NotANumber { name: self.name.clone(), why })
    }

    /// Quotes the sum of a series. Its unit is that of its name, as is usual there: "latency_seconds".
    fn quote_series(&self, sum: Result<f64, String>) -> Result<QuotedQuantity, QuantityError> {
        let value = sum.map_err(QuantityError::NotANumber)?;
        let quantity = MeasuredQuantity { value, unit: QuantityUnit::of_name(&self.name) };
        Ok(QuotedQuantity::new(quantity, &format!("{} {value}", self.name), 0))
    }

    /// Returns the metric from the first of these moments to the last; gauges also use those between.
    ///
    /// # Errors
    /// If a count went backwards, too little was counted, or the unit changed.
    pub fn value_over(&self, seen: &[MetricSample]) -> Result<f64, SampleError> {
        let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return Err(self.missing_error()) };
        let few = |counted: f64, needed: f64| SampleError::TooFew {
            name: self.name.clone(),
            counted: counted.max(0.0) as u64,
            needed: needed as u64,
        };
        match (first, last) {
            (MetricSample::Count(a, from), MetricSample::Count(b, to)) => {
                let (added, over) = (self.in_unit(b, a)? - a.quantity.value, to - from);
                match () {
                    () if added < 0.0 || over < 0.0 => Err(SampleError::Reset(self.name.clone())),
                    () if over == 0.0 => Err(few(over, 1.0)),
                    () => Ok(added / over),
                }
            }
            (MetricSample::Buckets(a), MetricSample::Buckets(b)) => {
                let MetricKind::Quantile(quantile) = self.kind else { return Err(self.missing_error()) };
                let added = b.difference_since(a).ok_or_else(|| SampleError::Reset(self.name.clone()))?;
                let (counted, needed) = (added.value_count(), (1.0 / (1.0 - quantile)).round());
                added.bucket_quantile(quantile).filter(|_| counted >= needed).ok_or_else(|| few(counted, needed))
            }
            _ => {
                let numbers =
                    seen.iter().filter_map(|seen| if let MetricSample::Now(now) = seen { Some(now) } else { None });
                let numbers: Vec<&QuotedQuantity> = numbers.collect();
                let numbers =
                    numbers.iter().map(|now| self.in_unit(now, numbers[0])).collect::<Result<Vec<f64>, _>>()?;
                Ok(numbers.iter().sum::<f64>() / numbers.len().max(1) as f64)
            }
        }
    }

    fn in_unit(&self, then: &QuotedQuantity, first: &QuotedQuantity) -> Result<f64, SampleError> {
        then.in_unit_of(first).map_err(|why| SampleError::UnitChange { name: self.name.clone(), why })
    }

    /// Returns the unit of [`MetricMeter::value_over`].
    pub fn unit_over(&self, seen: &[MetricSample]) -> QuantityUnit {
        let counted = || QuantityUnit::of_name(&self.name);
        match (self.kind, seen.first()) {
            (MetricKind::CpuTime, _) if !matches!(self.find, MetricFinder::Kernel) => {
                QuantityUnit::seconds().per_unit(&counted())
            }
            (_, Some(MetricSample::Count(first, _))) => first.quantity.unit.per_unit(&QuantityUnit::seconds()),
            (_, Some(MetricSample::Now(first))) => first.quantity.unit.clone(),
            _ => counted(),
        }
    }

    /// Returns the reading of a value: its unit, and its last line.
    pub fn metric_reading(&self, seen: &[MetricSample], value: f64) -> MetricReading {
        let line = match seen.last() {
            Some(MetricSample::Now(last) | MetricSample::Count(last, _)) => last.line.clone(),
            _ => String::new(),
        };
        MetricReading::from_run(QuotedQuantity {
            quantity: MeasuredQuantity { value, unit: self.unit_over(seen) },
            line,
        })
    }
}

#[cfg(test)]
mod quantity_tests;
#[cfg(test)]
mod tests;
