//! What the tail probe's own loop costs for each recorded piece beyond the work itself.

use std::sync::atomic::AtomicBool;

use corewise_model::histogram::Histogram;
use corewise_sys::clock::{Clock, Source, Ticks};

use super::tail::{ADDITIONS, time_pieces};

/// Pieces for each length.
const PIECES: u64 = 4096;
const REPEATS: usize = 9;

/// The loop's cost beyond the work, in nanoseconds: twice the median of a piece less the median of a piece of twice the
/// work. Both are measured in turn, and the median of nine such differences is taken. Takes about 30 ms.
pub fn per_piece_ns(clock: &Clock) -> f64 {
    let differences: Vec<f64> =
        (0..REPEATS).map(|_| 2.0 * piece_ns(clock, ADDITIONS) - piece_ns(clock, ADDITIONS * 2)).collect();
    corewise_model::stats::order::median(&differences).max(0.0)
}

fn piece_ns(clock: &Clock, additions: u32) -> f64 {
    let mut pieces = Histogram::new(clock.nanoseconds_per_tick);
    // A duration of zero ticks ends after one look, so the pieces are counted instead.
    while pieces.count() < PIECES {
        match clock.source {
            Source::Counter(ticks) => once(ticks, additions, &mut pieces),
            Source::System(ticks) => once(ticks, additions, &mut pieces),
        }
    }
    pieces.median_ns(clock.step_ns)
}

fn once<T: Ticks>(ticks: T, additions: u32, pieces: &mut Histogram) {
    time_pieces(ticks, additions, 0, &AtomicBool::new(false), pieces);
}
