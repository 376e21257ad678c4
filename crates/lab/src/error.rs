//! Errors of the lab. Facts that a machine does not provide are gaps in a result, not errors.

use corewise_machine::Gap;
use corewise_model::sample::{MeterError, PatternError};
use corewise_model::suite::SuiteError;
use corewise_sys::SysError;

/// Reason why a measurement or an experiment could not begin.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A metric's pattern is not a regular expression.
    #[error("the pattern of {metric}: {source}")]
    Pattern {
        /// Name of the metric.
        metric: String,
        /// Error in the pattern.
        source: PatternError,
    },
    /// A metric of running processes cannot be searched for.
    #[error("{metric}: {source}")]
    Meter {
        /// Name of the metric.
        metric: String,
        /// Error of the search.
        source: MeterError,
    },
    /// An experiment with a command has no running processes.
    #[error("this experiment runs a command, and places no running processes")]
    NotLive,
    /// A metric that this system does not count.
    #[error(
        "run-delay is not known here: this system does not count for how long threads wait for a cpu. Compare cpu-time, or a metric of the program"
    )]
    NoWaitingTime,
    /// Neither this kernel nor this user has a way to see which threads wake each other.
    #[error("which threads wake each other cannot be seen here: {}", list_reasons(.0))]
    NoWakes(Vec<Gap>),
    /// An experiment without parts has no services.
    #[error("this experiment starts no services")]
    NoParts,
    /// A suite's file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] SysError),
    /// A file is not a valid suite.
    #[error("the suite {file}: {source}")]
    Suite {
        /// Name of the file.
        file: String,
        /// Error in the file.
        source: SuiteError,
    },
}

fn list_reasons(gaps: &[Gap]) -> String {
    let reason = |gap: &Gap| match &gap.cure {
        Some(cure) => format!("{} ({cure})", gap.why),
        None => gap.why.clone(),
    };
    gaps.iter().map(reason).collect::<Vec<_>>().join("; ")
}
