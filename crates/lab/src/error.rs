//! What the lab cannot do. What a machine does not give is no error but a gap in a result.

use corewise_model::sample::{MeterError, PatternError};
use corewise_model::suite::SuiteError;
use corewise_sys::SysError;

/// Why something could not be begun.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A metric's regular expression is none.
    #[error("the pattern of {metric}: {source}")]
    Pattern {
        /// The metric's name.
        metric: String,
        /// What is wrong with it.
        source: PatternError,
    },
    /// A metric of running processes cannot be looked for.
    #[error("{metric}: {source}")]
    Meter {
        /// The metric's name.
        metric: String,
        /// What is wrong with it.
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
    /// An experiment without parts has no services.
    #[error("this experiment starts no services")]
    NoParts,
    /// A suite's file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] SysError),
    /// A file is no suite.
    #[error("the suite {file}: {source}")]
    Suite {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: SuiteError,
    },
}
