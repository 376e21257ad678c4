//! How a command fails: what happened, what to do next, and the exit status that says so.

use std::fmt;
use std::process::ExitCode;

/// The exit status of corewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did what it is for.
    Done = 0,
    /// Nothing was shown: no winner, and not that there is none.
    Undecided = 1,
    /// Wrong usage.
    Usage = 2,
    /// Not permitted, or not available here.
    Unavailable = 3,
    /// A fault that is not the user's.
    Internal = 4,
    /// The command that was to be run could not be executed; as env(1) says it.
    NotExecutable = 126,
    /// The command that was to be run was not found; as env(1) says it.
    NotFound = 127,
    /// Interrupted; what there was has been shown.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not do what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit status.
    pub exit: Exit,
    /// What happened, and where.
    pub what: String,
    /// What to do next.
    pub next: Option<String>,
}

impl Failure {
    /// A failure with its exit status.
    pub fn new(exit: Exit, what: impl fmt::Display) -> Self {
        Self { exit, what: what.to_string(), next: None }
    }

    /// The user typed something that cannot be.
    pub fn usage(what: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Something is not permitted or not there.
    pub fn unavailable(what: impl fmt::Display) -> Self {
        Self::new(Exit::Unavailable, what)
    }

    /// The failure with what to do next.
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
