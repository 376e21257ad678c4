//! Supervision of the pairs while they play, so that none waits for ever.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::line::LineEnder;

/// Interval between looks.
const LOOK: Duration = Duration::from_millis(20);

/// Round trips of a pair, in a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
pub struct PairProgress(pub AtomicU64);

/// State being watched.
pub struct PairWatch<'a> {
    /// Round trips of each pair.
    pub progress: &'a [PairProgress],
    /// Handles that end each pair's line.
    pub enders: &'a [Mutex<LineEnder>],
    /// Stop flag for all pairs.
    pub stop: &'a AtomicBool,
    /// Longest time without a round trip of any pair.
    pub patience: Duration,
}

impl PairWatch<'_> {
    /// Watches until the channel is closed; returns true if all went well. Otherwise the stop was set, or no pair made progress, and every
    /// line was ended.
    pub fn watch_until_closed(&self, done: &Receiver<()>) -> bool {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            match done.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Disconnected) => return true,
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            }
            let made = self.progress.iter().map(|progress| progress.0.load(Ordering::Relaxed)).sum::<u64>();
            if made != last {
                (last, since) = (made, Instant::now());
            }
            if self.stop.load(Ordering::Relaxed) || since.elapsed() > self.patience {
                self.end_all();
                return false;
            }
        }
    }

    /// Ends every line.
    pub fn end_all(&self) {
        for ender in self.enders {
            ender.lock().unwrap_or_else(PoisonError::into_inner).end_line();
        }
    }
}
