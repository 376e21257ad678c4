//! The JSON document.

use corewise_machine::event::EventSource;
use corewise_machine::{CpuSet, Gap};
use corewise_model::beside::Seen;
use schemars::JsonSchema;
use serde::Serialize;

/// What `corewise tail --beside --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/beside/1")]
pub struct BesideDocument<'a> {
    #[schemars(extend("const" = "corewise/beside/1"))]
    schema: &'static str,
    /// The command and its arguments.
    command: &'a [String],
    /// The status with which it ended; null where a signal ended it.
    exit_status: Option<i32>,
    /// The signal that ended it; null where none did.
    signal: Option<i32>,
    /// Whether it was watched to its end.
    to_its_end: bool,
    /// The cpus that were watched for it.
    cpus: &'a CpuSet,
    /// How much could be seen.
    #[serde(rename = "rung")]
    event_source: EventSource,
    /// What was seen.
    seen: &'a Seen,
    /// What could not be seen.
    gaps: &'a [Gap],
}

impl<'a> BesideDocument<'a> {
    /// The document of a command that ended with a status, or by a signal.
    pub fn new(shown: &ShownBeside<'a>, exit_status: Option<i32>, signal: Option<i32>) -> Self {
        let ShownBeside { command, cpus, event_source, seen, gaps, to_its_end } = *shown;
        Self { schema: "corewise/beside/1", command, exit_status, signal, to_its_end, cpus, event_source, seen, gaps }
    }
}

/// What is shown of a command that was watched.
#[derive(Clone, Copy, Debug)]
pub struct ShownBeside<'a> {
    /// The command and its arguments.
    pub command: &'a [String],
    /// The cpus that were watched for it.
    pub cpus: &'a CpuSet,
    /// How much could be seen.
    pub event_source: EventSource,
    /// What was seen.
    pub seen: &'a Seen,
    /// What could not be seen.
    pub gaps: &'a [Gap],
    /// Whether it was watched to its end.
    pub to_its_end: bool,
}
