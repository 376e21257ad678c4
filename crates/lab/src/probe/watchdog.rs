//! Watches, from another cpu, that a thread which runs before all others does not do so for longer than it was to.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use corewise_sys::{affinity, scheduling};

/// How much longer a visit may take than planned before it is ended.
const GRACE: Duration = Duration::from_millis(250);
/// How often it is looked whether there is a thread to watch already: what comes before that may take long on a busy machine, and is
/// in nobody's way.
const LOOK: Duration = Duration::from_millis(10);

/// One visit's watchdog.
#[derive(Debug)]
pub struct Watchdog {
    cpu: u32,
    planned: Duration,
    guarded: AtomicU32,
    is_dismissed: AtomicBool,
    stop: AtomicBool,
}

impl Watchdog {
    /// A watchdog on a cpu, for something that takes so long.
    pub const fn new(cpu: u32, planned: Duration) -> Self {
        Self {
            cpu,
            planned,
            guarded: AtomicU32::new(0),
            is_dismissed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }
    }

    /// Says which thread it is about; its time begins now.
    pub fn guard(&self, thread: u32) {
        self.guarded.store(thread, Ordering::SeqCst);
    }

    /// Whether the visit is to stop, since its time is over.
    pub const fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Watches until it is dismissed. When the time is over, the thread runs like all others again, and the visit is to stop.
    pub fn watch(&self) {
        // Elsewhere than the thread it watches, or else it would never run; where it cannot be, any cpu but that one will do.
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

    /// What was watched is over: whether its time was, before. What the thread does next is watched no more.
    pub fn end(&self) -> bool {
        self.is_dismissed.store(true, Ordering::SeqCst);
        self.stop.load(Ordering::SeqCst)
    }

    /// Ends the watch.
    pub fn dismiss(&self, watching: &Thread) {
        self.end();
        watching.unpark();
    }
}

#[cfg(test)]
mod tests {
    use corewise_sys::thread::own_number;

    use super::*;

    #[test]
    fn what_takes_too_long_is_stopped_and_what_ends_in_time_is_not() {
        let watchdog = Watchdog::new(0, Duration::from_secs(3600));
        std::thread::scope(|scope| {
            let guard = scope.spawn(|| watchdog.watch());
            watchdog.guard(own_number());
            watchdog.dismiss(guard.thread());
        });
        assert!(!watchdog.stop().load(Ordering::SeqCst));
        let watchdog = Watchdog::new(0, Duration::ZERO);
        watchdog.guard(own_number());
        watchdog.watch();
        assert!(watchdog.stop().load(Ordering::SeqCst));
    }

    #[test]
    fn nothing_is_stopped_before_there_is_a_thread_to_watch() {
        let watchdog = Watchdog::new(0, Duration::ZERO);
        std::thread::scope(|scope| {
            let guard = scope.spawn(|| watchdog.watch());
            std::thread::sleep(GRACE + 5 * LOOK);
            watchdog.dismiss(guard.thread());
        });
        assert!(!watchdog.stop().load(Ordering::SeqCst));
    }
}
