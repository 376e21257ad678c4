//! Watchdog on another cpu, which limits how long a thread runs before all others.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use corewise_sys::{affinity, scheduling};

/// Time that a visit may take beyond its plan before it is ended.
const GRACE: Duration = Duration::from_millis(250);
/// Interval of looks for a thread to guard. The steps before that may take long on a busy machine, and disturb no other task.
const LOOK: Duration = Duration::from_millis(10);

/// Watchdog of one visit.
#[derive(Debug)]
pub struct VisitWatchdog {
    cpu: u32,
    planned: Duration,
    guarded: AtomicU32,
    is_dismissed: AtomicBool,
    stop: AtomicBool,
}

impl VisitWatchdog {
    /// Creates a watchdog that runs on `cpu`, for a visit of `planned` duration.
    pub const fn new(cpu: u32, planned: Duration) -> Self {
        Self {
            cpu,
            planned,
            guarded: AtomicU32::new(0),
            is_dismissed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }
    }

    /// Sets the guarded thread; its time begins now.
    pub fn guard_thread(&self, thread: u32) {
        self.guarded.store(thread, Ordering::SeqCst);
    }

    /// Returns the flag that stops the visit when its time is over.
    pub const fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Watches until it is dismissed. If the time is over, the thread returns to normal scheduling, and the visit is to stop.
    pub fn watch_thread(&self) {
        // On another cpu than the guarded thread, or it would never run. If that fails, any other cpu will do.
        let _ = affinity::pin_current(self.cpu);
        let mut until = None;
        while !self.is_dismissed.load(Ordering::SeqCst) {
            let thread = self.guarded.load(Ordering::SeqCst);
            if thread == 0 {
                std::thread::park_timeout(LOOK);
                continue;
            }
            let left = until
                .get_or_insert_with(|| Instant::now() + self.planned + GRACE)
                .saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.stop.store(true, Ordering::SeqCst);
                let _ = scheduling::run_as_others(thread);
                return;
            }
            std::thread::park_timeout(left);
        }
    }

    /// Ends the guarded section; returns true if its time was over before. The thread is not watched afterwards.
    pub fn end_visit(&self) -> bool {
        self.is_dismissed.store(true, Ordering::SeqCst);
        self.stop.load(Ordering::SeqCst)
    }

    /// Ends the watch.
    pub fn dismiss_thread(&self, watching: &Thread) {
        self.end_visit();
        watching.unpark();
    }
}

#[cfg(test)]
mod tests {
    use corewise_sys::thread::own_number;

    use super::*;

    #[test]
    fn what_takes_too_long_is_stopped_and_what_ends_in_time_is_not() {
        let watchdog = VisitWatchdog::new(0, Duration::from_secs(3600));
        std::thread::scope(|scope| {
            let guard = scope.spawn(|| watchdog.watch_thread());
            watchdog.guard_thread(own_number());
            watchdog.dismiss_thread(guard.thread());
        });
        assert!(!watchdog.stop().load(Ordering::SeqCst));
        let watchdog = VisitWatchdog::new(0, Duration::ZERO);
        watchdog.guard_thread(own_number());
        watchdog.watch_thread();
        assert!(watchdog.stop().load(Ordering::SeqCst));
    }

    #[test]
    fn nothing_is_stopped_before_there_is_a_thread_to_watch() {
        let watchdog = VisitWatchdog::new(0, Duration::ZERO);
        std::thread::scope(|scope| {
            let guard = scope.spawn(|| watchdog.watch_thread());
            std::thread::sleep(GRACE + 5 * LOOK);
            watchdog.dismiss_thread(guard.thread());
        });
        assert!(!watchdog.stop().load(Ordering::SeqCst));
    }
}
