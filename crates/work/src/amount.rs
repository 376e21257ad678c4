//! Amount of work: how often a workload repeats its unit, and the distribution over its threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{WorkError, WorkloadSettings, WorkloadSize};

/// Maximum threads; a larger number is taken for a mistake.
const MOST_THREADS: usize = 4096;
/// Maximum share; a larger one would run for weeks and is taken for a mistake.
const LARGEST_SHARE: f64 = 1e6;

/// Meaning of a [`WorkloadSize`] for one workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkAmount {
    /// This many items.
    Items(u64),
    /// Items until this time is over.
    Time(Duration),
}

impl WorkAmount {
    /// Converts the settings' size for a workload with `usual` items in its usual size; returns at least one item.
    ///
    /// # Errors
    /// [`WorkError::Input`] if the share is not a number above zero or is over 1e6, or if there are no threads or more than 4096.
    pub fn from_settings(settings: &WorkloadSettings, usual: u64) -> Result<Self, WorkError> {
        let wrong = |what: &str, why: String| Err(WorkError::Input { what: what.into(), why });
        if !(1..=MOST_THREADS).contains(&settings.threads) {
            return wrong("threads", format!("{} is not between 1 and {MOST_THREADS}", settings.threads));
        }
        match settings.size {
            WorkloadSize::Share(share) if share > 0.0 && share <= LARGEST_SHARE => {
                Ok(Self::Items(((usual as f64 * share).round() as u64).max(1)))
            }
            WorkloadSize::Share(share) => wrong("size", format!("{share} is not above 0 and at most {LARGEST_SHARE}")),
            WorkloadSize::Time(time) => Ok(Self::Time(time)),
        }
    }

    /// Raises a number of items to at least `least`.
    pub fn at_least(self, least: u64) -> Self {
        match self {
            Self::Items(items) => Self::Items(items.max(least)),
            Self::Time(_) => self,
        }
    }

    /// Returns true if the result is the same each time, that is, if no clock decides when to end.
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Items(_))
    }
}

/// Numbered items, taken by any thread that asks, so that a thread on a faster cpu does more of them.
pub struct ItemSupply<'a> {
    next: AtomicU64,
    amount: WorkAmount,
    begin: Instant,
    stop: &'a AtomicBool,
}

impl<'a> ItemSupply<'a> {
    /// Creates a supply that lasts for the amount from now on, and ends when `stop` becomes true.
    pub fn new(amount: WorkAmount, stop: &'a AtomicBool) -> Self {
        Self { next: AtomicU64::new(0), amount, begin: Instant::now(), stop }
    }

    /// Returns the next item's number, or `None` if none is left. The first item is given out however short the time is.
    pub fn take_item(&self) -> Option<u64> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let item = self.next.fetch_add(1, Ordering::Relaxed);
        let is_there = match self.amount {
            WorkAmount::Items(items) => item < items,
            WorkAmount::Time(time) => item == 0 || self.begin.elapsed() < time,
        };
        is_there.then_some(item)
    }
}

/// Begin and end of a thread's work.
#[derive(Clone, Copy, Debug)]
pub struct WorkSpan {
    /// Begin.
    pub begin: Instant,
    /// End.
    pub end: Instant,
}

impl WorkSpan {
    /// Runs `work`; returns its result and its span.
    pub fn time_work<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let begin = Instant::now();
        let found = work();
        (found, Self { begin, end: Instant::now() })
    }

    /// Returns the seconds from the first begin to the last end; never zero, so that it can be a divisor.
    pub fn total_seconds(spans: impl IntoIterator<Item = Self>) -> f64 {
        let around = |a: Self, b: Self| Self { begin: a.begin.min(b.begin), end: a.end.max(b.end) };
        let all = spans.into_iter().reduce(around);
        all.map_or(0.0, |all| all.end.duration_since(all.begin).as_secs_f64()).max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_items() {
        let amount = |size| WorkAmount::from_settings(&WorkloadSettings { size, ..WorkloadSettings::new(1) }, 1000);
        assert_eq!(amount(WorkloadSize::Share(0.5)).unwrap(), WorkAmount::Items(500));
        assert_eq!(amount(WorkloadSize::Share(1e-9)).unwrap(), WorkAmount::Items(1));
        assert_eq!(amount(WorkloadSize::Time(Duration::ZERO)).unwrap(), WorkAmount::Time(Duration::ZERO));
        for share in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
            assert!(matches!(amount(WorkloadSize::Share(share)), Err(WorkError::Input { .. })), "{share}");
        }
        for threads in [0, 5000] {
            let settings = WorkloadSettings { threads, ..WorkloadSettings::new(1) };
            assert!(matches!(WorkAmount::from_settings(&settings, 1000), Err(WorkError::Input { .. })), "{threads}");
        }
    }

    #[test]
    fn each_item_is_given_out_once_and_none_after_the_stop() {
        let stop = AtomicBool::new(false);
        let supply = ItemSupply::new(WorkAmount::Items(2), &stop);
        assert_eq!([supply.take_item(), supply.take_item(), supply.take_item()], [Some(0), Some(1), None]);
        let supply = ItemSupply::new(WorkAmount::Time(Duration::ZERO), &stop);
        assert_eq!([supply.take_item(), supply.take_item()], [Some(0), None]);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(ItemSupply::new(WorkAmount::Items(2), &stop).take_item(), None);
    }

    #[test]
    fn spans_are_taken_together() {
        let ((), first) = WorkSpan::time_work(|| ());
        let later = WorkSpan { begin: first.begin, end: first.begin + Duration::from_secs(3) };
        assert_eq!(WorkSpan::total_seconds([later, first]), 3.0);
        assert!(WorkSpan::total_seconds([]) > 0.0);
    }
}
