//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

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

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// What was looked at: "hardware counters".
    pub what: String,
    /// How it stands.
    pub state: State,
    /// What was found, and for a gap what it costs.
    pub why: String,
    /// A command or an instruction that would change it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// In order.
    Good,
    /// It works, and results must be read with it in mind.
    Note,
    /// Something cannot be measured.
    Gap,
}
