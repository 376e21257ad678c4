//! Tail probe: times a fixed piece of work over and over on one cpu, and misses no stall.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_machine::Gap;
use corewise_model::stall;
use corewise_model::survey::{CoreFrequency, CpuRound, FrequencySource, TailSummary, WorkKind};
use corewise_statistics::histogram::TickHistogram;
use corewise_sys::affinity;
use corewise_sys::clock::{ClockSource, ClockTranslation, TickClock, TickSource};
use corewise_sys::counters::CycleCounter;
use corewise_sys::counts::KernelCounts;
use corewise_sys::scheduling;
use corewise_sys::thread::{ThreadMoment, own_number};

use super::frequency;
use super::stalls::VisitStalls;
use super::watchdog::VisitWatchdog;
use super::work::{ADDITIONS, ComputeWork, MemoryWork, SpinWork, SyscallWork, WorkPiece};
use crate::kernel_events::LiveTracepoints;

/// Pieces between two looks at the deadline and the stop flag; about 0.15 ms.
const PIECES_PER_LOOK: u32 = 512;

/// One visit to one cpu.
#[derive(Clone, Copy, Debug)]
pub struct TailVisit {
    /// The cpu.
    pub cpu: u32,
    /// Number of the round, from 0.
    pub round: u32,
    /// Its place in the round, from 0.
    pub place: u32,
    /// Time for which pieces are timed.
    pub duration: Duration,
    /// Untimed work before, so that the core's clock rises.
    pub warm_up: Duration,
    /// True to read the kernel's counts before and after.
    pub counting: bool,
    /// Kind of a piece.
    pub work: WorkKind,
    /// Delay beyond a piece's usual time from which it is a stall, in nanoseconds.
    pub threshold_ns: f64,
    /// Cpu of the watchdog, if the visit runs before all others (SCHED_FIFO).
    pub first_in_line: Option<u32>,
}

/// Memory shared by all visits.
#[derive(Debug)]
pub struct TailScratch {
    /// Pieces of the last visit.
    pub pieces: TickHistogram,
    stalls: VisitStalls,
    memory: Option<MemoryWork>,
}

impl TailScratch {
    /// Allocates the memory for the visits of a survey.
    pub fn new(nanoseconds_per_tick: f64, work: WorkKind) -> Self {
        let memory = (work == WorkKind::Memory).then(MemoryWork::new);
        Self { pieces: TickHistogram::new(nanoseconds_per_tick), stalls: VisitStalls::new(), memory }
    }
}

/// Result of a visit: the round's figures, and missing facts.
#[derive(Debug)]
pub struct TailVisitResult {
    /// Figures.
    pub round: CpuRound,
    /// Stalls, with the kernel's events if these were watched.
    pub stalls: stall::StallVisit,
    /// Facts that were not available on this visit.
    pub gaps: Vec<Gap>,
}

/// Visits a cpu on a new thread, which is pinned there and checked before and after.
///
/// The scratch's histogram is cleared first and holds the visit's pieces afterwards.
///
/// # Errors
/// The gap with the reason why the cpu could not be measured; its pieces do not count.
pub fn visit_cpu(
    clock: &TickClock,
    visit: TailVisit,
    watching: Option<&mut LiveTracepoints<'_>>,
    stop: &AtomicBool,
    scratch: &mut TailScratch,
) -> Result<TailVisitResult, Gap> {
    visit_by(clock, visit, watching, stop, scratch, time_visit)
}

/// Visits a cpu with a piece of the caller's own instead of the visit's kind of work.
///
/// # Errors
/// As [`visit`].
pub fn visit_with(
    clock: &TickClock,
    visit: TailVisit,
    watching: Option<&mut LiveTracepoints<'_>>,
    stop: &AtomicBool,
    scratch: &mut TailScratch,
    piece: &mut (impl WorkPiece + Send),
) -> Result<TailVisitResult, Gap> {
    let time = |clock: &TickClock, visit: TailVisit, stop: &AtomicBool, scratch: &mut TailScratch| match clock.source {
        ClockSource::Counter(ticks) => with_piece(clock, visit, ticks, stop, scratch, piece),
        ClockSource::System(ticks) => with_piece(clock, visit, ticks, stop, scratch, piece),
    };
    visit_by(clock, visit, watching, stop, scratch, time)
}

fn visit_by(
    clock: &TickClock,
    visit: TailVisit,
    watching: Option<&mut LiveTracepoints<'_>>,
    stop: &AtomicBool,
    scratch: &mut TailScratch,
    time: impl FnOnce(&TickClock, TailVisit, &AtomicBool, &mut TailScratch) -> TimedPieces + Send,
) -> Result<TailVisitResult, Gap> {
    scratch.pieces.clear_counts();
    let watchdog = visit.first_in_line.map(|cpu| VisitWatchdog::new(cpu, visit.warm_up + visit.duration));
    let measured = std::thread::scope(|scope| {
        let guard = watchdog.as_ref().map(|watchdog| scope.spawn(|| watchdog.watch_thread()));
        let measured = std::thread::Builder::new()
            .name(format!("tail {}", visit.cpu))
            .spawn_scoped(scope, || run_on_thread(clock, visit, watching, watchdog.as_ref(), stop, scratch, time))
            .and_then(|thread| thread.join().map_err(|_| std::io::Error::other("the measuring thread died"))?);
        if let (Some(watchdog), Some(guard)) = (&watchdog, guard) {
            watchdog.dismiss_thread(guard.thread());
        }
        measured
    });
    measured.map_err(|error| Gap::new(format!("tail of cpu {}", visit.cpu), error.to_string()))
}

/// Runs on the visit's own thread.
fn run_on_thread(
    clock: &TickClock,
    visit: TailVisit,
    watching: Option<&mut LiveTracepoints<'_>>,
    watchdog: Option<&VisitWatchdog>,
    stop: &AtomicBool,
    scratch: &mut TailScratch,
    time: impl FnOnce(&TickClock, TailVisit, &AtomicBool, &mut TailScratch) -> TimedPieces,
) -> std::io::Result<TailVisitResult> {
    affinity::pin_current(visit.cpu)?;
    let mut gaps = Vec::new();
    let mut counter = CycleCounter::start_counting().map_err(|gap| gaps.push(gap)).ok();
    let mut watched = watching.and_then(|watching| {
        let why = |error: std::io::Error| Gap::new(format!("causes of stalls of cpu {}", visit.cpu), error.to_string());
        watching.watch_cpu(visit.cpu).map_err(|error| gaps.push(why(error))).ok()
    });
    // A visit under a watchdog is short: it ends by itself, or by the watchdog.
    let stop = watchdog.map_or(stop, VisitWatchdog::stop);
    if let Some(watchdog) = watchdog {
        watchdog.guard_thread(own_number());
        scheduling::run_first()?;
    }
    warm_up(clock, visit.warm_up, stop);
    let counts = visit.counting.then(KernelCounts::read_now);
    let cycles = counter.as_mut().and_then(CycleCounter::read_cycles);
    let (before, begin) = (ThreadMoment::read_now()?, clock.take_moment());
    let timed = time(clock, visit, stop, scratch);
    let (end, thread) = (clock.take_moment(), ThreadMoment::read_now()?.use_since(&before));
    let cycles = counter.as_mut().and_then(|counter| Some(counter.read_cycles()? - cycles?));
    let elapsed_s = timed.elapsed_ticks as f64 * clock.nanoseconds_per_tick * 1e-9;
    let happened = counts.map(|before| KernelCounts::read_now().counts_since(&before, visit.cpu)).unwrap_or_default();
    let counted = counter.zip(cycles).and_then(|(counter, cycles)| {
        let source = if counter.counts_kernel { FrequencySource::Cycles } else { FrequencySource::UserCycles };
        clock_rate(cycles, elapsed_s - thread.off_cpu_s, source)
    });
    if watchdog.is_some() {
        scheduling::run_as_others(own_number())?;
    }
    let was_stopped = watchdog.is_some_and(VisitWatchdog::end_visit);
    let line = ClockTranslation::new(begin, end, clock.nanoseconds_per_tick);
    let mut stalls = build_stall_visit(visit, scratch, &line, timed, clock.nanoseconds_per_tick);
    if scratch.stalls.is_full()
        && let Some(last) = stalls.stalls.last()
    {
        stalls.cut_to(stalls.begin_ns, last.end_ns);
    }
    if let Some(watched) = &mut watched {
        watched.add_events(&mut stalls);
    }
    let frequency = counted.or_else(|| frequency::estimate_frequency(clock, stop));
    affinity::check_pinned(visit.cpu)?;
    if was_stopped {
        return Err(std::io::Error::other("it ran far longer than planned, before all other tasks, and was ended"));
    }
    let round = CpuRound {
        round: visit.round,
        place: visit.place,
        elapsed_s,
        tail: TailSummary::from_histogram(&scratch.pieces, clock.step_ns),
        frequency,
        interrupts: happened.interrupts,
        softirqs: happened.softirqs,
        thread,
        stolen_s: happened.stolen_s,
    };
    Ok(TailVisitResult { round, stalls, gaps })
}

fn build_stall_visit(
    visit: TailVisit,
    scratch: &TailScratch,
    line: &ClockTranslation,
    timed: TimedPieces,
    nanoseconds_per_tick: f64,
) -> stall::StallVisit {
    stall::StallVisit {
        cpu: visit.cpu,
        round: visit.round,
        begin_ns: line.raw_ns(timed.start),
        end_ns: line.raw_ns(timed.start + timed.elapsed_ticks),
        piece_ns: (timed.piece_ticks as f64 * nanoseconds_per_tick).round() as u64,
        stalls: scratch.stalls.to_nanoseconds(line),
        not_kept: scratch.stalls.not_kept,
        ..stall::StallVisit::default()
    }
}

/// The counter stands still while the thread is off the cpu, so only its time on the cpu counts.
fn clock_rate(cycles: f64, on_cpu_s: f64, source: FrequencySource) -> Option<CoreFrequency> {
    let gigahertz = cycles / on_cpu_s * 1e-9;
    (on_cpu_s > 0.0 && gigahertz > 0.0).then_some(CoreFrequency { gigahertz, source })
}

/// Works untimed, so that the core's clock rises.
fn warm_up(clock: &TickClock, duration: Duration, stop: &AtomicBool) {
    fn spin_for<T: TickSource>(ticks: T, duration: u64, stop: &AtomicBool) {
        let start = ticks.read_ticks();
        while ticks.read_ticks().saturating_sub(start) < duration && !stop.load(Ordering::Relaxed) {
            ComputeWork(ADDITIONS * 20).do_piece();
        }
    }
    match clock.source {
        ClockSource::Counter(ticks) => spin_for(ticks, clock.ticks_of(duration), stop),
        ClockSource::System(ticks) => spin_for(ticks, clock.ticks_of(duration), stop),
    }
}

/// Timing of a visit, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct TimedPieces {
    start: u64,
    /// Elapsed ticks.
    pub elapsed_ticks: u64,
    piece_ticks: u64,
}

fn time_visit(clock: &TickClock, visit: TailVisit, stop: &AtomicBool, scratch: &mut TailScratch) -> TimedPieces {
    match clock.source {
        // Spin has no work to order before the clock reading.
        ClockSource::Counter(ticks) if visit.work == WorkKind::Spin => {
            run_visit(clock, visit, ticks.to_unordered(), stop, scratch)
        }
        ClockSource::Counter(ticks) => run_visit(clock, visit, ticks, stop, scratch),
        ClockSource::System(ticks) => run_visit(clock, visit, ticks, stop, scratch),
    }
}

fn run_visit<T: TickSource>(
    clock: &TickClock,
    visit: TailVisit,
    ticks: T,
    stop: &AtomicBool,
    scratch: &mut TailScratch,
) -> TimedPieces {
    let TailScratch { pieces, stalls, memory } = scratch;
    let limits = TickLimits::from_visit(clock, visit);
    match (visit.work, memory) {
        (WorkKind::Memory, Some(memory)) => time_work(ticks, memory, limits, stop, pieces, stalls),
        (WorkKind::Spin, _) => time_work(ticks, &mut SpinWork, limits, stop, pieces, stalls),
        (WorkKind::Syscall, _) => time_work(ticks, &mut SyscallWork, limits, stop, pieces, stalls),
        _ => time_work(ticks, &mut ComputeWork(ADDITIONS), limits, stop, pieces, stalls),
    }
}

fn with_piece<T: TickSource>(
    clock: &TickClock,
    visit: TailVisit,
    ticks: T,
    stop: &AtomicBool,
    scratch: &mut TailScratch,
    piece: &mut impl WorkPiece,
) -> TimedPieces {
    time_work(ticks, piece, TickLimits::from_visit(clock, visit), stop, &mut scratch.pieces, &mut scratch.stalls)
}

/// Limits in ticks.
#[derive(Clone, Copy, Debug)]
struct TickLimits {
    duration: u64,
    threshold: u64,
}

impl TickLimits {
    fn from_visit(clock: &TickClock, visit: TailVisit) -> Self {
        let threshold = (visit.threshold_ns / clock.nanoseconds_per_tick).round() as u64;
        Self { duration: clock.ticks_of(visit.duration), threshold }
    }
}

fn time_work<T: TickSource>(
    ticks: T,
    work: &mut impl WorkPiece,
    limits: TickLimits,
    stop: &AtomicBool,
    pieces: &mut TickHistogram,
    stalls: &mut VisitStalls,
) -> TimedPieces {
    let piece_ticks = usual_piece(ticks, work);
    stalls.begin_visit(ticks, piece_ticks.saturating_add(limits.threshold));
    let start = ticks.read_ticks();
    let elapsed_ticks = time_pieces(ticks, work, start, limits.duration, stop, pieces, stalls);
    TimedPieces { start, elapsed_ticks, piece_ticks }
}

/// Returns the undisturbed time of a piece: the median of a few.
fn usual_piece<T: TickSource>(ticks: T, work: &mut impl WorkPiece) -> u64 {
    let mut last = ticks.read_ticks();
    let mut took = [0_u64; 255];
    for one in &mut took {
        work.do_piece();
        let now = ticks.read_ticks();
        *one = now.saturating_sub(last);
        last = now;
    }
    took.sort_unstable();
    took[took.len() / 2]
}

/// Times pieces from `start` until the duration is over; returns the ticks that really passed.
///
/// The reading that ends a piece begins the next, so no stall can fall between two pieces. The recorded durations add up to the elapsed
/// time, including the cost of recording. Only the bookkeeping of a stall is in no piece. Its time is summed in `stalls`, and a stall
/// within it is kept and recorded too. Nothing is allocated.
pub fn time_pieces<T: TickSource>(
    ticks: T,
    work: &mut impl WorkPiece,
    start: u64,
    duration: u64,
    stop: &AtomicBool,
    pieces: &mut TickHistogram,
    stalls: &mut VisitStalls,
) -> u64 {
    let from = stalls.from_ticks;
    let mut last = start;
    loop {
        for _ in 0..PIECES_PER_LOOK {
            work.do_piece();
            let now = ticks.read_ticks();
            let took = now.saturating_sub(last);
            pieces.record_ticks(took);
            last = now;
            if took >= from {
                last = stalls.keep_stall(ticks, now - took, now, pieces);
                // If every piece is a stall, two looks would be far apart.
                if last.saturating_sub(start) >= duration {
                    break;
                }
            }
        }
        if last.saturating_sub(start) >= duration || stop.load(Ordering::Relaxed) {
            return last.saturating_sub(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use corewise_model::stall::Stall;
    use corewise_sys::clock::ClockMoment;

    use super::*;

    /// A clock whose readings are 300 ticks apart, but for stalls at some readings in a row.
    #[derive(Clone, Copy)]
    struct Scripted<'a> {
        readings: &'a AtomicU64,
        stall_at: u64,
        stalls: u64,
        stall: u64,
    }

    impl TickSource for Scripted<'_> {
        fn read_ticks(self) -> u64 {
            let reading = self.readings.fetch_add(1, Ordering::Relaxed);
            300 * reading + self.stall * (reading + 1).saturating_sub(self.stall_at).min(self.stalls)
        }
    }

    /// How often the clock is read before the first piece: once for the beginning, and before that to time glances.
    const READINGS_BEFORE: u64 = 2 * 15 + 2;

    fn time(ticks: Scripted<'_>, pieces: &mut TickHistogram, stalls: &mut VisitStalls) -> u64 {
        time_pieces(ticks, &mut ComputeWork(20), ticks.read_ticks(), 500_000, &AtomicBool::new(false), pieces, stalls)
    }

    #[test]
    fn no_stall_falls_between_two_pieces() {
        // A stall at every place of the loop, the looks at deadline and stop flag among them.
        for stall_at in READINGS_BEFORE..READINGS_BEFORE + 1100 {
            let readings = AtomicU64::new(0);
            let ticks = Scripted { readings: &readings, stall_at, stalls: 1, stall: 50_000 };
            let mut pieces = TickHistogram::new(1.0);
            let mut stalls = VisitStalls::new();
            stalls.begin_visit(ticks, 10_000);
            let elapsed = time(ticks, &mut pieces, &mut stalls);
            let recorded: u64 = pieces.bucket_counts().iter().map(|(ticks, count)| ticks * count).sum();
            assert_eq!(pieces.count_from_ns(40_000.0), 1, "stall at reading {stall_at}");
            let timed = elapsed - stalls.bookkeeping_ticks;
            assert!(recorded.abs_diff(timed) <= timed / 1000, "{recorded} of {timed}");
            let line = ClockTranslation::new(
                ClockMoment { ticks: 0, raw_ns: 0 },
                ClockMoment { ticks: 100, raw_ns: 100 },
                1.0,
            );
            let kept: Vec<u64> = stalls.to_nanoseconds(&line).iter().map(Stall::length_ns).collect();
            assert_eq!(kept, [50_300], "stall at reading {stall_at}");
        }
    }

    #[test]
    fn a_stall_of_the_look_at_a_stall_is_kept_too() {
        for in_a_row in 1..5 {
            let readings = AtomicU64::new(0);
            let ticks =
                Scripted { readings: &readings, stall_at: READINGS_BEFORE + 700, stalls: in_a_row, stall: 50_000 };
            let (mut pieces, mut stalls) = (TickHistogram::new(1.0), VisitStalls::new());
            stalls.begin_visit(ticks, 10_000);
            let elapsed = time(ticks, &mut pieces, &mut stalls);
            let recorded: u64 = pieces.bucket_counts().iter().map(|(ticks, count)| ticks * count).sum();
            assert_eq!(pieces.count_from_ns(40_000.0), in_a_row);
            assert_eq!(stalls.kept_count() as u64, in_a_row);
            assert_eq!(stalls.bookkeeping_ticks, 300, "the last look was not interrupted");
            assert!((recorded + 300).abs_diff(elapsed) <= elapsed / 1000, "{recorded} of {elapsed}");
        }
    }

    #[test]
    fn looks_that_have_become_slow_do_not_keep_the_visit_from_ending() {
        let readings = AtomicU64::new(0);
        let ticks = Scripted { readings: &readings, stall_at: READINGS_BEFORE + 700, stalls: u64::MAX, stall: 50_000 };
        let (mut pieces, mut stalls) = (TickHistogram::new(1.0), VisitStalls::new());
        stalls.begin_visit(ticks, 10_000);
        time(ticks, &mut pieces, &mut stalls);
        let seen = pieces.count_from_ns(40_000.0);
        assert_eq!(stalls.kept_count() as u64 + stalls.not_kept, seen);
        assert!(stalls.not_kept > 0);
    }

    #[test]
    fn looks_that_are_always_slow_are_no_stalls() {
        let readings = AtomicU64::new(0);
        let ticks = Scripted { readings: &readings, stall_at: 0, stalls: u64::MAX, stall: 50_000 };
        let (mut pieces, mut stalls) = (TickHistogram::new(1.0), VisitStalls::new());
        stalls.begin_visit(ticks, 10_000);
        stalls.keep_stall(ticks, 0, ticks.read_ticks(), &mut pieces);
        assert_eq!((stalls.kept_count(), pieces.count()), (1, 0));
    }

    #[test]
    fn time_off_the_cpu_does_not_slow_the_clock() {
        let half = clock_rate(1.85e9, 0.5, FrequencySource::Cycles).unwrap();
        assert!((half.gigahertz - 3.7).abs() < 1e-9);
        assert_eq!(clock_rate(1e9, 0.0, FrequencySource::Cycles), None);
    }

    #[test]
    fn a_cpu_that_cannot_be_had_is_a_gap() {
        let clock = TickClock::calibrate_best();
        let mut scratch = TailScratch::new(clock.nanoseconds_per_tick, WorkKind::Compute);
        let second = Duration::from_secs(1);
        let elsewhere = TailVisit {
            cpu: 8000,
            round: 0,
            place: 0,
            duration: second,
            warm_up: second,
            counting: false,
            work: WorkKind::Compute,
            threshold_ns: 1e3,
            first_in_line: None,
        };
        let gap = visit_cpu(&clock, elsewhere, None, &AtomicBool::new(false), &mut scratch).unwrap_err();
        assert_eq!(gap.what, "tail of cpu 8000");
        assert_eq!(scratch.pieces.count(), 0);
    }
}
