//! Waits of a woken thread, by whether its waker ran on another last-level cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_statistics::signs::sign_test;

/// Greatest probability by chance of a difference that is stated.
const ERROR_RATE: f64 = 0.01;

/// Waits of the thread that was woken most, in the slots in which waiting times were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedWaits {
    /// Place of the thread among the vertices.
    pub wakee: usize,
    /// The slots in which it was woken both ways.
    pub slots: Vec<WaitSlot>,
}

/// Waits after wakes by threads in one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitSlot {
    /// Waits on the last-level cache on which the waker ran.
    pub inside: SummedWaits,
    /// Waits on another one.
    pub across: SummedWaits,
}

/// Waits and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummedWaits {
    /// Number of waits.
    pub waits: f64,
    /// Their time together, in nanoseconds.
    pub waiting_ns: f64,
}

/// Longer waits of a thread across last-level caches than inside one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongerWaits {
    /// Mean wait across, in nanoseconds.
    pub across_ns: f64,
    /// The same relative to the mean wait inside.
    pub ratio: f64,
    /// Probability of such a difference by chance: the sign test over the slots.
    pub p_value: f64,
}

impl SummedWaits {
    fn mean_ns(self) -> f64 {
        self.waiting_ns / self.waits
    }

    /// Adds other waits.
    pub fn add_waits(&mut self, other: Self) {
        self.waits += other.waits;
        self.waiting_ns += other.waiting_ns;
    }
}

impl WaitSlot {
    /// Returns true if there were waits of both kinds.
    pub fn has_both(&self) -> bool {
        self.inside.waits > 0.0 && self.across.waits > 0.0
    }
}

impl PlacedWaits {
    /// Returns by how much waits across are longer; `None` if that is not proven.
    pub fn find_longer_waits(&self) -> Option<LongerWaits> {
        let mut all = WaitSlot::default();
        let (mut longer, mut shorter) = (0, 0);
        for slot in self.slots.iter().filter(|slot| slot.has_both()) {
            all.inside.add_waits(slot.inside);
            all.across.add_waits(slot.across);
            longer += u32::from(slot.across.mean_ns() > slot.inside.mean_ns());
            shorter += u32::from(slot.across.mean_ns() < slot.inside.mean_ns());
        }
        let (across_ns, p_value) = (all.across.mean_ns(), sign_test(longer, shorter));
        let ratio = across_ns / all.inside.mean_ns();
        (longer > shorter && p_value <= ERROR_RATE && ratio > 1.0 && ratio.is_finite()).then_some(LongerWaits {
            across_ns,
            ratio,
            p_value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(slots: u32, across_us: impl Fn(u32) -> f64) -> PlacedWaits {
        let sum = |us: f64| SummedWaits { waits: 50.0, waiting_ns: 50e3 * us };
        let slot = |slot| WaitSlot { inside: sum(2.0), across: sum(across_us(slot)) };
        PlacedWaits { wakee: 0, slots: (0..slots).map(slot).collect() }
    }

    #[test]
    fn longer_waits_need_enough_slots_that_agree() {
        let found = waits(8, |_| 40.0).find_longer_waits().unwrap();
        assert!((found.ratio - 20.0).abs() < 1e-9 && (found.across_ns - 40e3).abs() < 1e-6, "{found:?}");
        assert!((found.p_value - 2.0 / 256.0).abs() < 1e-12);
        assert_eq!(waits(7, |_| 40.0).find_longer_waits(), None, "too few slots");
        assert_eq!(waits(12, |_| 1.0).find_longer_waits(), None, "shorter");
        assert_eq!(waits(12, |slot| if slot == 0 { 400.0 } else { 1.9 }).find_longer_waits(), None, "one slot alone");
        let only_inside = WaitSlot { inside: SummedWaits { waits: 9.0, waiting_ns: 9e9 }, ..WaitSlot::default() };
        let mut mixed = waits(8, |_| 40.0);
        mixed.slots.push(only_inside);
        assert_eq!(mixed.find_longer_waits(), Some(found), "slots of one kind alone do not count");
        assert_eq!(PlacedWaits { wakee: 0, slots: Vec::new() }.find_longer_waits(), None);
    }
}
