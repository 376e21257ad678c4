//! Overhead of the tail probe's own loop for each recorded piece.

use std::sync::atomic::AtomicBool;

use corewise_model::survey::WorkKind;
use corewise_statistics::histogram::TickHistogram;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};

use super::stalls::VisitStalls;
use super::tail::time_pieces;
use super::work::{ADDITIONS, ComputeWork, SpinWork, WorkPiece};

/// Pieces for each length.
const PIECES: u64 = 4096;
const REPEATS: usize = 9;

/// Returns the loop's overhead in nanoseconds: twice the median of a piece minus the median of a piece of twice the work. Both are measured
/// in turn, and the median of nine such differences is taken. Takes about 30 ms.
pub fn overhead_per_piece_ns(clock: &TickClock, work: WorkKind) -> f64 {
    if work == WorkKind::Spin {
        return spin_ns(clock);
    }
    let differences: Vec<f64> =
        (0..REPEATS).map(|_| 2.0 * piece_ns(clock, ADDITIONS) - piece_ns(clock, ADDITIONS * 2)).collect();
    corewise_statistics::order::median(&differences).max(0.0)
}

/// Returns the overhead without work: all of a piece.
fn spin_ns(clock: &TickClock) -> f64 {
    let mut pieces = TickHistogram::new(clock.nanoseconds_per_tick);
    while pieces.count() < PIECES {
        match clock.source {
            ClockSource::Counter(ticks) => time_once(ticks.to_unordered(), &mut SpinWork, &mut pieces),
            ClockSource::System(ticks) => time_once(ticks, &mut SpinWork, &mut pieces),
        }
    }
    pieces.interpolate_ns(0.5, clock.step_ns)
}

fn piece_ns(clock: &TickClock, additions: u32) -> f64 {
    let mut pieces = TickHistogram::new(clock.nanoseconds_per_tick);
    // A duration of zero ticks ends after one look, so the pieces are counted instead.
    while pieces.count() < PIECES {
        match clock.source {
            ClockSource::Counter(ticks) => time_once(ticks, &mut ComputeWork(additions), &mut pieces),
            ClockSource::System(ticks) => time_once(ticks, &mut ComputeWork(additions), &mut pieces),
        }
    }
    pieces.interpolate_ns(0.5, clock.step_ns)
}

fn time_once<T: TickSource>(ticks: T, work: &mut impl WorkPiece, pieces: &mut TickHistogram) {
    let mut none = VisitStalls::without_room();
    time_pieces(ticks, work, ticks.read_ticks(), 0, &AtomicBool::new(false), pieces, &mut none);
}
