//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

/// The output of `corewise doctor --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "corewise/doctor/1")]
pub struct DoctorDocument<'a> {
    #[schemars(extend("const" = "corewise/doctor/1"))]
    schema: &'static str,
    /// The checks.
    checks: &'a [DoctorCheck],
}

impl<'a> DoctorDocument<'a> {
    /// Creates the document.
    pub fn new(checks: &'a [DoctorCheck]) -> Self {
        Self { schema: "corewise/doctor/1", checks }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorCheck {
    /// The subject, such as "hardware counters".
    pub what: String,
    /// Its result.
    pub state: CheckState,
    /// The finding; for a gap, also its cost.
    pub why: String,
    /// A command or an instruction that would change it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// In order.
    Good,
    /// It works, but affects how results must be read.
    Note,
    /// Something cannot be measured.
    Gap,
}
