//! Round trips over two lines, each written by one side and read by the other.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_machine::random::Random;
use corewise_sys::clock::Ticks;
use corewise_sys::memory::Memory;

use super::meeting::{Meeting, spin};
use super::samples::{CountedSide, Plan, Side};
use super::{Home, Kind, lines, memory};

/// Round trips of one sample: some 10 us.
const ROUND_TRIPS: u64 = 100;
/// Samples on each pair of lines.
const SAMPLES: usize = 5;
/// Pairs of lines that a visit uses.
const PAIRS: usize = 12;

/// Store measurement, with the lines of one visit: the first side's, then the second side's.
pub struct Store {
    lines: [usize; 2 * PAIRS],
}

impl Store {
    /// Chooses lines at random.
    pub fn new(random: &mut Random) -> Self {
        Self { lines: lines::apart(random) }
    }

    /// The lines of the first, and those of the second.
    fn lines<'a>(&self, place: &'a Memory) -> [[&'a AtomicU64; PAIRS]; 2] {
        [0, PAIRS].map(|from| std::array::from_fn(|pair| place.line(self.lines[from + pair])))
    }
}

impl Kind for Store {
    type Place = Memory;

    fn plan(&self) -> Plan {
        Plan { groups: PAIRS, ..Plan::new(SAMPLES, (2 * ROUND_TRIPS) as f64) }
    }

    fn allocate(&self, home: Home) -> io::Result<Memory> {
        memory(1, home)
    }

    fn first_side<'a, T: Ticks>(&'a self, place: &'a Memory, _: T, meeting: &'a Meeting<'a>) -> Option<impl Side> {
        let [asked, answered] = self.lines(place);
        Some(CountedSide::new(1, ROUND_TRIPS, move |pair, trips| {
            ask(asked[pair], answered[pair], 1 + trips.start, 1 + trips.end, meeting)
        }))
    }

    fn second_side<'a, T: Ticks>(&'a self, place: &'a Memory, _: T, meeting: &'a Meeting<'a>) -> Option<impl Side> {
        let [asked, answered] = self.lines(place);
        Some(CountedSide::new(1, ROUND_TRIPS, move |pair, trips| {
            answer(asked[pair], answered[pair], 1 + trips.start, 1 + trips.end, meeting)
        }))
    }
}

/// Writes each number of a range and waits until it is answered; false if the visit is over.
fn ask(asked: &AtomicU64, answered: &AtomicU64, from: u64, until: u64, meeting: &Meeting) -> bool {
    let mut number = from;
    while number != until {
        asked.store(number, Ordering::Release);
        if !spin(meeting, || answered.load(Ordering::Acquire) == number) {
            return false;
        }
        number += 1;
    }
    true
}

/// Waits for each number of a range and answers it; false if the visit is over.
fn answer(asked: &AtomicU64, answered: &AtomicU64, from: u64, until: u64, meeting: &Meeting) -> bool {
    let mut number = from;
    while number != until {
        if !spin(meeting, || asked.load(Ordering::Acquire) == number) {
            return false;
        }
        answered.store(number, Ordering::Release);
        number += 1;
    }
    true
}
