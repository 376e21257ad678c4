//! Who looks after the pairs while they play, so that none waits for ever.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::line::Ender;

/// How often is looked.
const LOOK: Duration = Duration::from_millis(20);

/// What a pair has done, in a cache line for itself.
#[repr(align(128))]
#[derive(Default)]
pub struct Progress(pub AtomicU64);

/// What is watched.
pub struct Watch<'a> {
    /// Of each pair: the round trips that it has made.
    pub progress: &'a [Progress],
    /// Of each pair: who ends its line.
    pub enders: &'a [Mutex<Ender>],
    /// Ends all.
    pub stop: &'a AtomicBool,
    /// How long no pair may make no round trip.
    pub patience: Duration,
}

impl Watch<'_> {
    /// Watches until the channel is closed; whether all went well. Otherwise the stop was set, or no pair at all went on, and every line
    /// was ended.
    pub fn until_closed(&self, done: &Receiver<()>) -> bool {
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
            ender.lock().unwrap_or_else(PoisonError::into_inner).end();
        }
    }
}
