//! Running processes that are placed, instead of a command that is run: a trial is then a slot of their life.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Metric;
use crate::experiment::Policy;
use crate::quantity::MeasuredQuantity;

/// The shortest and the longest slot, in seconds.
pub const SLOTS_S: (f64, f64) = (0.1, 60.0);
/// The least wash-out, in seconds: a migration and the caches after it are done by then.
const LEAST_WASH_OUT_S: f64 = 0.1;
/// A wash-out takes this share of a slot at least, and this share at most.
const WASH_OUT_SHARES: (f64, f64) = (0.1, 0.5);

/// Running processes, and how they are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// Processes that were named by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<LiveProcess>,
    /// What processes match that were not named: all of these, "FIELD=PATTERN" as in a rule of `corewise keep`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Where the metrics are read.
    pub source: Source,
    /// How long a slot is measured, in seconds.
    pub slot_s: f64,
    /// What ends a slot at once, and the part of its placement in the race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
}

/// A session has so many blocks at least: fewer cannot show what slots leave behind for the next.
const LEAST_BLOCKS: u32 = 20;

/// How slots are judged. Whatever fails in a slot harms those who use the processes, so a placement has no second chance.
pub fn policy_of_slots(policy: &Policy) -> Policy {
    Policy { most_failures: 1, least_blocks: LEAST_BLOCKS, ..policy.clone() }
}

/// How trials of services are judged that stay from trial to trial: as slots, but a failure harms nobody.
pub fn policy_of_kept(policy: &Policy) -> Policy {
    Policy { least_blocks: LEAST_BLOCKS, ..policy.clone() }
}

/// One process of one boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveProcess {
    /// Its number.
    pub id: u32,
    /// When it started, in clock ticks since the boot.
    pub start_ticks: u64,
}

/// Where metrics of running processes are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The output of a command, for a shell.
    Command(String),
    /// A page in Prometheus' text format, by its address.
    Page(String),
    /// The kernel's accounts of the threads alone.
    Kernel,
}

/// A metric that must not be beyond a bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// As it was typed: "p99(query_seconds) > 50ms".
    pub text: String,
    /// The metric.
    pub metric: Metric,
    /// Whether it must not be above the bound; otherwise it must not be below.
    pub is_most: bool,
    /// The bound; without a unit it is in the metric's base unit, as seconds or bytes.
    pub bound: MeasuredQuantity,
}

impl Limit {
    /// Whether a value is beyond the bound; `None` if their units do not convert.
    pub fn is_violated_by(&self, value: &MeasuredQuantity) -> Option<bool> {
        let bound = match self.bound.unit.is_bare() && value.unit.is_base() {
            true => self.bound.value,
            false => self.bound.value_in(&value.unit)?,
        };
        Some(if self.is_most { value.value > bound } else { value.value < bound })
    }
}

impl Live {
    /// How long is waited after a switch before a slot is measured, in seconds: a tenth of the slot at least.
    pub fn wash_out_s(&self) -> f64 {
        wash_out_s(self.slot_s)
    }

    /// What is wrong with one that comes from a file, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(SLOTS_S.0..=SLOTS_S.1).contains(&self.slot_s) {
            return Err("the length of its slots is impossible".to_owned());
        }
        if self.processes.is_empty() && self.matches.is_empty() {
            return Err("it names no process".to_owned());
        }
        Ok(())
    }
}

/// The wash-out of slots of this length.
pub fn wash_out_s(slot_s: f64) -> f64 {
    let (least, most) = WASH_OUT_SHARES;
    LEAST_WASH_OUT_S.max(least * slot_s).min(most * slot_s)
}
