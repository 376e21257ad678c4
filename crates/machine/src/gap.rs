//! A fact that could not be had: what, why, and how to get it.

use serde::{Deserialize, Serialize};

/// A fact that this machine, kernel or user could not provide. Absent is not an error: the rest of a result is valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// What is missing, as a noun phrase without a full stop: "hardware counters".
    pub what: String,
    /// Why it is missing: "perf_event_paranoid is 3".
    pub why: String,
    /// What would change that, as a command or an instruction; absent where nothing would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

impl Gap {
    /// A gap that nothing here can close.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: None }
    }

    /// The same gap with what would close it.
    #[must_use]
    pub fn cured_by(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }
}
