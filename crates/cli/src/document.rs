//! The JSON documents that corewise prints, and their schemas.

use corewise_model::compare::Comparison;
use corewise_model::finding::Conclusions;
use corewise_model::{Machine, Survey};
use corewise_store::Entry;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use crate::view::doctor::Check;
use crate::view::undo::Report;

/// What `corewise survey --json` and `corewise history show --json` print.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/survey/1")]
pub struct SurveyDocument<'a> {
    #[schemars(extend("const" = "corewise/survey/1"))]
    schema: &'static str,
    /// What was observed.
    survey: &'a Survey,
    /// What it shows.
    conclusions: &'a Conclusions,
    /// Its number in the history; null where it is not stored.
    stored: Option<i64>,
}

impl<'a> SurveyDocument<'a> {
    /// The document of a survey.
    pub fn new(survey: &'a Survey, conclusions: &'a Conclusions, stored: Option<i64>) -> Self {
        Self { schema: "corewise/survey/1", survey, conclusions, stored }
    }
}

/// What `corewise topology --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/topology/1")]
pub struct TopologyDocument<'a> {
    #[schemars(extend("const" = "corewise/topology/1"))]
    schema: &'static str,
    /// The name under which the history knows the machine.
    fingerprint: String,
    /// The machine.
    machine: &'a Machine,
}

impl<'a> TopologyDocument<'a> {
    /// The document of a machine.
    pub fn new(machine: &'a Machine) -> Self {
        Self { schema: "corewise/topology/1", fingerprint: machine.fingerprint(), machine }
    }
}

/// What `corewise record --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/record/1")]
pub struct RecordDocument {
    #[schemars(extend("const" = "corewise/record/1"))]
    schema: &'static str,
    /// The file that was written.
    file: String,
    /// Its size in bytes.
    size_bytes: u64,
}

impl RecordDocument {
    /// The document of a recording.
    pub fn new(file: String, size_bytes: u64) -> Self {
        Self { schema: "corewise/record/1", file, size_bytes }
    }
}

/// What `corewise history --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/history/1")]
pub struct HistoryDocument<'a> {
    #[schemars(extend("const" = "corewise/history/1"))]
    schema: &'static str,
    /// The stored surveys in the order they were added.
    surveys: &'a [Entry],
}

impl<'a> HistoryDocument<'a> {
    /// The document of a list.
    pub fn new(surveys: &'a [Entry]) -> Self {
        Self { schema: "corewise/history/1", surveys }
    }
}

/// What `corewise history compare --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/comparison/1")]
pub struct ComparisonDocument<'a> {
    #[schemars(extend("const" = "corewise/comparison/1"))]
    schema: &'static str,
    /// The number of the earlier survey.
    before: i64,
    /// The number of the later survey.
    after: i64,
    /// What changed.
    comparison: &'a Comparison,
}

impl<'a> ComparisonDocument<'a> {
    /// The document of a comparison.
    pub fn new(before: i64, after: i64, comparison: &'a Comparison) -> Self {
        Self { schema: "corewise/comparison/1", before, after, comparison }
    }
}

/// What `corewise doctor --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/doctor/1")]
pub struct DoctorDocument<'a> {
    #[schemars(extend("const" = "corewise/doctor/1"))]
    schema: &'static str,
    /// What was looked at.
    checks: &'a [Check],
}

impl<'a> DoctorDocument<'a> {
    /// The document of a list of checks.
    pub fn new(checks: &'a [Check]) -> Self {
        Self { schema: "corewise/doctor/1", checks }
    }
}

/// What `corewise undo --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/undo/1")]
pub struct UndoDocument<'a> {
    #[schemars(extend("const" = "corewise/undo/1"))]
    schema: &'static str,
    /// The folder of the journals.
    folder: String,
    /// Whether nothing was to be changed.
    dry_run: bool,
    /// The journals that were found, those of the latest process first.
    journals: &'a [Report],
}

impl<'a> UndoDocument<'a> {
    /// The document of what was found in a folder.
    pub fn new(folder: String, dry_run: bool, journals: &'a [Report]) -> Self {
        Self { schema: "corewise/undo/1", folder, dry_run, journals }
    }
}

/// The names of all schemas.
pub const SCHEMAS: [&str; 7] = ["survey", "topology", "record", "history", "comparison", "doctor", "undo"];

/// The schema of a document by its name.
pub fn schema(name: &str) -> Option<Schema> {
    Some(match name {
        "survey" => schema_for!(SurveyDocument<'_>),
        "topology" => schema_for!(TopologyDocument<'_>),
        "record" => schema_for!(RecordDocument),
        "history" => schema_for!(HistoryDocument<'_>),
        "comparison" => schema_for!(ComparisonDocument<'_>),
        "doctor" => schema_for!(DoctorDocument<'_>),
        "undo" => schema_for!(UndoDocument<'_>),
        _ => return None,
    })
}
