//! The clock of a measurement, for the record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clock that timed everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRecord {
    /// "invariant TSC", "CNTVCT_EL0" or "operating system clock".
    pub source: String,
    /// The length of a tick in nanoseconds.
    pub nanoseconds_per_tick: f64,
    /// Mean time of one reading, in nanoseconds.
    pub reading_ns: f64,
    /// The smallest step between two different readings, in nanoseconds.
    pub step_ns: f64,
}
