//! Round trips over two lines, each written by one side and read by the other.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_machine::random::Random;
use corewise_sys::clock::Ticks;
use corewise_sys::memory::Memory;

use super::meeting::{Meeting, spin};
use super::samples::{Number, Plan, Record, Side, Untimed, take};
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

    fn turns<'a>(&'a self, place: &'a Memory, is_first: bool, meeting: &'a Meeting) -> Turns<'a> {
        let lines = |from: usize| std::array::from_fn(|pair| place.line(self.lines[from + pair]));
        let (asked, answered) = (lines(0), lines(PAIRS));
        Turns { asked, answered, pair: 0, is_first, next: 1, meeting }
    }
}

impl Kind for Store {
    type Place = Memory;

    fn plan(&self) -> Plan {
        Plan {
            groups: PAIRS,
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
        take(ticks, &self.plan(), &mut self.turns(place, true, meeting), record);
    }

    fn second<T: Ticks>(&self, place: &Memory, _ticks: T, meeting: &Meeting, record: &mut Record) {
        take(Untimed, &self.plan(), &mut self.turns(place, false, meeting), record);
    }
}

/// One side.
struct Turns<'a> {
    asked: [&'a AtomicU64; PAIRS],
    answered: [&'a AtomicU64; PAIRS],
    pair: usize,
    is_first: bool,
    next: u64,
    meeting: &'a Meeting<'a>,
}

impl Turns<'_> {
    fn pass(&mut self, times: u64) -> bool {
        let (asked, answered) = (self.asked[self.pair], self.answered[self.pair]);
        let from = self.next;
        self.next += times;
        if self.is_first {
            ask(asked, answered, from, self.next, self.meeting)
        } else {
            answer(asked, answered, from, self.next, self.meeting)
        }
    }
}

impl Side for Turns<'_> {
    fn turn_to(&mut self, group: usize) {
        (self.pair, self.next) = (group, 1);
    }

    fn lead(&mut self) -> bool {
        self.pass(1)
    }

    fn talk(&mut self) -> bool {
        self.pass(ROUND_TRIPS)
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
