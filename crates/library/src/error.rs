//! Reasons why threads are not placed.

use std::io;

use corewise_machine::CpuSet;
use corewise_machine::placement::{ExcludedCpus, PlacementError, SplitError};
use corewise_machine::suggested_command;
use corewise_sys::SysError;

use crate::user_wish::PLACE_VARIABLE;

/// Reason why something is not placed. The threads in question are where they were.
///
/// # Examples
/// ```
/// let machine = corewise::Machine::this()?;
/// let error = machine.place("spread(8, lcc)").unwrap_err();
/// assert!(error.to_string().ends_with("; did you mean llc?"), "{error}");
/// # Ok::<(), corewise::PlaceError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The machine cannot be read.
    #[error(transparent)]
    Machine(#[from] SysError),
    /// An expression cannot be read, or selects no cpu here.
    #[error("{}{}", name_expression(error, *by_person), hint_of(error))]
    Expression {
        /// The mistake.
        error: PlacementError,
        /// True if the expression is in `COREWISE_PLACE`.
        by_person: bool,
    },
    /// Cpus were named by number that this program may not use.
    #[error("{}", name_excluded(excluded))]
    Excluded {
        /// Those cpus, by reason.
        excluded: Vec<ExcludedCpus>,
    },
    /// The cpus cannot be divided.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// No experiment proves a placement here and now.
    #[error("nothing is proven for {name}: {why}")]
    Unproven {
        /// The name that was asked for.
        name: String,
        /// The reason.
        why: WhyUnproven,
    },
    /// The placement was made for another machine.
    #[error("the placement is of another machine")]
    Elsewhere,
    /// The system refuses a mask.
    #[error("cannot restrict the thread to cpus {cpus}: {error}")]
    Refused {
        /// The cpus.
        cpus: CpuSet,
        /// The system's error.
        error: io::Error,
    },
    /// The system refuses the memory policy of a proven placement.
    #[error("cannot set the memory policy {policy}: {why}")]
    Memory {
        /// The policy.
        policy: String,
        /// The reason.
        why: String,
    },
    /// The system gave a thread other cpus than were asked for.
    #[error("the thread was given cpus {got}, not {asked}")]
    Changed {
        /// The cpus that were asked for.
        asked: CpuSet,
        /// The cpus that it got.
        got: CpuSet,
    },
    /// No map of worth can be read here.
    #[error("no map of worth: {0}")]
    NoWorth(String),
    /// The threads of this process, or their masks, cannot be read.
    #[error("cannot read the threads of this process: {0}")]
    Unreadable(io::Error),
}

/// Reason why nothing is proven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WhyUnproven {
    /// `COREWISE=off` is set.
    #[error("the variable {} is \"off\"", crate::user_wish::SWITCH_VARIABLE)]
    Off,
    /// The name is no file name.
    #[error("a name has letters, digits, \".\", \"_\" and \"-\", at most 64")]
    Name,
    /// No experiment was kept under this name.
    #[error("no experiment was kept under this name; {} makes one", suggested_command::try_to_prove(name).quoted_line())]
    Absent {
        /// The name.
        name: String,
    },
    /// The document cannot be read, or is damaged.
    #[error("{file}: {why}")]
    Unreadable {
        /// Path of the document.
        file: String,
        /// The reason.
        why: String,
    },
    /// Others may have written the document.
    #[error("{file} is not used: {why}")]
    Untrusted {
        /// Path of the document.
        file: String,
        /// The reason.
        why: String,
    },
    /// The machine or its environment is not that of the experiment any more.
    #[error("experiment {experiment} no longer counts: {changes}")]
    Expired {
        /// Number of the experiment.
        experiment: i64,
        /// The differences, in words.
        changes: String,
    },
}

fn name_expression(error: &PlacementError, by_person: bool) -> String {
    let variable = if by_person { format!("{PLACE_VARIABLE}=") } else { String::new() };
    // Some mistakes begin with the expression.
    let what = error.what.strip_prefix(&error.text).and_then(|what| what.strip_prefix(": ")).unwrap_or(&error.what);
    format!("{variable}{}: {what}", error.text)
}

fn hint_of(error: &PlacementError) -> String {
    error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default()
}

fn name_excluded(excluded: &[ExcludedCpus]) -> String {
    excluded.iter().map(ExcludedCpus::describe_named).collect::<Vec<_>>().join(", ")
}
