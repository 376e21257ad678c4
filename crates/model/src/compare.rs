//! Differences between two surveys: facts of the machine, numbers that changed, and the changes that are excluded.
//!
//! Two surveys differ by more than the spread over the rounds within one: the machine is warmer, a neighbour came. So a
//! number's interval includes the drift that its own values show ([`SessionLevel`]). All numbers of a comparison are one
//! family: on an unchanged machine, **any** of them is called changed with a probability of at most [`ERROR_RATE`]. The
//! rate is divided among the quantities; within a quantity, the cpus share the drift, and the noise of their rounds is
//! divided among them.
//!
//! A change counts from [`ComparedQuantity::least_ratio`] on. Of each quantity the numbers without one have a bound: none
//! of them changed by more ([`ExcludedChange`]). If a survey has too few rounds, no change is claimed, and a gap says so.

mod cpus;
mod links;
mod machine;
mod surveys;

use corewise_machine::{CpuSet, Gap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::links::CpuRelation;
#[cfg(doc)]
use corewise_statistics::session::SessionLevel;
pub(crate) use cpus::value_of;
pub use surveys::compare_surveys;

/// The error rate of all claims of a comparison together, and of each interval.
pub const ERROR_RATE: f64 = 0.05;

/// Differences between two surveys; lists are empty if nothing changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyComparison {
    /// True if both may be of one machine: the same processor, topology and, if known, host.
    pub same_machine: bool,
    /// Cpus that are online in the later survey only.
    pub appeared: CpuSet,
    /// Cpus that were online in the earlier survey only.
    pub gone: CpuSet,
    /// Facts about machine, system and measurement that differ.
    pub facts: Vec<FactChange>,
    /// Numbers that changed, by quantity, then by cpu or relation.
    pub numbers: Vec<NumberChange>,
    /// Number of comparable numbers, changed or not.
    pub compared: u64,
    /// The changes that are excluded for the unchanged numbers, by quantity.
    pub excluded: Vec<ExcludedChange>,
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

/// A number that changed.
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
    /// The ends of the ratio's 95 % interval; `None` without a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// The changes of a quantity that two surveys exclude.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedChange {
    /// The quantity.
    pub quantity: ComparedQuantity,
    /// Number of its numbers that did not change.
    pub numbers: u64,
    /// No such number changed by more than this ratio, up or down (95 %): at least 1.
    pub beyond: f64,
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
    /// Number of quantities.
    const COUNT: usize = 6;

    /// Returns its share of the error rate of all claims.
    const fn error_rate() -> f64 {
        ERROR_RATE / Self::COUNT as f64
    }

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

    /// Returns the smallest ratio that counts as a change, even if a smaller one is certain.
    ///
    /// 2 % of the speed matters. A p99.9 rests on a few rare stalls: 25 %. The time lost to stalls depends on the same
    /// few and on their length: 50 %. Interrupts follow the activity of other programs: a factor of 2. The same link
    /// measured by another process lies on other pages and comes out up to 15 % apart on a quiet machine: 15 %.
    pub const fn least_ratio(self) -> f64 {
        match self {
            Self::P50 | Self::Frequency => 1.02,
            Self::P99_9 => 1.25,
            Self::Lost => 1.5,
            Self::InterruptRate => 2.0,
            Self::LinkCost => 1.15,
        }
    }

    /// Returns the ratio from which changes must be excluded before a quantity is called unchanged.
    pub const fn exclusion_limit(self) -> f64 {
        match self {
            Self::P50 | Self::Frequency => 1.05,
            Self::LinkCost => 1.15,
            Self::P99_9 => 1.5,
            Self::Lost | Self::InterruptRate => 2.0,
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
    /// 10,000 of the time is negligible, and so is an interrupt a second: ratios of smaller numbers are meaningless.
    pub const fn comparison_floor(self) -> f64 {
        match self {
            Self::Lost => 0.01,
            Self::InterruptRate => 1.0,
            Self::P50 | Self::P99_9 | Self::Frequency | Self::LinkCost => 0.0,
        }
    }
}

/// A median with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MedianEstimate {
    /// The median over the rounds (for links, over the pairs).
    pub median: f64,
    /// The lower end of its 95 % interval, the drift between surveys included.
    pub low: f64,
    /// The upper end of it.
    pub high: f64,
    /// Number of rounds or pairs.
    pub count: u64,
}

impl MedianEstimate {
    /// Creates an estimate whose interval reaches so far on the logarithmic scale.
    fn new(median: f64, reach: f64, count: usize) -> Self {
        let [low, high] = [-reach, reach].map(|reach| median * reach.exp());
        Self { median, low, high, count: count as u64 }
    }
}

/// A number in both surveys.
struct ComparedNumber {
    quantity: ComparedQuantity,
    subject: ComparedSubject,
    before: MedianEstimate,
    after: MedianEstimate,
    /// Logarithm of the ratio, with the floor added to both sides.
    difference: f64,
    /// Reach of its 95 % interval.
    reach: f64,
    /// Reach within which it may differ by chance, among all numbers of the comparison.
    family_reach: f64,
}

impl SurveyComparison {
    /// Returns true if nothing comparable changed.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.numbers.is_empty() && self.appeared.is_empty() && self.gone.is_empty()
    }

    /// Adds a number to the changed ones, or to the bound of its quantity.
    fn judge_change(&mut self, number: &ComparedNumber) {
        let ComparedNumber { quantity, subject, before, after, difference, reach, family_reach } = *number;
        self.compared += 1;
        let is_certain = difference.abs() > family_reach;
        let is_material = difference.abs() >= quantity.least_ratio().ln()
            && (after.median - before.median).abs() >= quantity.least_difference();
        if is_certain && is_material {
            let ratio = (before.median > 0.0 && after.median > 0.0).then(|| after.median / before.median);
            let interval = ratio.map(|ratio| [-reach, reach].map(|reach| ratio * reach.exp()));
            return self.numbers.push(NumberChange { quantity, subject, before, after, ratio, interval });
        }
        let beyond = (difference.abs() + reach).exp();
        match self.excluded.iter_mut().find(|excluded| excluded.quantity == quantity) {
            Some(excluded) => {
                excluded.numbers += 1;
                excluded.beyond = excluded.beyond.max(beyond);
            }
            None => self.excluded.push(ExcludedChange { quantity, numbers: 1, beyond }),
        }
    }
}

#[cfg(test)]
mod tests;
