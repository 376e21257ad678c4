//! State shared by the two threads of any visit: its end, and its failure if any.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Usual time limit of a visit, whatever happens to the partner.
pub const LIMIT: Duration = Duration::from_millis(250);
/// Spins between two looks at the time; some 20 us if each is a failed exchange.
const SPINS_PER_LOOK: u32 = 1024;

/// Failure of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeetingTrouble {
    /// Description.
    pub why: String,
    /// True if another try may succeed: another task used a cpu, and may be gone by then.
    pub passes: bool,
}

impl From<String> for MeetingTrouble {
    /// Creates a permanent failure.
    fn from(why: String) -> Self {
        Self { why, passes: false }
    }
}

/// A visit, with its end.
pub struct TalkMeeting<'a> {
    trouble: Mutex<Option<MeetingTrouble>>,
    ended: AtomicBool,
    second_is_here: AtomicBool,
    stop: &'a AtomicBool,
    deadline: Instant,
}

impl<'a> TalkMeeting<'a> {
    /// Begins a visit now.
    pub fn new(stop: &'a AtomicBool, limit: Duration) -> Self {
        Self {
            trouble: Mutex::new(None),
            ended: AtomicBool::new(false),
            second_is_here: AtomicBool::new(false),
            stop,
            deadline: Instant::now() + limit,
        }
    }

    /// Ends the visit because of an error; the first one is reported.
    pub fn fail_visit(&self, error: impl ToString) {
        self.end_visit(error.to_string().into());
    }

    /// Ends the visit because one of its threads did not get its cpu.
    pub fn starve_visit(&self, why: String) {
        self.end_visit(MeetingTrouble { why, passes: true });
    }

    fn end_visit(&self, trouble: MeetingTrouble) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(trouble);
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Returns the failure as an error, if any.
    pub fn check_trouble(&self) -> Result<(), MeetingTrouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Returns true if it failed, was stopped, or takes too long. The deadline is by the operating system's clock: counters of different
    /// cpus need not agree.
    #[cold]
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) || Instant::now() > self.deadline
    }

    /// Returns the deadline.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Waits on the second side for the place, and then announces itself; `None` if the visit is over.
    pub fn await_place<'p, P>(&self, place: &'p OnceLock<P>) -> Option<&'p P> {
        spin_until(self, || place.get().is_some());
        self.second_is_here.store(true, Ordering::Release);
        place.get()
    }

    /// Waits on the first side for the second; false if the visit is over.
    pub fn await_second(&self) -> bool {
        spin_until(self, || self.second_is_here.load(Ordering::Acquire))
    }

    /// Returns the check that a spin makes after each try; it returns true to give up.
    pub fn spin_patience(&self) -> impl FnMut() -> bool {
        let mut spins = 0_u32;
        move || {
            spins = spins.wrapping_add(1);
            spins.is_multiple_of(SPINS_PER_LOOK) && self.is_over()
        }
    }
}

/// Tries until `is_done`, without a pause; false if the visit is over.
#[inline(always)]
pub fn spin_until(meeting: &TalkMeeting, mut is_done: impl FnMut() -> bool) -> bool {
    let mut is_given_up = meeting.spin_patience();
    while !is_done() {
        if is_given_up() {
            return false;
        }
    }
    true
}
