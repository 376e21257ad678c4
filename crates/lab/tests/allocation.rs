//! The timing loop allocates nothing: neither for pieces that it records nor for stalls that it keeps.

use std::sync::atomic::AtomicBool;

use allocation_counter::measure;
use corewise_lab::probe::stalls::Stalls;
use corewise_lab::probe::tail::time_pieces;
use corewise_lab::probe::work::{Compute, Memory, Piece, Spin, Syscall};
use corewise_model::histogram::Histogram;
use corewise_sys::clock::{Clock, Source, Ticks};

/// How long each kind of work is timed, in ticks of some clock: a few milliseconds.
const TICKS: u64 = 10_000_000;

/// What was allocated while pieces were timed from a threshold on that most of them exceed, and how many stalls were kept.
fn allocated(ticks: impl Ticks, work: &mut impl Piece, from_ticks: u64) -> (u64, usize, u64) {
    let (mut pieces, mut stalls) = (Histogram::new(1.0), Stalls::new());
    stalls.begin(ticks, from_ticks);
    let stop = AtomicBool::new(false);
    let counted = measure(|| {
        time_pieces(ticks, work, ticks.now(), TICKS, &stop, &mut pieces, &mut stalls);
    });
    (counted.count_total, stalls.count(), stalls.not_kept)
}

fn allocates_nothing(ticks: impl Ticks) {
    for from_ticks in [0, u64::MAX] {
        let all = [
            allocated(ticks, &mut Spin, from_ticks),
            allocated(ticks, &mut Compute(100), from_ticks),
            allocated(ticks, &mut Memory::new(), from_ticks),
            allocated(ticks, &mut Syscall, from_ticks),
        ];
        for (allocations, kept, _) in all {
            assert_eq!((allocations, kept > 0), (0, from_ticks == 0));
        }
    }
}

#[test]
fn nothing_is_allocated_while_pieces_are_timed_and_stalls_are_kept() {
    let clock = Clock::calibrated();
    match clock.source {
        Source::Counter(ticks) => allocates_nothing(ticks),
        Source::System(ticks) => allocates_nothing(ticks),
    }
}

#[test]
fn stalls_beyond_the_room_are_counted_and_allocate_nothing_either() {
    /// A clock that runs fifty ticks a reading: every piece is a stall.
    #[derive(Clone, Copy)]
    struct Steps<'a>(&'a std::sync::atomic::AtomicU64);

    impl Ticks for Steps<'_> {
        fn now(self) -> u64 {
            self.0.fetch_add(50, std::sync::atomic::Ordering::Relaxed)
        }
    }

    let readings = std::sync::atomic::AtomicU64::new(0);
    let (allocations, kept, not_kept) = allocated(Steps(&readings), &mut Spin, 0);
    assert_eq!(allocations, 0);
    // A piece and the look at its stall are two readings.
    assert!(kept > 0 && not_kept > 0 && (kept as u64 + not_kept).abs_diff(TICKS / 100) < 600, "{kept} {not_kept}");
}

#[test]
fn what_allocates_is_noticed() {
    struct Allocating;

    impl Piece for Allocating {
        fn make(&mut self) {
            std::hint::black_box(vec![0_u8; 64]);
        }
    }

    let clock = Clock::calibrated();
    let allocations = match clock.source {
        Source::Counter(ticks) => allocated(ticks, &mut Allocating, 0).0,
        Source::System(ticks) => allocated(ticks, &mut Allocating, 0).0,
    };
    assert!(allocations > 0);
}
