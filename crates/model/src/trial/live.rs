//! Running processes that are placed, instead of a command: a trial is then a slot of their time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TrialMetric;
use corewise_statistics::experiment::JudgingPolicy;
use corewise_statistics::quantity::MeasuredQuantity;

/// The shortest and the longest slot, in seconds.
pub const SLOTS_S: (f64, f64) = (0.1, 60.0);
/// Minimum wash-out, in seconds: it covers a migration and the refill of caches.
const LEAST_WASH_OUT_S: f64 = 0.1;
/// Minimum and maximum share of a slot for its wash-out.
const WASH_OUT_SHARES: (f64, f64) = (0.1, 0.5);

/// Running processes, with the way of measuring them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveWorkload {
    /// Processes given by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<LiveProcess>,
    /// Patterns of the other processes, all of which must match: "FIELD=PATTERN" as in a rule of `corewise keep`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Source of the metrics.
    pub source: LiveSource,
    /// Measured time of a slot, in seconds.
    pub slot_s: f64,
    /// Limits that end a slot at once and remove its placement from the race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<MetricLimit>,
}

/// Minimum number of blocks of a session: fewer cannot show after-effects of slots on the next.
const LEAST_BLOCKS: u32 = 20;

/// Returns the policy for slots. A failure in a slot harms the users of the processes, so a placement has no second
/// chance.
pub fn policy_of_slots(policy: &JudgingPolicy) -> JudgingPolicy {
    JudgingPolicy { most_failures: 1, least_blocks: LEAST_BLOCKS, ..policy.clone() }
}

/// Returns the policy for services that stay from trial to trial: as for slots, but a failure is harmless.
pub fn policy_of_kept(policy: &JudgingPolicy) -> JudgingPolicy {
    JudgingPolicy { least_blocks: LEAST_BLOCKS, ..policy.clone() }
}

/// One process of one boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveProcess {
    /// Its number.
    pub id: u32,
    /// Start, in clock ticks since the boot.
    pub start_ticks: u64,
}

/// Source of the metrics of running processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LiveSource {
    /// The output of a shell command.
    Command(String),
    /// A page in Prometheus' text format, by its address.
    Page(String),
    /// The kernel's accounts of the threads alone.
    Kernel,
}

/// An upper or lower bound of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricLimit {
    /// Its notation: "p99(query_seconds) > 50ms".
    pub text: String,
    /// The metric.
    pub metric: TrialMetric,
    /// True for an upper bound; otherwise it is a lower one.
    pub is_most: bool,
    /// The bound; without a unit it is in the metric's base unit, as seconds or bytes.
    pub bound: MeasuredQuantity,
}

impl MetricLimit {
    /// Returns true if a value is beyond the bound; `None` if their units do not convert.
    pub fn is_violated_by(&self, value: &MeasuredQuantity) -> Option<bool> {
        let bound = match self.bound.unit.is_bare() && value.unit.is_base() {
            true => self.bound.value,
            false => self.bound.value_in(&value.unit)?,
        };
        Some(if self.is_most { value.value > bound } else { value.value < bound })
    }
}

impl LiveWorkload {
    /// Returns the pause after a switch before a slot is measured, in seconds: at least a tenth of the slot.
    pub fn wash_out_s(&self) -> f64 {
        wash_out_s(self.slot_s)
    }

    /// Checks processes that come from a file.
    pub(super) fn check_loaded(&self) -> Result<(), String> {
        if !(SLOTS_S.0..=SLOTS_S.1).contains(&self.slot_s) {
            return Err("the length of its slots is impossible".to_owned());
        }
        if self.processes.is_empty() && self.matches.is_empty() {
            return Err("it names no process".to_owned());
        }
        Ok(())
    }
}

/// Returns the wash-out of slots of this length.
pub fn wash_out_s(slot_s: f64) -> f64 {
    let (least, most) = WASH_OUT_SHARES;
    LEAST_WASH_OUT_S.max(least * slot_s).min(most * slot_s)
}
