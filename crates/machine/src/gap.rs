//! A fact that is not available: what, why, and how to get it.

use serde::{Deserialize, Serialize};

/// A fact that this machine, kernel or user could not provide. Absent is not an error: the rest of a result is valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// Name of the missing fact, as a noun phrase without a full stop: "hardware counters".
    pub what: String,
    /// Reason: "perf_event_paranoid is 3".
    pub why: String,
    /// Remedy, as a command or an instruction; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

impl Gap {
    /// Creates a gap without a remedy.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: None }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn cured_by(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }
}
