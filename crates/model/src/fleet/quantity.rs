//! The quantities by which the nodes of a fleet are compared.

use corewise_machine::vocabulary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::ComparedQuantity;

vocabulary! {
    /// Quantities of a node, each one number a visit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum FleetQuantity {
        Speed "speed": "Time of a fixed piece of work on the typical cpu: the median of the cpus' medians.", "ns";
        SlowestCpu "slowest-cpu": "Time of the same piece on the slowest cpu, against the node's typical cpu.", "ratio";
        Tail "tail": "The 99.9th percentile of the piece on the typical cpu.", "ns";
        LostTime "lost-time": "Share of the time that the typical cpu loses to stalls.", "%";
        Interrupts "interrupts": "Interrupts of the typical cpu.", "per s";
        LinkCost "link-cost": "One-way cost between two cores of the nearest class.", "ns";
        MemoryLatency "memory-latency": "Latency of the nearest memory.", "ns";
        MemoryBandwidth "memory-bandwidth": "Bandwidth of reading the nearest memory.", "GB/s";
    }
}

impl FleetQuantity {
    /// Returns its unit.
    pub fn unit(self) -> &'static str {
        self.columns().first().copied().unwrap_or_default()
    }

    /// Returns true if a higher value is better.
    pub const fn is_higher_better(self) -> bool {
        matches!(self, Self::MemoryBandwidth)
    }

    /// Returns true if differences are judged, in the quantity's unit; otherwise ratios are.
    pub const fn is_difference_judged(self) -> bool {
        matches!(self, Self::LostTime)
    }

    /// Returns the quantity of a survey's comparison that has the same noise and the same limit of a material change.
    const fn compared_quantity(self) -> Option<ComparedQuantity> {
        match self {
            Self::Speed | Self::SlowestCpu => Some(ComparedQuantity::P50),
            Self::Tail => Some(ComparedQuantity::P99_9),
            Self::LostTime => Some(ComparedQuantity::Lost),
            Self::Interrupts => Some(ComparedQuantity::InterruptRate),
            Self::LinkCost => Some(ComparedQuantity::LinkCost),
            Self::MemoryLatency | Self::MemoryBandwidth => None,
        }
    }

    /// Returns the smallest deviation from its peers that matters, on the scale of [`Self::judge_value`]: `margin` (0.02 for 2 %), or more
    /// if the quantity differs more between equal machines. Of time lost it is one percentage point.
    pub fn least_deviation(self, margin: f64) -> f64 {
        if self.is_difference_judged() {
            return 1.0;
        }
        let own = self.compared_quantity().map_or(1.0, ComparedQuantity::least_ratio);
        margin.ln_1p().max(own.ln())
    }

    /// Returns a value on the scale on which nodes are compared: the logarithm, or the value itself, negative if lower values are better, so
    /// that more is better. Returns `None` if it is no finite number.
    pub fn judge_value(self, value: f64) -> Option<f64> {
        let floor = self.compared_quantity().map_or(0.0, ComparedQuantity::comparison_floor);
        let scaled = if self.is_difference_judged() { value } else { (value + floor).ln() };
        let judged = if self.is_higher_better() { scaled } else { -scaled };
        judged.is_finite().then_some(judged)
    }

    /// Returns the change of a value from its distance to the worse side, on the scale of [`Self::judge_value`]: a share of the peers' value, or a
    /// difference in the quantity's unit.
    pub fn change_of(self, worse: f64) -> f64 {
        match (self.is_difference_judged(), self.is_higher_better()) {
            (true, _) => worse,
            (false, false) => worse.exp_m1(),
            (false, true) => (-worse).exp_m1(),
        }
    }

    /// Checks that a value can have been measured.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn check_value(self, value: f64) -> Result<(), String> {
        let (least, most) = match self {
            Self::Speed | Self::Tail | Self::LinkCost | Self::MemoryLatency => (1e-3, 1e10),
            Self::SlowestCpu => (0.5, 1e6),
            Self::LostTime => (0.0, 100.0),
            Self::Interrupts => (0.0, 1e9),
            Self::MemoryBandwidth => (1e-6, 1e6),
        };
        match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(format!("{self} cannot be {value} {}", self.unit())),
        }
    }
}
