//! The tail probe: a fixed piece of work timed over and over on one cpu, no stall left out.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corewise_model::Gap;
use corewise_model::histogram::Histogram;
use corewise_model::survey::{CpuRound, Frequency, FrequencySource, Tail};
use corewise_sys::clock::{Clock, Source, Ticks};
use corewise_sys::linux::affinity;
use corewise_sys::linux::counters::CycleCounter;
use corewise_sys::linux::counts::KernelCounts;
use corewise_sys::linux::thread::ThreadMoment;
use corewise_sys::work::dependent_additions;

use super::frequency;

/// How many dependent additions a piece is: as many core cycles, about 250 ns at 4 GHz. The same on every machine and in
/// every version, so that surveys can be compared.
pub const ADDITIONS: u32 = 1000;

/// Pieces between two looks at the clock's deadline and the stop flag; about 0.15 ms.
const PIECES_PER_LOOK: u32 = 512;

/// One visit to one cpu.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// The cpu.
    pub cpu: u32,
    /// Which round, from 0.
    pub round: u32,
    /// Its place in the round, from 0.
    pub place: u32,
    /// How long to time pieces for.
    pub duration: Duration,
    /// How long to work untimed before, so that the core's clock has risen.
    pub warm_up: Duration,
    /// Whether to read the kernel's counts before and after.
    pub counting: bool,
}

/// What a visit gave: the round's figures, and what could not be had.
#[derive(Debug)]
pub struct Visited {
    /// The figures.
    pub round: CpuRound,
    /// Facts that could not be had on this visit.
    pub gaps: Vec<Gap>,
}

/// Visits a cpu from a thread of its own, which is pinned there and checked before and after.
///
/// The histogram is cleared first and holds the visit's pieces afterwards.
///
/// # Errors
/// The gap that says why the cpu could not be measured; its pieces do not count.
pub fn visit(clock: &Clock, visit: Visit, stop: &AtomicBool, pieces: &mut Histogram) -> Result<Visited, Gap> {
    pieces.clear();
    let measured = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name(format!("tail {}", visit.cpu))
            .spawn_scoped(scope, || on_cpu(clock, visit, stop, pieces))
            .and_then(|thread| thread.join().map_err(|_| std::io::Error::other("the measuring thread died"))?)
    });
    measured.map_err(|error| Gap::new(format!("tail of cpu {}", visit.cpu), error.to_string()))
}

/// Runs on the visit's own thread.
fn on_cpu(clock: &Clock, visit: Visit, stop: &AtomicBool, pieces: &mut Histogram) -> std::io::Result<Visited> {
    affinity::pin_current(visit.cpu)?;
    let mut gaps = Vec::new();
    let mut counter = CycleCounter::start().map_err(|gap| gaps.push(gap)).ok();
    match clock.source {
        Source::Counter(ticks) => warm_up(ticks, clock.ticks_of(visit.warm_up), stop),
        Source::System(ticks) => warm_up(ticks, clock.ticks_of(visit.warm_up), stop),
    }
    let counts = visit.counting.then(KernelCounts::now);
    let cycles = counter.as_mut().and_then(CycleCounter::cycles);
    let before = ThreadMoment::now()?;
    let duration = clock.ticks_of(visit.duration);
    let elapsed_ticks = match clock.source {
        Source::Counter(ticks) => time_pieces(ticks, ADDITIONS, duration, stop, pieces),
        Source::System(ticks) => time_pieces(ticks, ADDITIONS, duration, stop, pieces),
    };
    let cycles = counter.as_mut().and_then(|counter| Some(counter.cycles()? - cycles?));
    let thread = ThreadMoment::now()?.since(&before);
    let elapsed_s = elapsed_ticks as f64 * clock.nanoseconds_per_tick * 1e-9;
    let happened = counts.map(|before| KernelCounts::now().since(&before, visit.cpu)).unwrap_or_default();
    let counted = counter.zip(cycles).and_then(|(counter, cycles)| {
        let source = if counter.counts_kernel { FrequencySource::Cycles } else { FrequencySource::UserCycles };
        clock_rate(cycles, elapsed_s - thread.off_cpu_s, source)
    });
    let frequency = counted.or_else(|| frequency::estimate(clock, stop));
    affinity::check_pinned(visit.cpu)?;
    let round = CpuRound {
        round: visit.round,
        place: visit.place,
        elapsed_s,
        tail: Tail::of(pieces, clock.step_ns),
        frequency,
        interrupts: happened.interrupts,
        softirqs: happened.softirqs,
        thread,
        stolen_s: happened.stolen_s,
    };
    Ok(Visited { round, gaps })
}

/// The counter stands still while the thread is off the cpu, so only its time on the cpu counts.
fn clock_rate(cycles: f64, on_cpu_s: f64, source: FrequencySource) -> Option<Frequency> {
    let gigahertz = cycles / on_cpu_s * 1e-9;
    (on_cpu_s > 0.0 && gigahertz > 0.0).then_some(Frequency { gigahertz, source })
}

fn warm_up<T: Ticks>(ticks: T, duration: u64, stop: &AtomicBool) {
    let start = ticks.now();
    while ticks.now().saturating_sub(start) < duration && !stop.load(Ordering::Relaxed) {
        black_box(dependent_additions(ADDITIONS * 20, 1));
    }
}

/// Times pieces until the duration is over; returns the ticks it really took.
///
/// The reading that ends a piece begins the next, so no stall can fall between two pieces: the recorded durations add
/// up to the time that passed, the cost of recording among them.
pub fn time_pieces<T: Ticks>(
    ticks: T,
    additions: u32,
    duration: u64,
    stop: &AtomicBool,
    pieces: &mut Histogram,
) -> u64 {
    let start = ticks.now();
    let mut last = start;
    loop {
        for _ in 0..PIECES_PER_LOOK {
            black_box(dependent_additions(black_box(additions), 1));
            let now = ticks.now();
            pieces.record(now.saturating_sub(last));
            last = now;
        }
        if last.saturating_sub(start) >= duration || stop.load(Ordering::Relaxed) {
            return last.saturating_sub(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// A clock whose readings are 300 ticks apart, but for one stall.
    #[derive(Clone, Copy)]
    struct Scripted<'a> {
        readings: &'a AtomicU64,
        stall_at: u64,
        stall: u64,
    }

    impl Ticks for Scripted<'_> {
        fn now(self) -> u64 {
            let reading = self.readings.fetch_add(1, Ordering::Relaxed);
            300 * reading + if reading >= self.stall_at { self.stall } else { 0 }
        }
    }

    #[test]
    fn no_stall_falls_between_two_pieces() {
        // A stall at every place of the loop, the looks at deadline and stop flag among them.
        for stall_at in 1..1100 {
            let readings = AtomicU64::new(0);
            let ticks = Scripted { readings: &readings, stall_at, stall: 50_000 };
            let mut pieces = Histogram::new(1.0);
            let elapsed = time_pieces(ticks, 20, 500_000, &AtomicBool::new(false), &mut pieces);
            let recorded: u64 = pieces.counts().iter().map(|(ticks, count)| ticks * count).sum();
            assert_eq!(pieces.count_from_ns(40_000.0), 1, "stall at reading {stall_at}");
            assert!(recorded.abs_diff(elapsed) <= elapsed / 1000, "{recorded} of {elapsed}");
        }
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
        let mut pieces = Histogram::new(clock.nanoseconds_per_tick);
        let second = Duration::from_secs(1);
        let elsewhere = Visit { cpu: 8000, round: 0, place: 0, duration: second, warm_up: second, counting: false };
        let gap = visit(&clock, elsewhere, &AtomicBool::new(false), &mut pieces).unwrap_err();
        assert_eq!(gap.what, "tail of cpu 8000");
        assert_eq!(pieces.count(), 0);
    }
}
