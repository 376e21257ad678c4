//! Ctrl-C: the first ends the measuring and lets what was measured be printed, the second ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use corewise_machine::suggested_command;
use corewise_sys::signals;

use super::failure::{Exit, Failure};
use super::output::say;
use crate::draw::suggestion;

/// Watches for SIGINT, SIGTERM and SIGHUP while something is measured.
#[derive(Clone, Debug)]
pub struct Interruption {
    stop: Arc<AtomicBool>,
}

/// Nothing is cleared up; the processes that were started for a trial end with this one.
fn ended_at_once() -> ! {
    let undo = suggestion::mention(&suggested_command::undo());
    say(&format!("ended at once; {undo} reverts changes to the machine, if there were any"));
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
        ctrlc::set_handler(handler).map_err(|error| not_watched(&error))?;
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

/// A thread waits for signals; where there can be none, there will be none to measure with either.
fn not_watched(error: &ctrlc::Error) -> Failure {
    match error {
        ctrlc::Error::System(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Failure::unavailable(format!("cannot start a thread: {error}")).next(
                "This user, or this control group, may have no more threads (ulimit -u, pids.max): end some programs, or raise the limit.",
            )
        }
        ctrlc::Error::System(error) => Failure::new(Exit::Internal, format!("cannot watch for signals: {error}")),
        other => Failure::new(Exit::Internal, other),
    }
}
