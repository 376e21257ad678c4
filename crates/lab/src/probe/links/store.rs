//! Round trips over two lines, each written by one side and read by the other.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_machine::random::RandomGenerator;
use corewise_sys::clock::TickSource;
use corewise_sys::memory::PageMemory;

use super::meeting::{TalkMeeting, spin_until};
use super::samples::{CountedSide, SamplePlan, TalkSide};
use super::{MemoryHome, TalkContext, TalkKind, allocate_memory, lines};

/// Round trips of one sample: some 10 us.
const ROUND_TRIPS: u64 = 100;
/// Samples on each pair of lines.
const SAMPLES: usize = 5;
/// Pairs of lines that a visit uses.
const PAIRS: usize = 12;

/// Store measurement, with the lines of one visit: the first side's, then the second side's.
pub struct StoreTalk {
    lines: [usize; 2 * PAIRS],
}

impl StoreTalk {
    /// Chooses lines at random.
    pub fn new(random: &mut RandomGenerator) -> Self {
        Self { lines: lines::choose_lines(random) }
    }

    /// Returns the first side's lines, then the second side's.
    fn lines<'a>(&self, place: &'a PageMemory) -> [[&'a AtomicU64; PAIRS]; 2] {
        [0, PAIRS].map(|from| std::array::from_fn(|pair| place.line(self.lines[from + pair])))
    }
}

impl TalkKind for StoreTalk {
    type Place = PageMemory;

    fn sample_plan(&self) -> SamplePlan {
        SamplePlan { groups: PAIRS, ..SamplePlan::new(SAMPLES, (2 * ROUND_TRIPS) as f64) }
    }

    fn allocate_place(&self, home: MemoryHome) -> io::Result<PageMemory> {
        allocate_memory(1, home)
    }

    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        let [asked, answered] = self.lines(at.place);
        Some(CountedSide::new(1, ROUND_TRIPS, move |pair, trips| {
            ask_numbers(asked[pair], answered[pair], 1 + trips.start, 1 + trips.end, at.meeting)
        }))
    }

    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        let [asked, answered] = self.lines(at.place);
        Some(CountedSide::new(1, ROUND_TRIPS, move |pair, trips| {
            answer_numbers(asked[pair], answered[pair], 1 + trips.start, 1 + trips.end, at.meeting)
        }))
    }
}

/// Writes each number of a range and waits until it is answered; false if the visit is over.
fn ask_numbers(asked: &AtomicU64, answered: &AtomicU64, from: u64, until: u64, meeting: &TalkMeeting) -> bool {
    let mut number = from;
    while number != until {
        asked.store(number, Ordering::Release);
        if !spin_until(meeting, || answered.load(Ordering::Acquire) == number) {
            return false;
        }
        number += 1;
    }
    true
}

/// Waits for each number of a range and answers it; false if the visit is over.
fn answer_numbers(asked: &AtomicU64, answered: &AtomicU64, from: u64, until: u64, meeting: &TalkMeeting) -> bool {
    let mut number = from;
    while number != until {
        if !spin_until(meeting, || asked.load(Ordering::Acquire) == number) {
            return false;
        }
        answered.store(number, Ordering::Release);
        number += 1;
    }
    true
}
