//! Waits of each slot, by where the waker ran.

use std::collections::BTreeMap;

use corewise_model::talk::waits::{SummedWaits, WaitSlot};
use corewise_sys::wakes::WakeWait;

/// Waits of each woken thread, slot by slot. Interrupts' wakes are left out: they are not talk of threads.
#[derive(Clone, Debug, Default)]
pub struct WaitSlots {
    /// Sums since the beginning, by waker, woken thread and whether it ran on another last-level cache.
    before: BTreeMap<(u32, u32, bool), SummedWaits>,
    slots: BTreeMap<u32, Vec<WaitSlot>>,
}

impl WaitSlots {
    /// Adds a slot; `waits` are those since the beginning.
    pub fn end_slot(&mut self, waits: &[WakeWait]) {
        let mut slot: BTreeMap<u32, WaitSlot> = BTreeMap::new();
        for wait in waits.iter().filter(|wait| wait.waker != 0) {
            let sum = SummedWaits { waits: wait.waits as f64, waiting_ns: wait.waiting_ns as f64 };
            let before = self.before.insert((wait.waker, wait.wakee, wait.is_across), sum).unwrap_or_default();
            let new = SummedWaits { waits: sum.waits - before.waits, waiting_ns: sum.waiting_ns - before.waiting_ns };
            let of_wakee = slot.entry(wait.wakee).or_default();
            if wait.is_across { &mut of_wakee.across } else { &mut of_wakee.inside }.add_waits(new);
        }
        for (wakee, waits) in slot.into_iter().filter(|(_, waits)| waits.has_both()) {
            self.slots.entry(wakee).or_default().push(waits);
        }
    }

    /// Returns the thread with the most waits in slots with waits of both kinds, and these slots. Not the length of waits, but their number
    /// chooses it, so that a test of their length is valid.
    pub fn find_most_woken(self) -> Option<(u32, Vec<WaitSlot>)> {
        let count = |slots: &[WaitSlot]| slots.iter().map(|slot| slot.inside.waits + slot.across.waits).sum::<f64>();
        self.slots.into_iter().max_by(|one, other| count(&one.1).total_cmp(&count(&other.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_have_what_was_added_since_the_last() {
        let wait = |waker, wakee, is_across, waits| WakeWait { waker, wakee, is_across, waits, waiting_ns: 10 * waits };
        let mut slots = WaitSlots::default();
        slots.end_slot(&[wait(1, 2, false, 5), wait(3, 2, true, 4), wait(0, 2, true, 99), wait(2, 1, false, 50)]);
        slots.end_slot(&[wait(1, 2, false, 5), wait(3, 2, true, 9)]);
        slots.end_slot(&[wait(1, 2, false, 8), wait(3, 2, true, 10)]);
        let (wakee, found) = slots.find_most_woken().unwrap();
        let numbers: Vec<[f64; 3]> =
            found.iter().map(|slot| [slot.inside.waits, slot.across.waits, slot.across.waiting_ns]).collect();
        assert_eq!((wakee, numbers), (2, vec![[5.0, 4.0, 40.0], [3.0, 1.0, 10.0]]));
        assert_eq!(WaitSlots::default().find_most_woken(), None);
    }
}
