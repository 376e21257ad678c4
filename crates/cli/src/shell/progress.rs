//! Progress on standard error: a bar, what is being measured, and the time left.

use std::time::Duration;

use corewise_lab::session::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::draw::printable::printable;

/// A bar has this many steps; more than any terminal has columns for it.
const STEPS: u64 = 1000;

/// A progress bar. It is drawn only when the measuring calls it, never by a thread of its own that could disturb.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar that is drawn where standard error is a terminal.
    pub fn new(is_shown: bool) -> Self {
        let target = if is_shown { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {prefix:>8}  {wide_msg}") {
            bar.set_style(style.progress_chars("█▌ "));
        }
        Self(bar)
    }

    /// Shows how far the survey has come.
    pub fn show(&self, progress: &Progress) {
        self.0.set_prefix(left(progress.left));
        self.0.set_message(printable(&progress.step));
        self.0.set_position((progress.done * STEPS as f64) as u64);
    }

    /// Takes the bar off the screen.
    pub fn clear(self) {
        self.0.finish_and_clear();
    }
}

/// "25 s left", "2:05 left".
fn left(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().ceil() as u64;
    if seconds < 100 { format!("{seconds} s") } else { format!("{}:{:02}", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_rounded_up() {
        assert_eq!([left(Duration::from_millis(4100)), left(Duration::from_secs(125))], ["5 s", "2:05"]);
    }
}
