//! A median with its interval, and ratios of two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{CONFIDENCE, FindingEffect};
use corewise_statistics::order::{median, median_interval, value_range};

/// A median with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VisitEstimate {
    /// The median over the visits.
    pub median: f64,
    /// The lower end of its 95 % interval; the minimum for fewer than six visits.
    pub low: f64,
    /// The upper end of its 95 % interval; the maximum for fewer than six visits.
    pub high: f64,
    /// Number of visits.
    pub visits: u64,
}

impl VisitEstimate {
    /// Computes the estimate; `None` without values.
    pub fn from_visits(values: &[f64]) -> Option<Self> {
        let (low, high) = median_interval(values, CONFIDENCE).unwrap_or_else(|| value_range(values));
        (!values.is_empty()).then(|| Self { median: median(values), low, high, visits: values.len() as u64 })
    }

    /// Returns the ratio to another estimate. Its interval is from the extremes of both, wider than 95 % requires.
    pub fn ratio_against(&self, other: &Self, quantity: &str, against: &str) -> FindingEffect {
        FindingEffect {
            quantity: quantity.to_owned(),
            against: against.to_owned(),
            ratio: self.median / other.median,
            low: self.low / other.high,
            high: self.high / other.low,
            p_value: None,
        }
    }
}
