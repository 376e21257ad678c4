//! What a metric of running processes was within a slot: from what was read at its ends, and between them.
//!
//! Programs report in one of two ways: as numbers of now (gauges), or as counts since their start, of which the difference counts. Nothing here reads
//! anything: texts, times and the kernel's accounts come as values.

mod finder;
mod literal;
mod metric_reading;
pub mod prometheus;
mod search;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_machine::vocabulary::vocabulary;
pub use finder::{Finder, PatternError};
pub use metric_reading::MetricReading;
pub use search::{LineSearch, OutputSearch, SearchEnded};

use prometheus::{Buckets, Selector};

use crate::quantity::{MeasuredQuantity, QuantityError, QuantityUnit, QuotedQuantity, UnitChange};

vocabulary! {
    /// A word of metrics of running processes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MetricWord {
        Rate "rate": "what is added to a count in a second";
        CpuTime "cpu-time": "the cpu time of the threads";
        RunDelay "run-delay": "how long the threads waited for a cpu";
    }
}

/// The forms in which a metric or a guard of running processes is written, and what each reads.
pub const METRIC_FORMS: [(&str, &str); 6] = [
    (
        "`NAME`, `NAME{label=\"value\"}`",
        "the series of a page with that name (and labels), added up; in a command's output the number behind the name, as [above](#what-a-run-is)",
    ),
    ("`NAME=REGEX`", "the first group of the regular expression in the last line that has it"),
    (
        "with `--counter`, `rate(NAME)`, or a name that ends in `_total`",
        "a count since the program's start: what is added in a second",
    ),
    (
        "`p99(NAME)`",
        "that percentile of what a histogram (`NAME_bucket`) counted within the slot, which has to be 100 values or more for p99",
    ),
    ("`cpu-time(NAME)`", "a proxy: the cpu time of the threads, for one of this count"),
    (
        "`cpu-time`, `run-delay`",
        "proxies that need no `--sample`: the cpu time of the threads, and how long they waited for a cpu, in seconds in a second",
    ),
];

/// How a metric of running processes is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// What its numbers are.
    pub kind: Kind,
    /// The series of a page in Prometheus' text format; absent where a regular expression finds the number, and for what the kernel reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

/// What the numbers of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number of now: its mean over the slot counts.
    Gauge,
    /// A count since the start: what was added in a second of the slot counts.
    Rate,
    /// A histogram's counts since the start: this quantile, from 0 to 1, of what was added within the slot.
    Quantile(f64),
    /// A proxy: how long threads waited for a cpu, in seconds in a second of the slot.
    RunDelay,
    /// A proxy: the cpu time that the threads used, in seconds in a second of the slot, or for one of a count.
    CpuTime,
}

impl Kind {
    /// Whether it stands for what is really wanted, such as throughput or latency, and may differ from it.
    pub fn is_proxy(self) -> bool {
        matches!(self, Self::RunDelay | Self::CpuTime)
    }

    /// Whether more is better, where neither the user nor the name says it.
    pub fn usually_higher_is_better(self) -> Option<bool> {
        match self {
            Self::Gauge => None,
            Self::Rate => Some(true),
            Self::Quantile(_) | Self::RunDelay | Self::CpuTime => Some(false),
        }
    }

    /// Takes the name of a metric apart: "p99(NAME)", "rate(NAME)", "cpu-time(NAME)", "run-delay", "cpu-time", or a name alone, which is a rate if it
    /// ends in `_total` (the name of counters in OpenMetrics) and a gauge otherwise. Gives the name of what is read; the kernel's need none.
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

/// What was seen of processes at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// When, in seconds since any beginning.
    pub at_s: f64,
    /// What the source of the metrics wrote; empty where there is none.
    pub text: String,
    /// The cpu time of all threads so far, in seconds.
    pub cpu_s: f64,
    /// How long all threads waited for a cpu so far, in seconds.
    pub waited_s: f64,
}

/// A metric at one moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// A number of now.
    Now(QuotedQuantity),
    /// A count, and the count it is divided by: seconds, or one of its own.
    Count(QuotedQuantity, f64),
    /// A histogram's counts.
    Buckets(Buckets),
}

/// Why a metric has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// It was not found.
    #[error("{0} is not in what was read")]
    Missing(String),
    /// It was found, and is no number.
    #[error("{name} is {why}")]
    NotANumber {
        /// The metric.
        name: String,
        /// The reason, with the text that was found.
        why: QuantityError,
    },
    /// Its unit is another one than before.
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
    /// A count went backwards: the program was started again, or set it back.
    #[error("{0} went backwards: it was set back, or its program was restarted")]
    Reset(String),
    /// Too little was counted for a value.
    #[error("{name}: {counted} were counted in the slot, {needed} are needed")]
    TooFew {
        /// The metric.
        name: String,
        /// How many there were.
        counted: u64,
        /// How many are needed.
        needed: u64,
    },
}

/// Finds one metric in what was read at each moment, and says what it was over a slot.
#[derive(Clone, Debug)]
pub struct Meter {
    name: String,
    kind: Kind,
    find: Find,
}

#[derive(Clone, Debug)]
enum Find {
    /// In no text.
    Kernel,
    Pattern(Box<LineSearch>),
    Series(Selector),
}

/// What is wrong with the description of a metric.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MeterError {
    /// Its regular expression.
    #[error("{0}")]
    Pattern(#[from] PatternError),
    /// Its series.
    #[error("{0}")]
    Series(String),
}

impl Meter {
    /// A meter for a metric by its name, its reading, and its regular expression where it has one.
    ///
    /// # Errors
    /// What is wrong with the expression or the series.
    pub fn new(name: &str, reading: &Reading, pattern: Option<&str>) -> Result<Self, MeterError> {
        let find = match (pattern, &reading.series) {
            (Some(_), _) if matches!(reading.kind, Kind::Quantile(_)) => {
                return Err(MeterError::Series(
                    "a quantile needs a histogram of a page, not a regular expression".to_owned(),
                ));
            }
            (Some(pattern), _) => Find::Pattern(Box::new(LineSearch::for_metric(name, pattern)?)),
            (None, Some(series)) => Find::Series(series.parse().map_err(MeterError::Series)?),
            (None, None) => Find::Kernel,
        };
        Ok(Self { name: name.to_owned(), kind: reading.kind, find })
    }

    /// The metric's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its numbers are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the metric at a moment. `is_over` ends a search that takes long.
    ///
    /// # Errors
    /// If it is not found, or is no number, or the search was ended.
    pub fn look(&self, moment: &Moment, is_over: &dyn Fn() -> bool) -> Result<Seen, SampleError> {
        let number = || self.number(&moment.text, is_over);
        let (time, cpu) = (moment.at_s, moment.cpu_s);
        let seconds = |seconds: f64| QuotedQuantity {
            quantity: MeasuredQuantity { value: seconds, unit: QuantityUnit::seconds() },
            line: String::new(),
        };
        Ok(match (self.kind, &self.find) {
            (Kind::RunDelay, _) => Seen::Count(seconds(moment.waited_s), time),
            (Kind::CpuTime, Find::Kernel) => Seen::Count(seconds(cpu), time),
            (Kind::CpuTime, _) => Seen::Count(seconds(cpu), number()?.quantity.value),
            (Kind::Rate, _) => Seen::Count(number()?, time),
            (Kind::Gauge, _) => Seen::Now(number()?),
            (Kind::Quantile(_), Find::Series(series)) => {
                let buckets = series.buckets(&moment.text);
                if buckets.is_empty() {
                    return Err(self.missing());
                }
                Seen::Buckets(buckets)
            }
            (Kind::Quantile(_), _) => return Err(self.missing()),
        })
    }

    fn missing(&self) -> SampleError {
        SampleError::Missing(self.name.clone())
    }

    fn number(&self, text: &str, is_over: &dyn Fn() -> bool) -> Result<QuotedQuantity, SampleError> {
        let found = match &self.find {
            Find::Kernel => None,
            // The last counts, as in the output of a command that is run.
            Find::Pattern(search) => {
                let line = search.find_last_line(text.as_bytes(), is_over);
                let line =
                    line.map_err(|SearchEnded| SampleError::Slow { name: self.name.clone(), bytes: text.len() })?;
                line.and_then(|line| search.finder().find(&line))
            }
            Find::Series(series) => series.sum(text).map(|sum| self.quote_series(sum)),
        };
        found.ok_or_else(|| self.missing())?.map_err(|why| SampleError::NotANumber { name: self.name.clone(), why })
    }

    /// A series has the unit of its name, as is usual there: "latency_seconds".
    fn quote_series(&self, sum: Result<f64, String>) -> Result<QuotedQuantity, QuantityError> {
        let value = sum.map_err(QuantityError::NotANumber)?;
        let quantity = MeasuredQuantity { value, unit: QuantityUnit::of_name(&self.name) };
        Ok(QuotedQuantity::new(quantity, &format!("{} {value}", self.name), 0))
    }

    /// What the metric was from the first of these moments to the last; gauges use those between, too.
    ///
    /// # Errors
    /// If a count went backwards, too little was counted, or the unit changed.
    pub fn value(&self, seen: &[Seen]) -> Result<f64, SampleError> {
        let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return Err(self.missing()) };
        let few = |counted: f64, needed: f64| SampleError::TooFew {
            name: self.name.clone(),
            counted: counted.max(0.0) as u64,
            needed: needed as u64,
        };
        match (first, last) {
            (Seen::Count(a, from), Seen::Count(b, to)) => {
                let (added, over) = (self.in_unit(b, a)? - a.quantity.value, to - from);
                match () {
                    () if added < 0.0 || over < 0.0 => Err(SampleError::Reset(self.name.clone())),
                    () if over == 0.0 => Err(few(over, 1.0)),
                    () => Ok(added / over),
                }
            }
            (Seen::Buckets(a), Seen::Buckets(b)) => {
                let Kind::Quantile(quantile) = self.kind else { return Err(self.missing()) };
                let added = b.since(a).ok_or_else(|| SampleError::Reset(self.name.clone()))?;
                let (counted, needed) = (added.count(), (1.0 / (1.0 - quantile)).round());
                added.quantile(quantile).filter(|_| counted >= needed).ok_or_else(|| few(counted, needed))
            }
            _ => {
                let numbers = seen.iter().filter_map(|seen| if let Seen::Now(now) = seen { Some(now) } else { None });
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

    /// The unit of [`Meter::value`].
    pub fn unit(&self, seen: &[Seen]) -> QuantityUnit {
        let counted = || QuantityUnit::of_name(&self.name);
        match (self.kind, seen.first()) {
            (Kind::CpuTime, _) if !matches!(self.find, Find::Kernel) => QuantityUnit::seconds().per(&counted()),
            (_, Some(Seen::Count(first, _))) => first.quantity.unit.per(&QuantityUnit::seconds()),
            (_, Some(Seen::Now(first))) => first.quantity.unit.clone(),
            _ => counted(),
        }
    }

    /// How a value was read: its unit, and the line that it was last read in.
    pub fn reading(&self, seen: &[Seen], value: f64) -> MetricReading {
        let line = match seen.last() {
            Some(Seen::Now(last) | Seen::Count(last, _)) => last.line.clone(),
            _ => String::new(),
        };
        MetricReading::from_run(QuotedQuantity { quantity: MeasuredQuantity { value, unit: self.unit(seen) }, line })
    }
}

#[cfg(test)]
mod tests;
