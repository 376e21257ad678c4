//! Round trips by compare-and-swap on one line.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_machine::random::Random;
use corewise_sys::clock::Ticks;
use corewise_sys::memory::Memory;

use super::meeting::{Meeting, spin};
use super::samples::{CountedSide, Plan, Side};
use super::{Home, Kind, lines, memory};

/// Round trips of one sample: about 10 us, short against a time slice, so that few samples are interrupted.
const ROUND_TRIPS: u64 = 100;
/// Round trips before each sample: the first's second swap waits for the answer to its first one, and what it times is from one swap to
/// another.
const LEAD: u64 = 2;
/// Samples on each line.
const SAMPLES: usize = 5;
/// Lines of the page that a visit uses. Some lines are more expensive than others (their home is elsewhere).
const LINES: usize = 12;

/// Compare-and-swap measurement, with the lines of one visit.
pub struct Cas {
    lines: [usize; LINES],
}

impl Cas {
    /// Chooses lines at random.
    pub fn new(random: &mut Random) -> Self {
        Self { lines: lines::apart(random) }
    }

    /// One side: swaps each second number, the first the even ones, the second the odd ones.
    fn side<'a>(&self, place: &'a Memory, begins_at: u64, meeting: &'a Meeting<'a>) -> impl Side + use<'a> {
        let lines = self.lines.map(|line| place.line(line));
        CountedSide::new(LEAD, ROUND_TRIPS, move |line, trips| {
            exchange(lines[line], begins_at + 2 * trips.start, begins_at + 2 * trips.end, meeting)
        })
    }
}

impl Kind for Cas {
    type Place = Memory;

    fn plan(&self) -> Plan {
        Plan { groups: LINES, ..Plan::new(SAMPLES, (2 * ROUND_TRIPS) as f64) }
    }

    fn allocate(&self, home: Home) -> io::Result<Memory> {
        memory(1, home)
    }

    fn first_side<'a, T: Ticks>(&'a self, place: &'a Memory, _: T, meeting: &'a Meeting<'a>) -> Option<impl Side> {
        Some(self.side(place, 0, meeting))
    }

    fn second_side<'a, T: Ticks>(&'a self, place: &'a Memory, _: T, meeting: &'a Meeting<'a>) -> Option<impl Side> {
        Some(self.side(place, 1, meeting))
    }
}

/// Waits for the line to hold each second number of a range and replaces it by the next. It uses bare compare-and-swap, without a load
/// before it and without a pause, as other tools do. Returns false if the visit is over.
fn exchange(line: &AtomicU64, from: u64, until: u64, meeting: &Meeting) -> bool {
    let mut expected = from;
    while expected != until {
        let swap = || line.compare_exchange(expected, expected + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !spin(meeting, swap) {
            return false;
        }
        expected += 2;
    }
    true
}
