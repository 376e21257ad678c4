//! Limits expensive work to a fixed share of the time.

use std::time::{Duration, Instant};

/// Length of a pause, as a multiple of the time that the work took.
const SHARE: u32 = 400;

/// Time at which work is due next; at once if there is none yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatchPace {
    next: Option<Instant>,
}

impl WatchPace {
    /// Returns the current time if work is due; otherwise `None`.
    pub fn begin_if_due(&self) -> Option<Instant> {
        let now = Instant::now();
        self.next.is_none_or(|next| next <= now).then_some(now)
    }

    /// Ends work begun at `begun`, and schedules the next in proportion to its duration.
    pub fn end_turn(&mut self, begun: Instant) {
        self.next = Some(begun + pause_after(begun.elapsed()));
    }
}

fn pause_after(took: Duration) -> Duration {
    took * SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_seldom() {
        let mut pace = WatchPace::default();
        let begun = pace.begin_if_due().unwrap();
        pace.end_turn(begun - Duration::from_secs(1));
        assert!(pace.begin_if_due().is_none(), "due in some 400 s");
        assert_eq!(pause_after(Duration::from_millis(5)), Duration::from_secs(2));
    }
}
