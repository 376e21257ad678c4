//! Unit and lines of a trial's metric.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_statistics::quantity::{QuantityUnit, QuotedQuantity};

/// The unit of a metric in a trial, and the lines of its least and its greatest run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricReading {
    /// The unit of the value; empty for a bare number.
    pub unit: QuantityUnit,
    /// The least run and the greatest one of the trial; a single one if all are the same. Empty if they have no line,
    /// as the wall time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<QuotedQuantity>,
}

impl MetricReading {
    /// Creates the reading of a single run.
    pub fn from_run(run: QuotedQuantity) -> Self {
        Self { unit: run.quantity.unit.clone(), runs: vec![run] }
    }

    /// Creates the reading of a trial's runs, which have one unit; `None` without any.
    pub fn from_runs(runs: &[QuotedQuantity]) -> Option<Self> {
        let unit = runs.first()?.quantity.unit.clone();
        let by_value = |a: &&QuotedQuantity, b: &&QuotedQuantity| a.quantity.value.total_cmp(&b.quantity.value);
        let quoted = || runs.iter().filter(|run| !run.line.is_empty());
        let least = quoted().min_by(by_value);
        let greatest =
            quoted().max_by(by_value).filter(|run| Some(run.quantity.value) != least.map(|least| least.quantity.value));
        Some(Self { unit, runs: least.into_iter().chain(greatest).cloned().collect() })
    }
}
