//! Schedule of the looks at all processes: after events were lost, and when there is more room for the processes that wait.

use std::time::Duration;

/// Length of the pause after a sweep, in multiples of the sweep's own processor time: sweeps take at most a fifth of a cpu.
const PAUSE_PER_SWEEP: u32 = 4;

/// Pending sweep and the earliest time at which it may begin; times count from the start of the loop.
#[derive(Debug, Default)]
pub struct SweepSchedule {
    is_wanted: bool,
    not_before: Duration,
}

impl SweepSchedule {
    /// Requests a sweep as soon as one may begin.
    pub fn request_sweep(&mut self) {
        self.is_wanted = true;
    }

    /// Returns true if a sweep is to begin now.
    pub fn is_due(&self, now: Duration) -> bool {
        self.is_wanted && now >= self.not_before
    }

    /// Shortens a rest so that a requested sweep begins in time.
    pub fn shorten_rest(&self, rest: Duration, now: Duration) -> Duration {
        if self.is_wanted { rest.min(self.not_before.saturating_sub(now)) } else { rest }
    }

    /// Records that all processes were looked at until now, which took this much processor time. The time in which others had the cpu, or
    /// the disk, does not count: it may be long.
    pub fn finish_sweep(&mut self, computed: Duration, now: Duration) {
        (self.is_wanted, self.not_before) = (false, now + computed * PAUSE_PER_SWEEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_that_are_wanted_all_the_time_take_a_fifth_of_it() {
        let second = Duration::from_secs(1);
        let (mut schedule, mut now, mut swept) = (SweepSchedule::default(), second, Duration::ZERO);
        assert!(!schedule.is_due(now), "nobody wants one");
        assert_eq!(schedule.shorten_rest(second, now), second);
        while now < 1_000 * second {
            schedule.request_sweep();
            if schedule.is_due(now) {
                schedule.finish_sweep(2 * second, now + 2 * second);
                (now, swept) = (now + 2 * second, swept + 2 * second);
            } else {
                let rest = schedule.shorten_rest(20 * second, now);
                assert!(rest > Duration::ZERO && rest <= 8 * second, "{rest:?}");
                now += rest;
            }
        }
        assert_eq!(swept, 200 * second);
    }
}
