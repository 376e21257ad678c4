//! How often a workload repeats what it is made of, and who of its threads does which of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{Error, Settings, Size};

/// More threads than this are taken for a mistake.
const MOST_THREADS: usize = 4096;
/// A share above this is taken for a mistake: weeks.
const LARGEST_SHARE: f64 = 1e6;

/// What a [`Size`] is for one workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many items.
    Items(u64),
    /// Items until this time is over.
    Time(Duration),
}

impl Amount {
    /// What the settings say for a workload whose usual size has so many items; one item at least.
    ///
    /// # Errors
    /// [`Error::Input`] where the share is no number above zero or is over 1e6, and where there are no threads or more than 4096.
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

    /// At least so many items, where they are counted.
    pub fn at_least(self, least: u64) -> Self {
        match self {
            Self::Items(items) => Self::Items(items.max(least)),
            Self::Time(_) => self,
        }
    }

    /// Whether the result is the same each time: not where the clock says when to end.
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Items(_))
    }
}

/// Items that are given out by their number to whichever thread asks, so that a thread on a faster cpu does more of them.
pub struct Supply<'a> {
    next: AtomicU64,
    amount: Amount,
    begin: Instant,
    stop: &'a AtomicBool,
}

impl<'a> Supply<'a> {
    /// So many items, or so much time from now on; none after `stop` became true.
    pub fn new(amount: Amount, stop: &'a AtomicBool) -> Self {
        Self { next: AtomicU64::new(0), amount, begin: Instant::now(), stop }
    }

    /// The next item's number; absent where there is none left. The first is given out however short the time is.
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

/// When a thread began and ended its work.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its beginning.
    pub begin: Instant,
    /// Its end.
    pub end: Instant,
}

impl Span {
    /// What `work` found, and when it was.
    pub fn of<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let begin = Instant::now();
        let found = work();
        (found, Self { begin, end: Instant::now() })
    }

    /// Seconds from the first beginning to the last end; never zero, so that it can be divided by.
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
