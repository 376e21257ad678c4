//! Failures of a command: what happened, what to do next, and the exit status.

use std::fmt;
use std::process::ExitCode;

/// Exit status of corewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandExit {
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

impl From<CommandExit> for ExitCode {
    fn from(exit: CommandExit) -> Self {
        Self::from(exit as u8)
    }
}

/// Reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFailure {
    /// Exit status.
    pub exit: CommandExit,
    /// Description of the failure and its place.
    pub what: String,
    /// Advice on what to do next.
    pub next: Option<String>,
}

impl CommandFailure {
    /// Returns a failure with its exit status.
    pub fn new(exit: CommandExit, what: impl fmt::Display) -> Self {
        Self { exit, what: what.to_string(), next: None }
    }

    /// Returns the failure of an invalid command line.
    pub fn usage_error(what: impl fmt::Display) -> Self {
        Self::new(CommandExit::Usage, what)
    }

    /// Returns the failure of something that is not permitted or not there.
    pub fn unavailable_error(what: impl fmt::Display) -> Self {
        Self::new(CommandExit::Unavailable, what)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.what)?;
        match &self.next {
            Some(next) => write!(formatter, "\n  {next}"),
            None => Ok(()),
        }
    }
}
