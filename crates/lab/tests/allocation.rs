//! The timing loop allocates nothing: neither for pieces that it records nor for stalls that it keeps.

use std::sync::atomic::AtomicBool;

use allocation_counter::measure;
use corewise_lab::probe::stalls::VisitStalls;
use corewise_lab::probe::tail::time_pieces;
use corewise_lab::probe::work::{ComputeWork, MemoryWork, SpinWork, SyscallWork, WorkPiece};
use corewise_statistics::histogram::TickHistogram;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};

/// How long each kind of work is timed, in ticks of some clock: a few milliseconds.
const TICKS: u64 = 10_000_000;

/// What was allocated while pieces were timed from a threshold on that most of them exceed, and how many stalls were kept.
fn allocated(ticks: impl TickSource, work: &mut impl WorkPiece, from_ticks: u64) -> (u64, usize, u64) {
    let (mut pieces, mut stalls) = (TickHistogram::new(1.0), VisitStalls::new());
    stalls.begin_visit(ticks, from_ticks);
    let stop = AtomicBool::new(false);
    let counted = measure(|| {
        time_pieces(ticks, work, ticks.read_ticks(), TICKS, &stop, &mut pieces, &mut stalls);
    });
    (counted.count_total, stalls.kept_count(), stalls.not_kept)
}

fn allocates_nothing(ticks: impl TickSource) {
    for from_ticks in [0, u64::MAX] {
        let all = [
            allocated(ticks, &mut SpinWork, from_ticks),
            allocated(ticks, &mut ComputeWork(100), from_ticks),
            allocated(ticks, &mut MemoryWork::new(), from_ticks),
            allocated(ticks, &mut SyscallWork, from_ticks),
        ];
        for (allocations, kept, _) in all {
            assert_eq!((allocations, kept > 0), (0, from_ticks == 0));
        }
    }
}

#[test]
fn nothing_is_allocated_while_pieces_are_timed_and_stalls_are_kept() {
    let clock = TickClock::calibrate_best();
    match clock.source {
        ClockSource::Counter(ticks) => allocates_nothing(ticks),
        ClockSource::System(ticks) => allocates_nothing(ticks),
    }
}

#[test]
fn stalls_beyond_the_room_are_counted_and_allocate_nothing_either() {
    /// A clock that runs fifty ticks a reading: every piece is a stall.
    #[derive(Clone, Copy)]
    struct SteppingTicks<'a>(&'a std::sync::atomic::AtomicU64);

    impl TickSource for SteppingTicks<'_> {
        fn read_ticks(self) -> u64 {
            self.0.fetch_add(50, std::sync::atomic::Ordering::Relaxed)
        }
    }

    let readings = std::sync::atomic::AtomicU64::new(0);
    let (allocations, kept, not_kept) = allocated(SteppingTicks(&readings), &mut SpinWork, 0);
    assert_eq!(allocations, 0);
    // A piece and the look at its stall are two readings.
    assert!(kept > 0 && not_kept > 0 && (kept as u64 + not_kept).abs_diff(TICKS / 100) < 600, "{kept} {not_kept}");
}

#[test]
fn what_allocates_is_noticed() {
    struct Allocating;

    impl WorkPiece for Allocating {
        fn do_piece(&mut self) {
            std::hint::black_box(vec![0_u8; 64]);
        }
    }

    let clock = TickClock::calibrate_best();
    let allocations = match clock.source {
        ClockSource::Counter(ticks) => allocated(ticks, &mut Allocating, 0).0,
        ClockSource::System(ticks) => allocated(ticks, &mut Allocating, 0).0,
    };
    assert!(allocations > 0);
}
