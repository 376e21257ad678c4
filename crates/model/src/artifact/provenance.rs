//! How and when an artifact was made.

use corewise_machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtifactCircumstances, ArtifactOrigin};

/// Place and manner of an artifact's making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactProvenance {
    /// Measured here, simulated or imported.
    pub origin: ArtifactOrigin,
    /// corewise's version.
    pub corewise: String,
    /// The beginning, in milliseconds since 1970-01-01 UTC; for an import the time of the import.
    pub started_unix_ms: i64,
    /// Duration in seconds; simulated time for a simulation.
    pub elapsed_s: f64,
    /// Planned maximum duration in seconds; 0 for an import, and without a limit.
    pub budget_s: f64,
    /// The seed of the random orders and choices.
    pub seed: u64,
    /// True if it was ended before its plan was complete.
    pub partial: bool,
}

impl ArtifactProvenance {
    /// Returns the circumstances of an artifact that was made on a machine; `None` if it is of no single one, or unknown.
    pub fn circumstances_on<'a>(&'a self, machine: Option<&'a Machine>) -> ArtifactCircumstances<'a> {
        let Self { corewise, started_unix_ms, seed, partial, .. } = self;
        let (started_unix_ms, seed, partial) = (*started_unix_ms, *seed, *partial);
        ArtifactCircumstances { machine, started_unix_ms, corewise, seed, partial }
    }
}
