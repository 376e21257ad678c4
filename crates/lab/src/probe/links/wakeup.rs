//! Wake-ups of a sleeping thread by futex(2), in both directions.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use corewise_sys::atomic_wait;
use corewise_sys::clock::Ticks;
use corewise_sys::memory::Memory;

use super::meeting::Meeting;
use super::samples::{Plan, Side};
use super::{Home, Kind, memory};

const SAMPLES: usize = 49;
/// Time that the first side gives the second to fall asleep before each sample.
const FALLING_ASLEEP: Duration = Duration::from_micros(30);
/// Duration of one sleep before a check whether the visit is over.
const LOOK: Duration = Duration::from_millis(20);

/// Wake-up measurement.
pub struct Wakeup;

impl Kind for Wakeup {
    type Place = Memory<AtomicU32>;

    fn plan(&self) -> Plan {
        Plan { sleeps: true, ..Plan::new(SAMPLES, 2.0) }
    }

    fn allocate(&self, home: Home) -> io::Result<Self::Place> {
        memory(1, home)
    }

    fn first_side<'a, T: Ticks>(&'a self, place: &'a Self::Place, _: T, meeting: &'a Meeting<'a>) -> Option<impl Side> {
        Some(Calling { word: place.line(0), next: 1, meeting })
    }

    fn second_side<'a, T: Ticks>(
        &'a self,
        place: &'a Self::Place,
        _: T,
        meeting: &'a Meeting<'a>,
    ) -> Option<impl Side> {
        Some(Answering { word: place.line(0), next: 1, meeting })
    }
}

/// The first side: writes odd numbers.
struct Calling<'a> {
    word: &'a AtomicU32,
    next: u32,
    meeting: &'a Meeting<'a>,
}

impl Side for Calling<'_> {
    /// Spins, so that its own core does not sleep before each sample.
    fn lead(&mut self) -> bool {
        let until = Instant::now() + FALLING_ASLEEP;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        !self.meeting.is_over()
    }

    fn talk(&mut self) -> bool {
        let number = self.next;
        self.next += 2;
        call(self.word, number);
        sleep(self.word, number, self.meeting)
    }
}

/// The second side: answers with even numbers.
struct Answering<'a> {
    word: &'a AtomicU32,
    next: u32,
    meeting: &'a Meeting<'a>,
}

impl Side for Answering<'_> {
    fn lead(&mut self) -> bool {
        true
    }

    fn talk(&mut self) -> bool {
        let number = self.next;
        self.next += 2;
        if !sleep(self.word, number - 1, self.meeting) {
            return false;
        }
        call(self.word, number + 1);
        true
    }
}

/// Writes a number and wakes the sleeping side.
fn call(word: &AtomicU32, number: u32) {
    word.store(number, Ordering::Release);
    atomic_wait::wake(word);
}

/// Sleeps while the word is `number`; false if the visit is over.
fn sleep(word: &AtomicU32, number: u32, meeting: &Meeting) -> bool {
    while word.load(Ordering::Acquire) == number {
        if let Err(error) = atomic_wait::wait(word, number, LOOK) {
            meeting.fail(error);
        }
        if word.load(Ordering::Acquire) == number && meeting.is_over() {
            return false;
        }
    }
    true
}
