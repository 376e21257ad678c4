//! Tail probe: times a fixed piece of work over and over on one cpu, and misses no stall.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_machine::Gap;
use corewise_model::histogram::Histogram;
use corewise_model::stall;
use corewise_model::survey::{CpuRound, Frequency, FrequencySource, Tail, WorkKind};
use corewise_sys::affinity;
use corewise_sys::clock::{Clock, Source, Ticks, Translation};
use corewise_sys::counters::CycleCounter;
use corewise_sys::counts::KernelCounts;
use corewise_sys::scheduling;
use corewise_sys::thread::{ThreadMoment, own_number};

use super::frequency;
use super::stalls::Stalls;
use super::watchdog::Watchdog;
use super::work::{ADDITIONS, Compute, Memory, Piece, Spin, Syscall};
use crate::kernel_events::Watching;

/// Pieces between two looks at the deadline and the stop flag; about 0.15 ms.
const PIECES_PER_LOOK: u32 = 512;

/// One visit to one cpu.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
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
pub struct Scratch {
    /// Pieces of the last visit.
    pub pieces: Histogram,
    stalls: Stalls,
    memory: Option<Memory>,
}

impl Scratch {
    /// Allocates the memory for the visits of a survey.
    pub fn new(nanoseconds_per_tick: f64, work: WorkKind) -> Self {
        let memory = (work == WorkKind::Memory).then(Memory::new);
        Self { pieces: Histogram::new(nanoseconds_per_tick), stalls: Stalls::new(), memory }
    }
}

/// Result of a visit: the round's figures, and missing facts.
#[derive(Debug)]
pub struct Visited {
    /// Figures.
    pub round: CpuRound,
    /// Stalls, with the kernel's events if these were watched.
    pub stalls: stall::Visit,
    /// Facts that were not available on this visit.
    pub gaps: Vec<Gap>,
}

/// Visits a cpu on a new thread, which is pinned there and checked before and after.
///
/// The scratch's histogram is cleared first and holds the visit's pieces afterwards.
///
/// # Errors
/// The gap with the reason why the cpu could not be measured; its pieces do not count.
pub fn visit(
    clock: &Clock,
    visit: Visit,
    watching: Option<&mut Watching<'_>>,
    stop: &AtomicBool,
    scratch: &mut Scratch,
) -> Result<Visited, Gap> {
    visit_by(clock, visit, watching, stop, scratch, time_visit)
}

/// Visits a cpu with a piece of the caller's own instead of the visit's kind of work.
///
/// # Errors
/// As [`visit`].
pub fn visit_with(
    clock: &Clock,
    visit: Visit,
    watching: Option<&mut Watching<'_>>,
    stop: &AtomicBool,
    scratch: &mut Scratch,
    piece: &mut (impl Piece + Send),
) -> Result<Visited, Gap> {
    let time = |clock: &Clock, visit: Visit, stop: &AtomicBool, scratch: &mut Scratch| match clock.source {
        Source::Counter(ticks) => with_piece(clock, visit, ticks, stop, scratch, piece),
        Source::System(ticks) => with_piece(clock, visit, ticks, stop, scratch, piece),
    };
    visit_by(clock, visit, watching, stop, scratch, time)
}

fn visit_by(
    clock: &Clock,
    visit: Visit,
    watching: Option<&mut Watching<'_>>,
    stop: &AtomicBool,
    scratch: &mut Scratch,
    time: impl FnOnce(&Clock, Visit, &AtomicBool, &mut Scratch) -> Timed + Send,
) -> Result<Visited, Gap> {
    scratch.pieces.clear();
    let watchdog = visit.first_in_line.map(|cpu| Watchdog::new(cpu, visit.warm_up + visit.duration));
    let measured = std::thread::scope(|scope| {
        let guard = watchdog.as_ref().map(|watchdog| scope.spawn(|| watchdog.watch()));
        let measured = std::thread::Builder::new()
            .name(format!("tail {}", visit.cpu))
            .spawn_scoped(scope, || on_cpu(clock, visit, watching, watchdog.as_ref(), stop, scratch, time))
            .and_then(|thread| thread.join().map_err(|_| std::io::Error::other("the measuring thread died"))?);
        if let (Some(watchdog), Some(guard)) = (&watchdog, guard) {
            watchdog.dismiss(guard.thread());
        }
        measured
    });
    measured.map_err(|error| Gap::new(format!("tail of cpu {}", visit.cpu), error.to_string()))
}

/// Runs on the visit's own thread.
fn on_cpu(
    clock: &Clock,
    visit: Visit,
    watching: Option<&mut Watching<'_>>,
    watchdog: Option<&Watchdog>,
    stop: &AtomicBool,
    scratch: &mut Scratch,
    time: impl FnOnce(&Clock, Visit, &AtomicBool, &mut Scratch) -> Timed,
) -> std::io::Result<Visited> {
    affinity::pin_current(visit.cpu)?;
    let mut gaps = Vec::new();
    let mut counter = CycleCounter::start().map_err(|gap| gaps.push(gap)).ok();
    let mut watched = watching.and_then(|watching| {
        let why = |error: std::io::Error| Gap::new(format!("causes of stalls of cpu {}", visit.cpu), error.to_string());
        watching.begin(visit.cpu).map_err(|error| gaps.push(why(error))).ok()
    });
    // A visit under a watchdog is short: it ends by itself, or by the watchdog.
    let stop = watchdog.map_or(stop, Watchdog::stop);
    if let Some(watchdog) = watchdog {
        watchdog.guard(own_number());
        scheduling::run_first()?;
    }
    warm_up(clock, visit.warm_up, stop);
    let counts = visit.counting.then(KernelCounts::now);
    let cycles = counter.as_mut().and_then(CycleCounter::cycles);
    let (before, begin) = (ThreadMoment::now()?, clock.moment());
    let timed = time(clock, visit, stop, scratch);
    let (end, thread) = (clock.moment(), ThreadMoment::now()?.since(&before));
    let cycles = counter.as_mut().and_then(|counter| Some(counter.cycles()? - cycles?));
    let elapsed_s = timed.elapsed_ticks as f64 * clock.nanoseconds_per_tick * 1e-9;
    let happened = counts.map(|before| KernelCounts::now().since(&before, visit.cpu)).unwrap_or_default();
    let counted = counter.zip(cycles).and_then(|(counter, cycles)| {
        let source = if counter.counts_kernel { FrequencySource::Cycles } else { FrequencySource::UserCycles };
        clock_rate(cycles, elapsed_s - thread.off_cpu_s, source)
    });
    if watchdog.is_some() {
        scheduling::run_as_others(own_number())?;
    }
    let was_stopped = watchdog.is_some_and(Watchdog::end);
    let line = Translation::new(begin, end, clock.nanoseconds_per_tick);
    let mut stalls = stalls_of(visit, scratch, &line, timed, clock.nanoseconds_per_tick);
    if scratch.stalls.is_full()
        && let Some(last) = stalls.stalls.last()
    {
        stalls.cut_to(stalls.begin_ns, last.end_ns);
    }
    if let Some(watched) = &mut watched {
        watched.end(&mut stalls);
    }
    let frequency = counted.or_else(|| frequency::estimate(clock, stop));
    affinity::check_pinned(visit.cpu)?;
    if was_stopped {
        return Err(std::io::Error::other("it ran far longer than planned, before all other tasks, and was ended"));
    }
    let round = CpuRound {
        round: visit.round,
        place: visit.place,
        elapsed_s,
        tail: Tail::of(&scratch.pieces, clock.step_ns),
        frequency,
        interrupts: happened.interrupts,
        softirqs: happened.softirqs,
        thread,
        stolen_s: happened.stolen_s,
    };
    Ok(Visited { round, stalls, gaps })
}

fn stalls_of(
    visit: Visit,
    scratch: &Scratch,
    line: &Translation,
    timed: Timed,
    nanoseconds_per_tick: f64,
) -> stall::Visit {
    stall::Visit {
        cpu: visit.cpu,
        round: visit.round,
        begin_ns: line.raw_ns(timed.start),
        end_ns: line.raw_ns(timed.start + timed.elapsed_ticks),
        piece_ns: (timed.piece_ticks as f64 * nanoseconds_per_tick).round() as u64,
        stalls: scratch.stalls.in_nanoseconds(line),
        not_kept: scratch.stalls.not_kept,
        ..stall::Visit::default()
    }
}

/// The counter stands still while the thread is off the cpu, so only its time on the cpu counts.
fn clock_rate(cycles: f64, on_cpu_s: f64, source: FrequencySource) -> Option<Frequency> {
    let gigahertz = cycles / on_cpu_s * 1e-9;
    (on_cpu_s > 0.0 && gigahertz > 0.0).then_some(Frequency { gigahertz, source })
}

/// Works untimed, so that the core's clock rises.
fn warm_up(clock: &Clock, duration: Duration, stop: &AtomicBool) {
    fn work<T: Ticks>(ticks: T, duration: u64, stop: &AtomicBool) {
        let start = ticks.now();
        while ticks.now().saturating_sub(start) < duration && !stop.load(Ordering::Relaxed) {
            Compute(ADDITIONS * 20).make();
        }
    }
    match clock.source {
        Source::Counter(ticks) => work(ticks, clock.ticks_of(duration), stop),
        Source::System(ticks) => work(ticks, clock.ticks_of(duration), stop),
    }
}

/// Timing of a visit, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    start: u64,
    /// Elapsed ticks.
    pub elapsed_ticks: u64,
    piece_ticks: u64,
}

fn time_visit(clock: &Clock, visit: Visit, stop: &AtomicBool, scratch: &mut Scratch) -> Timed {
    match clock.source {
        // Spin has no work to order before the clock reading.
        Source::Counter(ticks) if visit.work == WorkKind::Spin => with(clock, visit, ticks.unordered(), stop, scratch),
        Source::Counter(ticks) => with(clock, visit, ticks, stop, scratch),
        Source::System(ticks) => with(clock, visit, ticks, stop, scratch),
    }
}

fn with<T: Ticks>(clock: &Clock, visit: Visit, ticks: T, stop: &AtomicBool, scratch: &mut Scratch) -> Timed {
    let Scratch { pieces, stalls, memory } = scratch;
    let limits = Limits::of(clock, visit);
    match (visit.work, memory) {
        (WorkKind::Memory, Some(memory)) => time_work(ticks, memory, limits, stop, pieces, stalls),
        (WorkKind::Spin, _) => time_work(ticks, &mut Spin, limits, stop, pieces, stalls),
        (WorkKind::Syscall, _) => time_work(ticks, &mut Syscall, limits, stop, pieces, stalls),
        _ => time_work(ticks, &mut Compute(ADDITIONS), limits, stop, pieces, stalls),
    }
}

fn with_piece<T: Ticks>(
    clock: &Clock,
    visit: Visit,
    ticks: T,
    stop: &AtomicBool,
    scratch: &mut Scratch,
    piece: &mut impl Piece,
) -> Timed {
    time_work(ticks, piece, Limits::of(clock, visit), stop, &mut scratch.pieces, &mut scratch.stalls)
}

/// Limits in ticks.
#[derive(Clone, Copy, Debug)]
struct Limits {
    duration: u64,
    threshold: u64,
}

impl Limits {
    fn of(clock: &Clock, visit: Visit) -> Self {
        let threshold = (visit.threshold_ns / clock.nanoseconds_per_tick).round() as u64;
        Self { duration: clock.ticks_of(visit.duration), threshold }
    }
}

fn time_work<T: Ticks>(
    ticks: T,
    work: &mut impl Piece,
    limits: Limits,
    stop: &AtomicBool,
    pieces: &mut Histogram,
    stalls: &mut Stalls,
) -> Timed {
    let piece_ticks = usual_piece(ticks, work);
    stalls.begin(ticks, piece_ticks.saturating_add(limits.threshold));
    let start = ticks.now();
    let elapsed_ticks = time_pieces(ticks, work, start, limits.duration, stop, pieces, stalls);
    Timed { start, elapsed_ticks, piece_ticks }
}

/// Returns the undisturbed time of a piece: the median of a few.
fn usual_piece<T: Ticks>(ticks: T, work: &mut impl Piece) -> u64 {
    let mut last = ticks.now();
    let mut took = [0_u64; 255];
    for one in &mut took {
        work.make();
        let now = ticks.now();
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
pub fn time_pieces<T: Ticks>(
    ticks: T,
    work: &mut impl Piece,
    start: u64,
    duration: u64,
    stop: &AtomicBool,
    pieces: &mut Histogram,
    stalls: &mut Stalls,
) -> u64 {
    let from = stalls.from_ticks;
    let mut last = start;
    loop {
        for _ in 0..PIECES_PER_LOOK {
            work.make();
            let now = ticks.now();
            let took = now.saturating_sub(last);
            pieces.record(took);
            last = now;
            if took >= from {
                last = stalls.keep(ticks, now - took, now, pieces);
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
    use corewise_sys::clock::Moment;

    use super::*;

    /// A clock whose readings are 300 ticks apart, but for stalls at some readings in a row.
    #[derive(Clone, Copy)]
    struct Scripted<'a> {
        readings: &'a AtomicU64,
        stall_at: u64,
        stalls: u64,
        stall: u64,
    }

    impl Ticks for Scripted<'_> {
        fn now(self) -> u64 {
            let reading = self.readings.fetch_add(1, Ordering::Relaxed);
            300 * reading + self.stall * (reading + 1).saturating_sub(self.stall_at).min(self.stalls)
        }
    }

    /// How often the clock is read before the first piece: once for the beginning, and before that to time glances.
    const READINGS_BEFORE: u64 = 2 * 15 + 2;

    fn time(ticks: Scripted<'_>, pieces: &mut Histogram, stalls: &mut Stalls) -> u64 {
        time_pieces(ticks, &mut Compute(20), ticks.now(), 500_000, &AtomicBool::new(false), pieces, stalls)
    }

    #[test]
    fn no_stall_falls_between_two_pieces() {
        // A stall at every place of the loop, the looks at deadline and stop flag among them.
        for stall_at in READINGS_BEFORE..READINGS_BEFORE + 1100 {
            let readings = AtomicU64::new(0);
            let ticks = Scripted { readings: &readings, stall_at, stalls: 1, stall: 50_000 };
            let mut pieces = Histogram::new(1.0);
            let mut stalls = Stalls::new();
            stalls.begin(ticks, 10_000);
            let elapsed = time(ticks, &mut pieces, &mut stalls);
            let recorded: u64 = pieces.counts().iter().map(|(ticks, count)| ticks * count).sum();
            assert_eq!(pieces.count_from_ns(40_000.0), 1, "stall at reading {stall_at}");
            let timed = elapsed - stalls.bookkeeping_ticks;
            assert!(recorded.abs_diff(timed) <= timed / 1000, "{recorded} of {timed}");
            let line = Translation::new(Moment { ticks: 0, raw_ns: 0 }, Moment { ticks: 100, raw_ns: 100 }, 1.0);
            let kept: Vec<u64> = stalls.in_nanoseconds(&line).iter().map(Stall::length_ns).collect();
            assert_eq!(kept, [50_300], "stall at reading {stall_at}");
        }
    }

    #[test]
    fn a_stall_of_the_look_at_a_stall_is_kept_too() {
        for in_a_row in 1..5 {
            let readings = AtomicU64::new(0);
            let ticks =
                Scripted { readings: &readings, stall_at: READINGS_BEFORE + 700, stalls: in_a_row, stall: 50_000 };
            let (mut pieces, mut stalls) = (Histogram::new(1.0), Stalls::new());
            stalls.begin(ticks, 10_000);
            let elapsed = time(ticks, &mut pieces, &mut stalls);
            let recorded: u64 = pieces.counts().iter().map(|(ticks, count)| ticks * count).sum();
            assert_eq!(pieces.count_from_ns(40_000.0), in_a_row);
            assert_eq!(stalls.count() as u64, in_a_row);
            assert_eq!(stalls.bookkeeping_ticks, 300, "the last look was not interrupted");
            assert!((recorded + 300).abs_diff(elapsed) <= elapsed / 1000, "{recorded} of {elapsed}");
        }
    }

    #[test]
    fn looks_that_have_become_slow_do_not_keep_the_visit_from_ending() {
        let readings = AtomicU64::new(0);
        let ticks = Scripted { readings: &readings, stall_at: READINGS_BEFORE + 700, stalls: u64::MAX, stall: 50_000 };
        let (mut pieces, mut stalls) = (Histogram::new(1.0), Stalls::new());
        stalls.begin(ticks, 10_000);
        time(ticks, &mut pieces, &mut stalls);
        let seen = pieces.count_from_ns(40_000.0);
        assert_eq!(stalls.count() as u64 + stalls.not_kept, seen);
        assert!(stalls.not_kept > 0);
    }

    #[test]
    fn looks_that_are_always_slow_are_no_stalls() {
        let readings = AtomicU64::new(0);
        let ticks = Scripted { readings: &readings, stall_at: 0, stalls: u64::MAX, stall: 50_000 };
        let (mut pieces, mut stalls) = (Histogram::new(1.0), Stalls::new());
        stalls.begin(ticks, 10_000);
        stalls.keep(ticks, 0, ticks.now(), &mut pieces);
        assert_eq!((stalls.count(), pieces.count()), (1, 0));
    }

    #[test]
    fn time_off_the_cpu_does_not_slow_the_clock() {
        let half = clock_rate(1.85e9, 0.5, FrequencySource::Cycles).unwrap();
        assert!((half.gigahertz - 3.7).abs() < 1e-9);
        assert_eq!(clock_rate(1e9, 0.0, FrequencySource::Cycles), None);
    }

    #[test]
    fn a_cpu_that_cannot_be_had_is_a_gap() {
        let clock = Clock::calibrated();
        let mut scratch = Scratch::new(clock.nanoseconds_per_tick, WorkKind::Compute);
        let second = Duration::from_secs(1);
        let elsewhere = Visit {
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
        let gap = visit(&clock, elsewhere, None, &AtomicBool::new(false), &mut scratch).unwrap_err();
        assert_eq!(gap.what, "tail of cpu 8000");
        assert_eq!(scratch.pieces.count(), 0);
    }
}
