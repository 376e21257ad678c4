//! Threads that work on the same image and meet between passes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::WorkError;

/// Spins of a waiting thread before it sleeps: some tens of microseconds, about the cost of a wake-up.
const SPINS: usize = 1 << 12;

/// Meeting point of threads.
pub struct ThreadTeam<'a> {
    threads: usize,
    stop: &'a AtomicBool,
    /// True if a thread will not come any more.
    broken: AtomicBool,
    here: AtomicUsize,
    /// Number of complete meetings.
    meetings: AtomicUsize,
    sleepers: Mutex<()>,
    woken: Condvar,
}

impl<'a> ThreadTeam<'a> {
    /// Creates a team.
    pub const fn new(threads: usize, stop: &'a AtomicBool) -> Self {
        Self {
            threads,
            stop,
            broken: AtomicBool::new(false),
            here: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            sleepers: Mutex::new(()),
            woken: Condvar::new(),
        }
    }

    /// Returns the number of threads.
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Records that a thread will not come any more; from now on no thread waits.
    pub fn break_team(&self) {
        self.broken.store(true, Ordering::Release);
        self.wake_sleepers();
    }

    fn wake_sleepers(&self) {
        // A thread about to sleep holds the lock from its last look until it sleeps.
        drop(self.sleepers.lock().unwrap_or_else(PoisonError::into_inner));
        self.woken.notify_all();
    }

    /// Returns an error if the workload is to end.
    ///
    /// # Errors
    /// [`WorkError::Stopped`].
    #[inline]
    pub fn check_stop(&self) -> Result<(), WorkError> {
        if self.stop.load(Ordering::Relaxed) { Err(WorkError::Stopped) } else { Ok(()) }
    }

    /// Waits until all have come. All threads see behind it what any thread wrote before it.
    ///
    /// # Errors
    /// [`WorkError::Stopped`] if it is to end, or if a thread will not come.
    pub fn meet_all(&self) -> Result<(), WorkError> {
        self.check_stop()?;
        let meetings = self.meetings.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.here.store(0, Ordering::Relaxed);
            self.meetings.store(meetings + 1, Ordering::Release);
            self.wake_sleepers();
            return Ok(());
        }
        let waits = || self.meetings.load(Ordering::Acquire) == meetings && !self.broken.load(Ordering::Acquire);
        for _ in 0..SPINS {
            if !waits() {
                break;
            }
            std::hint::spin_loop();
        }
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        while waits() {
            sleepers = self.woken.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        if self.meetings.load(Ordering::Acquire) == meetings { Err(WorkError::Stopped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_all_have_come() {
        let stop = AtomicBool::new(false);
        let (team, count) = (ThreadTeam::new(3, &stop), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=300 {
                        count.fetch_add(1, Ordering::Relaxed);
                        team.meet_all().unwrap();
                        assert_eq!(count.load(Ordering::Relaxed), 3 * round);
                        team.meet_all().unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn those_who_wait_for_somebody_who_will_not_come_are_let_go() {
        let stop = AtomicBool::new(false);
        let team = ThreadTeam::new(3, &stop);
        std::thread::scope(|scope| {
            let waiting = [(); 2].map(|()| scope.spawn(|| team.meet_all()));
            std::thread::sleep(std::time::Duration::from_millis(5));
            team.break_team();
            assert!(waiting.into_iter().all(|thread| matches!(thread.join().unwrap(), Err(WorkError::Stopped))));
        });
    }
}
