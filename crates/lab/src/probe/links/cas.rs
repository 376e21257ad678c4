//! Round trips by compare-and-swap on one line.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use corewise_machine::random::RandomGenerator;
use corewise_sys::clock::TickSource;
use corewise_sys::memory::PageMemory;

use super::meeting::{TalkMeeting, spin_until};
use super::samples::{CountedSide, SamplePlan, TalkSide};
use super::{MemoryHome, TalkContext, TalkKind, allocate_memory, lines};

/// Round trips of one sample: about 10 us, short against a time slice, so that few samples are interrupted.
const ROUND_TRIPS: u64 = 100;
/// Round trips before each sample. The first side's second swap waits for the answer to its first one, so that a sample lasts from swap to
/// swap.
const LEAD: u64 = 2;
/// Samples on each line.
const SAMPLES: usize = 5;
/// Lines of the page that a visit uses. Some lines are more expensive than others (their home is elsewhere).
const LINES: usize = 12;

/// Compare-and-swap measurement, with the lines of one visit.
pub struct CasTalk {
    lines: [usize; LINES],
}

impl CasTalk {
    /// Chooses lines at random.
    pub fn new(random: &mut RandomGenerator) -> Self {
        Self { lines: lines::choose_lines(random) }
    }

    /// Returns one side. It swaps every second number: the even ones on the first side, the odd ones on the second.
    fn side<'a>(&self, place: &'a PageMemory, begins_at: u64, meeting: &'a TalkMeeting<'a>) -> impl TalkSide + use<'a> {
        let lines = self.lines.map(|line| place.line(line));
        CountedSide::new(LEAD, ROUND_TRIPS, move |line, trips| {
            exchange_numbers(lines[line], begins_at + 2 * trips.start, begins_at + 2 * trips.end, meeting)
        })
    }
}

impl TalkKind for CasTalk {
    type Place = PageMemory;

    fn sample_plan(&self) -> SamplePlan {
        SamplePlan { groups: LINES, ..SamplePlan::new(SAMPLES, (2 * ROUND_TRIPS) as f64) }
    }

    fn allocate_place(&self, home: MemoryHome) -> io::Result<PageMemory> {
        allocate_memory(1, home)
    }

    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(self.side(at.place, 0, at.meeting))
    }

    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(self.side(at.place, 1, at.meeting))
    }
}

/// Waits for the line to hold each second number of a range and replaces it by the next. It uses bare compare-and-swap, without a load
/// before it and without a pause, as other tools do. Returns false if the visit is over.
fn exchange_numbers(line: &AtomicU64, from: u64, until: u64, meeting: &TalkMeeting) -> bool {
    let mut expected = from;
    while expected != until {
        let swap = || line.compare_exchange(expected, expected + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !spin_until(meeting, swap) {
            return false;
        }
        expected += 2;
    }
    true
}
