//! Detection of a core's full clock rate, by chains of dependent additions.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corewise_sys::clock::{TickClock, TickSource};
use corewise_sys::work::dependent_additions;

/// Additions of one chain: some 5 us, so that the clock reading is negligible.
const ADDITIONS: u32 = 20_000;
/// Chains of one estimate; the fastest counts, since an interrupt only slows one down.
const CHAINS: u32 = 3;
/// Share of the best known rate from which a core is warm.
const WARM: f64 = 0.97;
/// Criterion for a core without a known rate: after a while, this many estimates in a row agree within this share.
const STEADY: f64 = 0.01;
const STEADY_ESTIMATES: usize = 3;
const AT_LEAST: Duration = Duration::from_millis(1);
/// Longest warm-up.
const AT_MOST: Duration = Duration::from_millis(10);

/// Best clock rate seen of each cpu, in gigahertz.
#[derive(Debug, Default)]
pub struct ClockWarmth {
    best: Mutex<BTreeMap<u32, f64>>,
}

/// The core that the calling thread is pinned to, and a clock.
pub struct PinnedCore<'a, T> {
    /// Number of the cpu.
    pub cpu: u32,
    /// Source of time.
    pub ticks: T,
    /// Calibration of the ticks.
    pub clock: &'a TickClock,
}

impl<T: TickSource> PinnedCore<'_, T> {
    /// Estimates the clock rate in gigahertz; takes some 15 us. `None` if the clock is too coarse.
    fn estimate_gigahertz(&self) -> Option<f64> {
        let chain = || {
            let begin = self.ticks.read_ticks();
            black_box(dependent_additions(black_box(ADDITIONS), 1));
            self.ticks.read_ticks().saturating_sub(begin)
        };
        let ticks = (0..CHAINS).map(|_| chain()).min().unwrap_or_default();
        let elapsed_ns = ticks as f64 * self.clock.nanoseconds_per_tick - self.clock.reading_ns;
        let gigahertz = f64::from(ADDITIONS) / elapsed_ns;
        (gigahertz.is_finite() && gigahertz > 0.0).then_some(gigahertz)
    }
}

impl ClockWarmth {
    /// Keeps the calling thread's core busy until it is warm; a warm core takes one estimate. Ends early if `is_over` returns true.
    pub fn warm_up(&self, core: &PinnedCore<impl TickSource>, is_over: impl Fn() -> bool) {
        let (begin, mut warming) = (Instant::now(), ClockWarming::new(self.best_of(core.cpu)));
        while let Some(gigahertz) = core.estimate_gigahertz() {
            let is_warm = warming.add_estimate(gigahertz, begin.elapsed());
            if is_warm || is_over() {
                break;
            }
        }
        if let Some(best) = warming.best_now() {
            self.set_best(core.cpu, best);
        }
    }

    /// Returns the current clock rate of the calling thread's core, in gigahertz; `None` if the clock is too coarse.
    pub fn look_at_core(&self, core: &PinnedCore<impl TickSource>) -> Option<f64> {
        let gigahertz = core.estimate_gigahertz()?;
        self.set_best(core.cpu, self.best_of(core.cpu).map_or(gigahertz, |best| best.max(gigahertz)));
        Some(gigahertz)
    }

    fn best_of(&self, cpu: u32) -> Option<f64> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner).get(&cpu).copied()
    }

    fn set_best(&self, cpu: u32, gigahertz: f64) {
        self.best.lock().unwrap_or_else(PoisonError::into_inner).insert(cpu, gigahertz);
    }
}

/// State of one warm-up.
struct ClockWarming {
    best: Option<f64>,
    estimates: Vec<f64>,
    is_at_end: bool,
}

impl ClockWarming {
    const fn new(best: Option<f64>) -> Self {
        Self { best, estimates: Vec::new(), is_at_end: false }
    }

    /// Adds an estimate; returns true if the warm-up is over.
    fn add_estimate(&mut self, gigahertz: f64, elapsed: Duration) -> bool {
        self.estimates.push(gigahertz);
        if elapsed >= AT_MOST {
            self.is_at_end = true;
            return true;
        }
        match self.best {
            Some(best) => gigahertz >= WARM * best,
            None => elapsed >= AT_LEAST && self.is_steady(),
        }
    }

    fn is_steady(&self) -> bool {
        let Some(from) = self.estimates.len().checked_sub(STEADY_ESTIMATES) else { return false };
        let (least, most) = value_range(&self.estimates[from..]);
        most <= least * (1.0 + STEADY)
    }

    /// Returns the best rate to expect of the core from now on. A core that did not reach its former rate in the whole warm-up is as warm
    /// as it gets, since others run beside it now. Otherwise each later visit would wait in vain.
    fn best_now(&self) -> Option<f64> {
        let (_, most) = value_range(&self.estimates);
        match self.best {
            _ if self.estimates.is_empty() => self.best,
            Some(best) if !self.is_at_end => Some(best.max(most)),
            _ => Some(most),
        }
    }
}

fn value_range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &value| (least.min(value), most.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_known_core_is_warm_at_97_percent() {
        let mut warming = ClockWarming::new(Some(4.0));
        assert!(!warming.add_estimate(1.0, ms(0)));
        assert!(!warming.add_estimate(3.87, ms(0)));
        assert!(warming.add_estimate(3.89, ms(0)));
        assert_eq!(warming.best_now(), Some(4.0));
        let mut warming = ClockWarming::new(Some(4.0));
        assert!(warming.add_estimate(4.2, ms(0)));
        assert_eq!(warming.best_now(), Some(4.2));
    }

    #[test]
    fn an_unknown_core_is_warm_once_it_is_steady_for_a_while() {
        let mut warming = ClockWarming::new(None);
        assert!([2.0, 2.0, 2.0].iter().all(|&gigahertz| !warming.add_estimate(gigahertz, ms(0))), "too early");
        assert!(!warming.add_estimate(2.5, ms(1)));
        assert!(!warming.add_estimate(3.0, ms(1)));
        assert!(!warming.add_estimate(3.02, ms(2)));
        assert!(warming.add_estimate(3.01, ms(2)));
        assert_eq!(warming.best_now(), Some(3.02));
    }

    #[test]
    fn nothing_is_waited_for_in_vain_twice() {
        let mut warming = ClockWarming::new(Some(4.0));
        assert!(!warming.add_estimate(3.0, ms(9)));
        assert!(warming.add_estimate(3.0, ms(10)));
        assert_eq!(warming.best_now(), Some(3.0));
        assert!(ClockWarming::new(None).add_estimate(1.0, ms(11)));
        assert_eq!(ClockWarming::new(Some(2.0)).best_now(), Some(2.0));
        assert_eq!(ClockWarming::new(None).best_now(), None);
    }
}
