//! Failures of a command: what happened, what to do next, and the exit status.

use std::fmt;
use std::process::ExitCode;

/// Exit status of corewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// Neither a winner nor equivalence was shown.
    Undecided = 1,
    /// Wrong usage.
    Usage = 2,
    /// Not permitted, or not available here.
    Unavailable = 3,
    /// Internal fault, not the user's.
    Internal = 4,
    /// The command to run could not be executed; as with env(1).
    NotExecutable = 126,
    /// The command to run was not found; as with env(1).
    NotFound = 127,
    /// Interrupted; the available results have been shown.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Exit status.
    pub exit: Exit,
    /// Description of the failure and its place.
    pub what: String,
    /// Advice on what to do next.
    pub next: Option<String>,
}

impl Failure {
    /// Returns a failure with its exit status.
    pub fn new(exit: Exit, what: impl fmt::Display) -> Self {
        Self { exit, what: what.to_string(), next: None }
    }

    /// Returns the failure of an invalid command line.
    pub fn usage(what: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Returns the failure of something that is not permitted or not there.
    pub fn unavailable(what: impl fmt::Display) -> Self {
        Self::new(Exit::Unavailable, what)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.what)?;
        match &self.next {
            Some(next) => write!(formatter, "\n  {next}"),
            None => Ok(()),
        }
    }
}
