//! Frequency probe for machines without cycle counters: times known numbers of dependent additions.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use corewise_model::stats::order::median;
use corewise_model::survey::{Frequency, FrequencySource};
use corewise_sys::clock::{Clock, Source, Ticks};
use corewise_sys::execution::ClockProbe;
use corewise_sys::work::dependent_additions;

const SHORT: u32 = 20_000;
const LONG: u32 = 100_000;
const REPEATS: usize = 25;

/// Estimates the clock rate of the core that the calling thread is pinned to; takes about 1 ms. `None` if stopped.
///
/// The rate is the slope between two lengths of work, so that the cost of a clock reading cancels. Each length is the median of 25, so that
/// interrupted ones do not count.
pub fn estimate(clock: &Clock, stop: &AtomicBool) -> Option<Frequency> {
    let ticks = match clock.source {
        Source::Counter(ticks) => slope_ticks(ticks, stop),
        Source::System(ticks) => slope_ticks(ticks, stop),
    }?;
    let gigahertz = f64::from(LONG - SHORT) / (ticks * clock.nanoseconds_per_tick);
    (gigahertz.is_finite() && gigahertz > 0.0).then_some(Frequency { gigahertz, source: FrequencySource::Estimate })
}

/// Runs [`estimate`] on cpus that others compute on.
#[derive(Debug)]
pub struct Estimator(Clock);

impl Estimator {
    /// Calibrates a clock; takes about 50 ms.
    pub fn calibrated() -> Self {
        Self(Clock::calibrated())
    }
}

impl ClockProbe for Estimator {
    fn gigahertz(&self, stop: &AtomicBool) -> Option<f64> {
        estimate(&self.0, stop).map(|frequency| frequency.gigahertz)
    }
}

/// Returns the difference in ticks between the longer and the shorter work.
fn slope_ticks<T: Ticks>(ticks: T, stop: &AtomicBool) -> Option<f64> {
    let time = |additions: u32| {
        let start = ticks.now();
        black_box(dependent_additions(black_box(additions), 1));
        ticks.now().saturating_sub(start) as f64
    };
    let (mut short, mut long) = ([0.0; REPEATS], [0.0; REPEATS]);
    for repeat in 0..REPEATS {
        short[repeat] = time(SHORT);
        long[repeat] = time(LONG);
        if stop.load(Ordering::Relaxed) {
            return None;
        }
    }
    Some(median(&long) - median(&short))
}
