//! Interval between looks: short if something changes, long if nothing does.

use std::time::Duration;

/// Interval after a look that found something new.
pub const SHORTEST: Duration = Duration::from_millis(1);
/// Interval after a long time without news.
pub const LONGEST: Duration = Duration::from_millis(50);
/// Smallest ratio of the interval to the cost of a look, which limits looks to a tenth of one cpu.
const SHARE: u32 = 10;

/// Interval between looks.
#[derive(Clone, Copy, Debug)]
pub struct HoldPace {
    pause: Duration,
}

impl Default for HoldPace {
    fn default() -> Self {
        Self { pause: SHORTEST }
    }
}

impl HoldPace {
    /// Returns the time to wait after a look of `cost`: [`SHORTEST`] after something new, then twice the last pause up to [`LONGEST`]. It
    /// is never less than ten times the cost.
    pub fn pause_after(&mut self, is_new: bool, cost: Duration) -> Duration {
        self.pause = if is_new { SHORTEST } else { (self.pause * 2).min(LONGEST) };
        self.pause.max(cost * SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_times_are_looked_at_seldom() {
        let mut pace = HoldPace::default();
        let quiet: Vec<u128> = (0..8).map(|_| pace.pause_after(false, Duration::ZERO).as_millis()).collect();
        assert_eq!(quiet, [2, 4, 8, 16, 32, 50, 50, 50]);
        assert_eq!(pace.pause_after(true, Duration::ZERO), SHORTEST);
        assert_eq!(pace.pause_after(false, Duration::ZERO), SHORTEST * 2);
    }

    #[test]
    fn looking_never_takes_more_than_a_tenth_of_a_cpu() {
        let mut pace = HoldPace::default();
        assert_eq!(pace.pause_after(true, Duration::from_millis(3)), Duration::from_millis(30));
        assert_eq!(pace.pause_after(false, Duration::from_millis(40)), Duration::from_millis(400));
        assert_eq!(pace.pause_after(false, Duration::ZERO), SHORTEST * 4, "a slow look is not held against later ones");
    }
}
