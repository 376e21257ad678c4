//! Ctrl-C: the first ends the measuring and leaves a partial result, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Exit, Failure};

/// Watches for SIGINT, SIGTERM and SIGHUP while something is measured.
#[derive(Clone, Debug)]
pub struct Interruption {
    stop: Arc<AtomicBool>,
    measuring: Arc<AtomicBool>,
}

impl Interruption {
    /// Begins to watch. Before this, and in commands that measure nothing, signals do what they always do.
    pub fn watch() -> Result<Self, Failure> {
        let watch = Self { stop: Arc::new(AtomicBool::new(false)), measuring: Arc::new(AtomicBool::new(true)) };
        let seen = watch.clone();
        let handler = move || {
            let is_first = !seen.stop.swap(true, Ordering::SeqCst);
            if !(is_first && seen.measuring.load(Ordering::SeqCst)) {
                std::process::exit(Exit::Interrupted as i32);
            }
        };
        ctrlc::set_handler(handler).map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(watch)
    }

    /// Becomes true with the first signal.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Nothing is measured any more: from now on a signal ends the program at once.
    pub fn measured(&self) {
        self.measuring.store(false, Ordering::SeqCst);
    }
}
