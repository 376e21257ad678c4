//! The JSON document.

use corewise_machine::event::EventSource;
use corewise_machine::{CpuSet, Gap};
use corewise_model::beside::BesideOutcome;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise tail --beside --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/beside/1")]
pub struct BesideDocument<'a> {
    #[schemars(extend("const" = "corewise/beside/1"))]
    schema: &'static str,
    /// The command and its arguments.
    command: &'a [String],
    /// The status with which it ended; null if a signal ended it.
    exit_status: Option<i32>,
    /// The signal that ended it; null without one.
    signal: Option<i32>,
    /// True if it was watched to its end.
    to_its_end: bool,
    /// The watched cpus.
    cpus: &'a CpuSet,
    /// The source of events, which determines how much could be seen.
    #[serde(rename = "rung")]
    event_source: EventSource,
    /// The observations.
    seen: &'a BesideOutcome,
    /// Facts that could not be observed.
    gaps: &'a [Gap],
}

impl<'a> BesideDocument<'a> {
    /// Creates the document of a command that ended with a status, or by a signal.
    pub fn new(shown: &ShownBeside<'a>, exit_status: Option<i32>, signal: Option<i32>) -> Self {
        let ShownBeside { command, cpus, event_source, seen, gaps, to_its_end } = *shown;
        Self { schema: "corewise/beside/1", command, exit_status, signal, to_its_end, cpus, event_source, seen, gaps }
    }
}

/// The result of watching a command.
#[derive(Clone, Copy, Debug)]
pub struct ShownBeside<'a> {
    /// The command and its arguments.
    pub command: &'a [String],
    /// The watched cpus.
    pub cpus: &'a CpuSet,
    /// The source of events, which determines how much could be seen.
    pub event_source: EventSource,
    /// The observations.
    pub seen: &'a BesideOutcome,
    /// Facts that could not be observed.
    pub gaps: &'a [Gap],
    /// True if it was watched to its end.
    pub to_its_end: bool,
}
