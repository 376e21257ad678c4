//! Whole visits, of every kind.

use corewise_model::links::Slots;

use super::*;

const ALL: [What; 9] = [
    What::Cas,
    What::Store,
    What::Oneway,
    What::Bandwidth { block_bytes: 4 << 10 },
    What::Channel { bound: Some(64) },
    What::Channel { bound: None },
    What::Queue { slots: Slots::Packed },
    What::Queue { slots: Slots::Padded },
    What::Wakeup,
];

fn visit_now(what: What, first: u32, second: u32, home: Home, stop: bool) -> Result<Option<Visited>, Gap> {
    let asked = Visit { what, first, second, home };
    visit(&Clock::calibrated(), &asked, &Warmth::default(), &mut Random::new(1), &AtomicBool::new(stop))
}
