//! Overhead of the tail probe's own loop for each recorded piece.

use std::sync::atomic::AtomicBool;

use corewise_model::histogram::Histogram;
use corewise_model::survey::WorkKind;
use corewise_sys::clock::{Clock, Source, Ticks};

use super::stalls::Stalls;
use super::tail::time_pieces;
use super::work::{ADDITIONS, Compute, Piece, Spin};

/// Pieces for each length.
const PIECES: u64 = 4096;
const REPEATS: usize = 9;

/// Returns the loop's overhead in nanoseconds: twice the median of a piece minus the median of a piece of twice the work. Both are measured
/// in turn, and the median of nine such differences is taken. Takes about 30 ms.
pub fn per_piece_ns(clock: &Clock, work: WorkKind) -> f64 {
    if work == WorkKind::Spin {
        return spin_ns(clock);
    }
    let differences: Vec<f64> =
        (0..REPEATS).map(|_| 2.0 * piece_ns(clock, ADDITIONS) - piece_ns(clock, ADDITIONS * 2)).collect();
    corewise_model::stats::order::median(&differences).max(0.0)
}

/// Returns the overhead without work: all of a piece.
fn spin_ns(clock: &Clock) -> f64 {
    let mut pieces = Histogram::new(clock.nanoseconds_per_tick);
    while pieces.count() < PIECES {
        match clock.source {
            Source::Counter(ticks) => once(ticks.unordered(), &mut Spin, &mut pieces),
            Source::System(ticks) => once(ticks, &mut Spin, &mut pieces),
        }
    }
    pieces.median_ns(clock.step_ns)
}

fn piece_ns(clock: &Clock, additions: u32) -> f64 {
    let mut pieces = Histogram::new(clock.nanoseconds_per_tick);
    // A duration of zero ticks ends after one look, so the pieces are counted instead.
    while pieces.count() < PIECES {
        match clock.source {
            Source::Counter(ticks) => once(ticks, &mut Compute(additions), &mut pieces),
            Source::System(ticks) => once(ticks, &mut Compute(additions), &mut pieces),
        }
    }
    pieces.median_ns(clock.step_ns)
}

fn once<T: Ticks>(ticks: T, work: &mut impl Piece, pieces: &mut Histogram) {
    let mut none = Stalls::none();
    time_pieces(ticks, work, ticks.now(), 0, &AtomicBool::new(false), pieces, &mut none);
}
