//! How often something that takes long is done: so that it takes no more than a fixed share of the time.

use std::time::{Duration, Instant};

/// It takes no more than one part in so many of a cpu's time.
const SHARE: u32 = 400;

/// When something is due.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatchPace {
    next: Option<Instant>,
}

impl WatchPace {
    /// When it begins, if it is due.
    pub fn begin_if_due(&self) -> Option<Instant> {
        let now = Instant::now();
        self.next.is_none_or(|next| next <= now).then_some(now)
    }

    /// It has been done since then: the next time is as far away as it took long.
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
