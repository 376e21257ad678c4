//! Progress on standard error: a bar on a terminal, otherwise a line now and then.

use std::cell::Cell;
use std::time::{Duration, Instant};

use corewise_lab::session::StepProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::print_message;
use crate::draw::printable::make_printable;

/// Steps of a bar; more than a terminal has columns for it.
const STEPS: u64 = 1000;
/// Minimum time between lines if no bar is drawn; short commands print none.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Progress display. It is updated only by the measuring itself: a thread of its own could disturb.
pub enum ProgressDisplay {
    /// Drawn in place on a terminal.
    Drawn(ProgressBar),
    /// Printed line by line, for logs.
    Told(ProgressLines),
}

/// Time of the last printed line.
pub struct ProgressLines {
    begun: Instant,
    last: Cell<Duration>,
}

impl ProgressDisplay {
    /// Returns a bar; it is drawn if standard error is a terminal.
    pub fn new(is_drawn: bool) -> Self {
        if !is_drawn {
            return Self::Told(ProgressLines { begun: Instant::now(), last: Cell::default() });
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
            Self::Told(lines) => {
                if let Some(line) = lines.due_line(lines.begun.elapsed(), progress) {
                    print_message(&line);
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

impl ProgressLines {
    /// Returns the line if one is due `elapsed` after the beginning.
    fn due_line(&self, elapsed: Duration, progress: &StepProgress) -> Option<String> {
        if elapsed < self.last.get() + BETWEEN_LINES {
            return None;
        }
        self.last.set(elapsed);
        let StepProgress { done, left: time, step } = progress;
        Some(format!("{:.0} % done, {} left: {step}", done * 100.0, format_left(*time)))
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
    fn a_log_gets_a_line_now_and_then_and_none_of_a_short_command() {
        let ProgressDisplay::Told(lines) = ProgressDisplay::new(false) else { panic!("a bar where nobody sees it") };
        let mut told = Vec::new();
        for second in 1..=30 {
            let left = Duration::from_secs(30 - second);
            let progress = StepProgress { done: second as f64 / 30.0, left, step: format!("cpu {}", second % 2) };
            told.extend(lines.due_line(Duration::from_secs(second), &progress));
        }
        assert_eq!(told, ["33 % done, 20 s left: cpu 0", "67 % done, 10 s left: cpu 0", "100 % done, 0 s left: cpu 0"]);
    }
}
