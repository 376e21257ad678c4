//! Frequency probe for machines without cycle counters: times known numbers of dependent additions.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use corewise_model::survey::{CoreFrequency, FrequencySource};
use corewise_statistics::order::median;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};
use corewise_sys::execution::ClockProbe;
use corewise_sys::work::dependent_additions;

const SHORT: u32 = 20_000;
const LONG: u32 = 100_000;
const REPEATS: usize = 25;

/// Estimates the clock rate of the core that the calling thread is pinned to; takes about 1 ms. `None` if stopped.
///
/// The rate is the slope between two lengths of work, so that the cost of a clock reading cancels. Each length is the median of 25, so that
/// interrupted ones do not count.
pub fn estimate_frequency(clock: &TickClock, stop: &AtomicBool) -> Option<CoreFrequency> {
    let ticks = match clock.source {
        ClockSource::Counter(ticks) => slope_ticks(ticks, stop),
        ClockSource::System(ticks) => slope_ticks(ticks, stop),
    }?;
    let gigahertz = f64::from(LONG - SHORT) / (ticks * clock.nanoseconds_per_tick);
    (gigahertz.is_finite() && gigahertz > 0.0).then_some(CoreFrequency { gigahertz, source: FrequencySource::Estimate })
}

/// Runs [`estimate_frequency`] on cpus that others compute on.
#[derive(Debug)]
pub struct ClockEstimator(TickClock);

impl ClockEstimator {
    /// Calibrates a clock; takes about 50 ms.
    pub fn calibrate_clock() -> Self {
        Self(TickClock::calibrate_best())
    }
}

impl ClockProbe for ClockEstimator {
    fn estimate_gigahertz(&self, stop: &AtomicBool) -> Option<f64> {
        estimate_frequency(&self.0, stop).map(|frequency| frequency.gigahertz)
    }
}

/// Returns the difference in ticks between the longer and the shorter work.
fn slope_ticks<T: TickSource>(ticks: T, stop: &AtomicBool) -> Option<f64> {
    let time = |additions: u32| {
        let start = ticks.read_ticks();
        black_box(dependent_additions(black_box(additions), 1));
        ticks.read_ticks().saturating_sub(start) as f64
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
