//! Ctrl-C: the first ends the measuring and prints what was measured, the second ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corewise_machine::suggested_command;
use corewise_sys::signals;

use super::failure::{CommandExit, CommandFailure};
use super::output::print_message;
use crate::draw::suggestion;

/// Time in which several signals are one interruption: one to the whole process group comes once more from a parent that passes it on.
const ONE_INTERRUPTION: Duration = Duration::from_millis(300);

/// Watcher for SIGINT, SIGTERM and SIGHUP during measuring.
#[derive(Clone, Debug)]
pub struct InterruptionWatch {
    stop: Arc<AtomicBool>,
}

/// Exits without clean-up; the processes of a trial end with this one.
fn exit_at_once() -> ! {
    let undo = suggestion::format_mention(&suggested_command::undo());
    print_message(&format!("ended at once; {undo} reverts changes to the machine, if there were any"));
    std::process::exit(CommandExit::Interrupted as i32);
}

impl InterruptionWatch {
    /// Begins to watch. Before this, and in commands that do not measure, signals have their default effect.
    pub fn watch_signals() -> Result<Self, CommandFailure> {
        let watch = Self { stop: Arc::new(AtomicBool::new(false)) };
        let seen = watch.clone();
        // A first signal after the measuring changes nothing: the complete result is stored and printed.
        let mut first = None;
        let handler = move || {
            let first = *first.get_or_insert_with(Instant::now);
            if seen.stop.swap(true, Ordering::SeqCst) && first.elapsed() >= ONE_INTERRUPTION {
                exit_at_once();
            }
        };
        // Respects nohup(1): closing the terminal does not end the program.
        let outlives_terminal = signals::outlives_terminal();
        ctrlc::set_handler(handler).map_err(|error| explain_not_watched(&error))?;
        if outlives_terminal {
            signals::outlive_terminal();
        }
        Ok(watch)
    }

    /// Flag that the first signal sets.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Returns true if there was a signal.
    pub fn was_seen(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Failure of watching for signals. It needs a thread; if none can be started, measuring would fail as well.
fn explain_not_watched(error: &ctrlc::Error) -> CommandFailure {
    match error {
        ctrlc::Error::System(error) if error.kind() == io::ErrorKind::WouldBlock => {
            CommandFailure::unavailable_error(format!("cannot start a thread: {error}")).with_hint(
                "This user, or this control group, may have no more threads (ulimit -u, pids.max): end some programs, or raise the limit.",
            )
        }
        ctrlc::Error::System(error) => CommandFailure::new(CommandExit::Internal, format!("cannot watch for signals: {error}")),
        other => CommandFailure::new(CommandExit::Internal, other),
    }
}
