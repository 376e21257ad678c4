//! Wake-ups of a sleeping thread by futex(2), in both directions.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use corewise_sys::atomic_wait;
use corewise_sys::clock::TickSource;
use corewise_sys::memory::PageMemory;

use super::meeting::TalkMeeting;
use super::samples::{SamplePlan, TalkSide};
use super::{MemoryHome, TalkContext, TalkKind, allocate_memory};

const SAMPLES: usize = 49;
/// Time that the first side gives the second to fall asleep before each sample.
const FALLING_ASLEEP: Duration = Duration::from_micros(30);
/// Duration of one sleep before a check whether the visit is over.
const LOOK: Duration = Duration::from_millis(20);

/// Wake-up measurement.
pub struct WakeupTalk;

impl TalkKind for WakeupTalk {
    type Place = PageMemory<AtomicU32>;

    fn sample_plan(&self) -> SamplePlan {
        SamplePlan { sleeps: true, ..SamplePlan::new(SAMPLES, 2.0) }
    }

    fn allocate_place(&self, home: MemoryHome) -> io::Result<Self::Place> {
        allocate_memory(1, home)
    }

    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(WakeupCaller { word: at.place.line(0), next: 1, meeting: at.meeting })
    }

    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide> {
        Some(WakeupAnswerer { word: at.place.line(0), next: 1, meeting: at.meeting })
    }
}

/// The first side: writes odd numbers.
struct WakeupCaller<'a> {
    word: &'a AtomicU32,
    next: u32,
    meeting: &'a TalkMeeting<'a>,
}

impl TalkSide for WakeupCaller<'_> {
    /// Spins, so that its own core does not sleep before each sample.
    fn lead_in(&mut self) -> bool {
        let until = Instant::now() + FALLING_ASLEEP;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        !self.meeting.is_over()
    }

    fn talk_once(&mut self) -> bool {
        let number = self.next;
        self.next += 2;
        wake_with(self.word, number);
        sleep_while(self.word, number, self.meeting)
    }
}

/// The second side: answers with even numbers.
struct WakeupAnswerer<'a> {
    word: &'a AtomicU32,
    next: u32,
    meeting: &'a TalkMeeting<'a>,
}

impl TalkSide for WakeupAnswerer<'_> {
    fn lead_in(&mut self) -> bool {
        true
    }

    fn talk_once(&mut self) -> bool {
        let number = self.next;
        self.next += 2;
        if !sleep_while(self.word, number - 1, self.meeting) {
            return false;
        }
        wake_with(self.word, number + 1);
        true
    }
}

/// Writes a number and wakes the sleeping side.
fn wake_with(word: &AtomicU32, number: u32) {
    word.store(number, Ordering::Release);
    atomic_wait::wake_one(word);
}

/// Sleeps while the word is `number`; false if the visit is over.
fn sleep_while(word: &AtomicU32, number: u32, meeting: &TalkMeeting) -> bool {
    while word.load(Ordering::Acquire) == number {
        if let Err(error) = atomic_wait::wait_on_word(word, number, LOOK) {
            meeting.fail_visit(error);
        }
        if word.load(Ordering::Acquire) == number && meeting.is_over() {
            return false;
        }
    }
    true
}
