//! Ctrl-C: the first ends the measuring and lets what was measured be printed, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use corewise_sys::signals;

use super::failure::{Exit, Failure};
use super::output::say;

/// Watches for SIGINT, SIGTERM and SIGHUP while something is measured.
#[derive(Clone, Debug)]
pub struct Interruption {
    stop: Arc<AtomicBool>,
}

/// Nothing is cleared up but the processes that were started: they would go on without anybody to measure them.
fn ended_at_once() -> ! {
    signals::kill_descendants();
    say(&"ended at once; `corewise undo` reverts changes to the machine, if there were any");
    std::process::exit(Exit::Interrupted as i32);
}

impl Interruption {
    /// Begins to watch. Before this, and in commands that measure nothing, signals do what they always do.
    pub fn watch() -> Result<Self, Failure> {
        let watch = Self { stop: Arc::new(AtomicBool::new(false)) };
        let seen = watch.clone();
        // A first signal that comes when all is measured changes nothing: a complete result is stored and printed.
        let handler = move || {
            if seen.stop.swap(true, Ordering::SeqCst) {
                ended_at_once();
            }
        };
        // nohup(1) means it: a terminal that is closed does not end what was started with it.
        let outlives_terminal = signals::outlives_terminal();
        ctrlc::set_handler(handler).map_err(|error| Failure::new(Exit::Internal, error))?;
        if outlives_terminal {
            signals::outlive_terminal();
        }
        Ok(watch)
    }

    /// Becomes true with the first signal.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Whether there was a signal.
    pub fn was_seen(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}
