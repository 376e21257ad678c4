//! Differences between two surveys: facts of the machine, and numbers that moved beyond their uncertainty.
//!
//! Two surveys differ by more than the spread over the rounds within one: pages lie elsewhere, the machine is warmer,
//! other programs run. A number therefore counts as changed only if the 99 % intervals of its median over the rounds do
//! not overlap after the lower one is raised by two ratios:
//!
//! - the usual ratio for the quantity ([`ComparedQuantity::least_ratio`], over [`ComparedQuantity::comparison_floor`]);
//! - its drift during the survey ([`MedianEstimate::measure_drift`], the larger one of both surveys). A machine that changed
//!   by a tenth within half a minute may also do so between two surveys, without any cause.
//!
//! The intervals are distribution-free ([`median_interval`]). If rounds were independent, an unchanged number would be
//! called changed once in 6,435 times for 8 rounds, and at most once in 3,700 for up to 200 rounds. (This counts the
//! orders of the values of both.) Rounds do depend on each other; on simulated machines with noise that persists
//! between rounds, fewer than 1 in 400 numbers are wrongly called changed.
//!
//! If a survey has too few rounds for an interval, no change is claimed, and a gap says so.

mod cpus;
mod links;
mod machine;
mod surveys;

use corewise_machine::{CpuSet, Gap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::links::CpuRelation;
use crate::stats::order::{median, median_interval};
pub use surveys::compare_surveys;

/// The confidence of each interval.
pub const CONFIDENCE: f64 = 0.99;

/// Differences between two surveys; lists are empty if nothing changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyComparison {
    /// True if the fingerprints are equal: the same processor with the same topology.
    pub same_machine: bool,
    /// Cpus that are online in the later survey only.
    pub appeared: CpuSet,
    /// Cpus that were online in the earlier survey only.
    pub gone: CpuSet,
    /// Facts about machine, system and measurement that differ.
    pub facts: Vec<FactChange>,
    /// Numbers that moved beyond their uncertainty and the usual ratio, by quantity, then by cpu or relation.
    pub numbers: Vec<NumberChange>,
    /// Number of comparable numbers, changed or not.
    pub compared: u64,
    /// The quantities of these numbers.
    pub quantities: Vec<ComparedQuantity>,
    /// Comparisons that were not possible, with reasons.
    pub gaps: Vec<Gap>,
}

/// A fact that differs between two surveys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactChange {
    /// Name of the fact: "kernel", "microcode", "governor", "llcs", "L3 caches" and so on.
    pub what: String,
    /// The earlier survey's value; `None` if it has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The later survey's value; `None` if it has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A number that moved beyond its uncertainty and the usual ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberChange {
    /// The quantity; its unit is [`ComparedQuantity::unit`].
    pub quantity: ComparedQuantity,
    /// The cpu or links that were measured.
    pub subject: ComparedSubject,
    /// The earlier survey's value.
    pub before: MedianEstimate,
    /// The later survey's value.
    pub after: MedianEstimate,
    /// The later median over the earlier; `None` if one of them is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// The cpu or links that a number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedSubject {
    /// One cpu, by the operating system's number.
    Cpu(u32),
    /// The pairs of cpus of one relation.
    Links(CpuRelation),
}

/// A quantity that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ComparedQuantity {
    /// The median of the fixed piece of work, in nanoseconds.
    #[serde(rename = "p50")]
    P50,
    /// Its 99.9th percentile, in nanoseconds.
    #[serde(rename = "p99.9")]
    P99_9,
    /// The share of time lost to stalls, in percent.
    #[serde(rename = "lost")]
    Lost,
    /// Clock rate, in gigahertz.
    #[serde(rename = "frequency")]
    Frequency,
    /// Interrupts of all sources, per second.
    #[serde(rename = "interrupt-rate")]
    InterruptRate,
    /// Cost of one-way communication with another cpu, in nanoseconds.
    #[serde(rename = "link-cost")]
    LinkCost,
}

impl ComparedQuantity {
    /// Returns the name for people.
    pub const fn quantity_name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99_9 => "p99.9",
            Self::Lost => "time lost to stalls",
            Self::Frequency => "frequency",
            Self::InterruptRate => "interrupt rate",
            Self::LinkCost => "link cost",
        }
    }

    /// Returns its unit.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::P50 | Self::P99_9 | Self::LinkCost => "ns",
            Self::Lost => "%",
            Self::Frequency => "GHz",
            Self::InterruptRate => "per s",
        }
    }

    /// Returns the ratio up to which two surveys usually differ without any change; only more counts as a change.
    ///
    /// Clock rate and the work that follows it drift by a few percent with temperature and turbo budget: 5 %. A p99.9
    /// rests on a few rare stalls: 25 %. The time lost to stalls depends on the same few and on their length: 50 %.
    /// Interrupts follow the activity of other programs: a factor of 2. The same link measured by another process lies
    /// on other pages and comes out up to 15 % apart on a quiet machine: 15 %.
    pub const fn least_ratio(self) -> f64 {
        match self {
            Self::P50 | Self::Frequency => 1.05,
            Self::P99_9 => 1.25,
            Self::Lost => 1.5,
            Self::InterruptRate => 2.0,
            Self::LinkCost => 1.15,
        }
    }

    /// Returns the smallest difference of the medians that counts as a change, in the quantity's unit. Ten interrupts
    /// per second cost about one part in 50,000 of a cpu; a ratio of smaller rates is meaningless.
    pub const fn least_difference(self) -> f64 {
        match self {
            Self::InterruptRate => 10.0,
            Self::P50 | Self::P99_9 | Self::Lost | Self::Frequency | Self::LinkCost => 0.0,
        }
    }

    /// Returns the amount added to both sides before the comparison, in the quantity's unit. A loss of one part in
    /// 10,000 of the time is negligible, so the ratio of smaller losses is meaningless.
    pub const fn comparison_floor(self) -> f64 {
        match self {
            Self::Lost => 0.01,
            Self::P50 | Self::P99_9 | Self::Frequency | Self::InterruptRate | Self::LinkCost => 0.0,
        }
    }
}

/// A median with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MedianEstimate {
    /// The median over the rounds (for links, over the visits).
    pub median: f64,
    /// The lower end of its 99 % interval.
    pub low: f64,
    /// The upper end of its 99 % interval.
    pub high: f64,
    /// Number of rounds or visits.
    pub count: u64,
    /// Drift during the survey: the greatest over the least of the medians of its quarters in order of time (of halves
    /// or thirds, if a quarter would have fewer than 4 rounds); 1 without drift.
    pub drift: f64,
}

impl MedianEstimate {
    /// Computes the estimate from values in order of time; `None` for too few of them. For drift, `none` is added to
    /// all values: an amount that is negligible in this quantity.
    fn from_values(values: &[f64], none: f64) -> Option<Self> {
        let (low, high) = median_interval(values, CONFIDENCE)?;
        let drift = measure_drift(values, none);
        Some(Self { median: median(values), low, high, count: values.len() as u64, drift })
    }

    /// Returns true if the whole interval lies above the other even after that is raised by `ratio`; the floor is added
    /// to both.
    fn is_above(&self, other: &Self, ratio: f64, floor: f64) -> bool {
        self.low + floor > (other.high + floor) * ratio
    }

    fn scale_by(self, by: f64) -> Self {
        Self { median: self.median * by, low: self.low * by, high: self.high * by, ..self }
    }
}

fn measure_drift(values: &[f64], none: f64) -> f64 {
    let count = values.len();
    let parts = (count / 4).clamp(1, 4);
    let medians = (0..parts).map(|part| median(&values[part * count / parts..(part + 1) * count / parts]));
    let (least, greatest) = medians.fold((f64::INFINITY, 0.0_f64), |(least, greatest), median| {
        (least.min(median + none), greatest.max(median + none))
    });
    if greatest > least { greatest / least } else { 1.0 }
}

impl SurveyComparison {
    /// Returns true if nothing comparable changed.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.numbers.is_empty() && self.appeared.is_empty() && self.gone.is_empty()
    }

    /// Judges two estimates of one number by the rule of this module.
    fn judge_change(
        &mut self,
        quantity: ComparedQuantity,
        subject: ComparedSubject,
        before: MedianEstimate,
        after: MedianEstimate,
    ) {
        self.compared += 1;
        if !self.quantities.contains(&quantity) {
            self.quantities.push(quantity);
        }
        let (least, floor) = (quantity.least_ratio() * before.drift.max(after.drift), quantity.comparison_floor());
        let apart = after.is_above(&before, least, floor) || before.is_above(&after, least, floor);
        if apart && (after.median - before.median).abs() >= quantity.least_difference() {
            let ratio = (before.median > 0.0 && after.median > 0.0).then(|| after.median / before.median);
            self.numbers.push(NumberChange { quantity, subject, before, after, ratio });
        }
    }
}

#[cfg(test)]
mod tests;
