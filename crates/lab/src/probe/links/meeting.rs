//! What the two threads of a visit share whatever they do: when it is over, and what went wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A visit usually ends after this, whatever became of the partner.
pub const LIMIT: Duration = Duration::from_millis(250);
/// Spins between two looks at the time; some 20 us where each is a failed exchange.
const SPINS_PER_LOOK: u32 = 1024;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// In words.
    pub why: String,
    /// Whether another try may go well: somebody else used a cpu, who may be gone by then.
    pub passes: bool,
}

impl From<String> for Trouble {
    /// One that stays.
    fn from(why: String) -> Self {
        Self { why, passes: false }
    }
}

/// A visit's end.
pub struct Meeting<'a> {
    trouble: Mutex<Option<Trouble>>,
    ended: AtomicBool,
    second_is_here: AtomicBool,
    stop: &'a AtomicBool,
    deadline: Instant,
}

impl<'a> Meeting<'a> {
    /// A visit that begins now.
    pub fn new(stop: &'a AtomicBool, limit: Duration) -> Self {
        Self {
            trouble: Mutex::new(None),
            ended: AtomicBool::new(false),
            second_is_here: AtomicBool::new(false),
            stop,
            deadline: Instant::now() + limit,
        }
    }

    /// Ends the visit because of an error; the first one is told.
    pub fn fail(&self, error: impl ToString) {
        self.end(error.to_string().into());
    }

    /// Ends it because one of its threads did not get its cpu.
    pub fn starve(&self, why: String) {
        self.end(Trouble { why, passes: true });
    }

    fn end(&self, trouble: Trouble) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(trouble);
        self.ended.store(true, Ordering::Relaxed);
    }

    /// What went wrong.
    pub fn trouble(&self) -> Result<(), Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Whether it failed, was stopped, or takes too long. The deadline is the operating system's: counters of different cpus need not
    /// agree.
    #[cold]
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) || Instant::now() > self.deadline
    }

    /// When it takes too long.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The second waits for the place that the first makes, and is here then; absent when the visit is over.
    pub fn await_place<'p, P>(&self, place: &'p OnceLock<P>) -> Option<&'p P> {
        spin(self, || place.get().is_some());
        self.second_is_here.store(true, Ordering::Release);
        place.get()
    }

    /// The first waits for the second; false when the visit is over.
    pub fn await_second(&self) -> bool {
        spin(self, || self.second_is_here.load(Ordering::Acquire))
    }

    /// What a spin that can be given up asks after each try.
    pub fn patience(&self) -> impl FnMut() -> bool {
        let mut spins = 0_u32;
        move || {
            spins = spins.wrapping_add(1);
            spins.is_multiple_of(SPINS_PER_LOOK) && self.is_over()
        }
    }
}

/// Tries until it is done, without a pause; false when the visit is over.
#[inline(always)]
pub fn spin(meeting: &Meeting, mut is_done: impl FnMut() -> bool) -> bool {
    let mut is_given_up = meeting.patience();
    while !is_done() {
        if is_given_up() {
            return false;
        }
    }
    true
}
