//! Round trips by compare-and-swap on one line.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_machine::random::Random;
use corewise_sys::clock::Ticks;
use corewise_sys::memory::Memory;

use super::meeting::{Meeting, spin};
use super::samples::{Number, Plan, Record, Side, Untimed, take};
use super::{Home, Kind, lines, memory};

/// Round trips of one sample: about 10 us, short against a time slice, so that few samples are interrupted.
const ROUND_TRIPS: u64 = 100;
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

    fn hops<'a>(&'a self, place: &'a Memory, begins_at: u64, meeting: &'a Meeting) -> Hops<'a> {
        Hops { lines: self.lines.map(|line| place.line(line)), line: 0, begins_at, expected: begins_at, meeting }
    }
}

impl Kind for Cas {
    type Place = Memory;

    fn plan(&self) -> Plan {
        Plan {
            groups: LINES,
            samples: SAMPLES,
            numbers: (2 * ROUND_TRIPS) as f64,
            sleeps: false,
            number: Number::Median,
        }
    }

    fn allocate(&self, home: Home) -> io::Result<Memory> {
        memory(1, home)
    }

    fn home(&self, place: &Memory) -> Option<u32> {
        place.home()
    }

    fn first<T: Ticks>(&self, place: &Memory, ticks: T, meeting: &Meeting, record: &mut Record) {
        take(ticks, &self.plan(), &mut self.hops(place, 0, meeting), record);
    }

    fn second<T: Ticks>(&self, place: &Memory, _ticks: T, meeting: &Meeting, record: &mut Record) {
        take(Untimed, &self.plan(), &mut self.hops(place, 1, meeting), record);
    }
}

/// One side: swaps every second number, the first side the even ones, the second side the odd ones.
struct Hops<'a> {
    lines: [&'a AtomicU64; LINES],
    line: usize,
    begins_at: u64,
    expected: u64,
    meeting: &'a Meeting<'a>,
}

impl Hops<'_> {
    fn swap(&mut self, times: u64) -> bool {
        let from = self.expected;
        self.expected += 2 * times;
        exchange(self.lines[self.line], from, self.expected, self.meeting)
    }
}

impl Side for Hops<'_> {
    fn turn_to(&mut self, group: usize) {
        (self.line, self.expected) = (group, self.begins_at);
    }

    /// Two swaps: the first side's second swap waits for the answer to its first one, and it times from one swap to another.
    fn lead(&mut self) -> bool {
        self.swap(2)
    }

    fn talk(&mut self) -> bool {
        self.swap(ROUND_TRIPS)
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
