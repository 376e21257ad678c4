//! Amount of work: how often a workload repeats its unit, and the distribution over its threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{Error, Settings, Size};

/// Maximum threads; a larger number is taken for a mistake.
const MOST_THREADS: usize = 4096;
/// Maximum share; a larger one would run for weeks and is taken for a mistake.
const LARGEST_SHARE: f64 = 1e6;

/// Meaning of a [`Size`] for one workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This many items.
    Items(u64),
    /// Items until this time is over.
    Time(Duration),
}

impl Amount {
    /// Converts the settings' size for a workload with `usual` items in its usual size; returns at least one item.
    ///
    /// # Errors
    /// [`Error::Input`] if the share is not a number above zero or is over 1e6, or if there are no threads or more than 4096.
    pub fn of(settings: &Settings, usual: u64) -> Result<Self, Error> {
        let wrong = |what: &str, why: String| Err(Error::Input { what: what.into(), why });
        if !(1..=MOST_THREADS).contains(&settings.threads) {
            return wrong("threads", format!("{} is not between 1 and {MOST_THREADS}", settings.threads));
        }
        match settings.size {
            Size::Share(share) if share > 0.0 && share <= LARGEST_SHARE => {
                Ok(Self::Items(((usual as f64 * share).round() as u64).max(1)))
            }
            Size::Share(share) => wrong("size", format!("{share} is not above 0 and at most {LARGEST_SHARE}")),
            Size::Time(time) => Ok(Self::Time(time)),
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
pub struct Supply<'a> {
    next: AtomicU64,
    amount: Amount,
    begin: Instant,
    stop: &'a AtomicBool,
}

impl<'a> Supply<'a> {
    /// Creates a supply that lasts for the amount from now on, and ends when `stop` becomes true.
    pub fn new(amount: Amount, stop: &'a AtomicBool) -> Self {
        Self { next: AtomicU64::new(0), amount, begin: Instant::now(), stop }
    }

    /// Returns the next item's number, or `None` if none is left. The first item is given out however short the time is.
    pub fn take(&self) -> Option<u64> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let item = self.next.fetch_add(1, Ordering::Relaxed);
        let is_there = match self.amount {
            Amount::Items(items) => item < items,
            Amount::Time(time) => item == 0 || self.begin.elapsed() < time,
        };
        is_there.then_some(item)
    }
}

/// Begin and end of a thread's work.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Begin.
    pub begin: Instant,
    /// End.
    pub end: Instant,
}

impl Span {
    /// Runs `work`; returns its result and its span.
    pub fn of<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let begin = Instant::now();
        let found = work();
        (found, Self { begin, end: Instant::now() })
    }

    /// Returns the seconds from the first begin to the last end; never zero, so that it can be a divisor.
    pub fn seconds(spans: impl IntoIterator<Item = Self>) -> f64 {
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
        let amount = |size| Amount::of(&Settings { size, ..Settings::new(1) }, 1000);
        assert_eq!(amount(Size::Share(0.5)).unwrap(), Amount::Items(500));
        assert_eq!(amount(Size::Share(1e-9)).unwrap(), Amount::Items(1));
        assert_eq!(amount(Size::Time(Duration::ZERO)).unwrap(), Amount::Time(Duration::ZERO));
        for share in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
            assert!(matches!(amount(Size::Share(share)), Err(Error::Input { .. })), "{share}");
        }
        for threads in [0, 5000] {
            let settings = Settings { threads, ..Settings::new(1) };
            assert!(matches!(Amount::of(&settings, 1000), Err(Error::Input { .. })), "{threads}");
        }
    }

    #[test]
    fn each_item_is_given_out_once_and_none_after_the_stop() {
        let stop = AtomicBool::new(false);
        let supply = Supply::new(Amount::Items(2), &stop);
        assert_eq!([supply.take(), supply.take(), supply.take()], [Some(0), Some(1), None]);
        let supply = Supply::new(Amount::Time(Duration::ZERO), &stop);
        assert_eq!([supply.take(), supply.take()], [Some(0), None]);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(Supply::new(Amount::Items(2), &stop).take(), None);
    }

    #[test]
    fn spans_are_taken_together() {
        let ((), first) = Span::of(|| ());
        let later = Span { begin: first.begin, end: first.begin + Duration::from_secs(3) };
        assert_eq!(Span::seconds([later, first]), 3.0);
        assert!(Span::seconds([]) > 0.0);
    }
}
