//! Progress on standard error: a bar on a terminal, otherwise a line now and then.

use std::cell::Cell;
use std::time::{Duration, Instant};

use corewise_lab::session::StepProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::print_message;
use crate::draw::printable::make_printable;

/// Steps of a bar; more than a terminal has columns for it.
const STEPS: u64 = 1000;
/// Shortest and longest pause between lines if no bar is drawn; short commands print none.
const SHORTEST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Progress display. It is updated only by the measuring itself: a thread of its own could disturb.
pub enum ProgressDisplay {
    /// Drawn in place on a terminal.
    Drawn(ProgressBar),
    /// Printed line by line, for logs.
    Told(LinePauses),
}

/// Pauses between lines of progress in a log: each as long as all before, within limits.
pub struct LinePauses {
    begun: Instant,
    /// Time of the last line.
    last: Cell<Duration>,
}

impl ProgressDisplay {
    /// Returns a bar; it is drawn if standard error is a terminal.
    pub fn new(is_drawn: bool) -> Self {
        if !is_drawn {
            return Self::Told(LinePauses::new());
        }
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(4));
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {prefix:>8}  {wide_msg}") {
            bar.set_style(style.progress_chars("█▌ "));
        }
        Self::Drawn(bar)
    }

    /// Shows the progress.
    pub fn show_progress(&self, progress: &StepProgress) {
        match self {
            Self::Drawn(bar) => {
                bar.set_prefix(format_left(progress.left));
                bar.set_message(make_printable(&progress.step));
                bar.set_position((progress.done * STEPS as f64) as u64);
            }
            Self::Told(pauses) => {
                if pauses.is_due() {
                    let StepProgress { done, left, step } = progress;
                    print_message(&format!("{:.0} % done, {} left: {step}", done * 100.0, format_left(*left)));
                }
            }
        }
    }

    /// Removes the bar from the screen.
    pub fn clear_display(&self) {
        if let Self::Drawn(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl LinePauses {
    /// Begins the first pause.
    pub fn new() -> Self {
        Self { begun: Instant::now(), last: Cell::default() }
    }

    /// Returns true if a pause has ended, and begins the next one.
    pub fn is_due(&self) -> bool {
        self.is_due_at(self.begun.elapsed())
    }

    fn is_due_at(&self, elapsed: Duration) -> bool {
        let last = self.last.get();
        let is_due = elapsed >= last + last.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        if is_due {
            self.last.set(elapsed);
        }
        is_due
    }
}

/// Formats the remaining time: "25 s", "2:05".
fn format_left(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().ceil() as u64;
    if seconds < 100 { format!("{seconds} s") } else { format!("{}:{:02}", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_rounded_up() {
        assert_eq!([format_left(Duration::from_millis(4100)), format_left(Duration::from_secs(125))], ["5 s", "2:05"]);
    }

    #[test]
    fn a_log_gets_fewer_lines_as_time_goes_on_and_none_of_a_short_command() {
        let ProgressDisplay::Told(pauses) = ProgressDisplay::new(false) else { panic!("a bar where nobody sees it") };
        let due: Vec<u64> = (1..=200).filter(|second| pauses.is_due_at(Duration::from_secs(*second))).collect();
        assert_eq!(due, [10, 20, 40, 80, 140, 200]);
    }
}
