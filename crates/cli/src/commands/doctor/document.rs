//! The JSON document.

use schemars::JsonSchema;
use serde::Serialize;

use super::screen::Check;

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
