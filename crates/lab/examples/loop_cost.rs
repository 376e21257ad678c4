//! Measures the time of an iteration of the spin loop: bare, and as the tail probe records it.
//!
//! `cargo xtask bench-loop` runs it in the release profile; it ends with 1 if the loop costs more than it may.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use corewise_lab::probe::stalls::VisitStalls;
use corewise_lab::probe::tail::time_pieces;
use corewise_lab::probe::work::SpinWork;
use corewise_statistics::histogram::TickHistogram;
use corewise_statistics::order::quantile;
use corewise_sys::affinity;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};

/// Time limit of an iteration that only reads the clock and compares, in nanoseconds.
const BARE_AT_MOST_NS: f64 = 12.0;
/// Limit of the extra time of a recorded iteration, in nanoseconds.
const MORE_AT_MOST_NS: f64 = 10.0;
/// Number of rounds, in each of which all loops are measured.
const ROUNDS: usize = 101;
/// Approximate duration of one measurement, in nanoseconds: a few of the kernel's ticks.
const ROUND_NS: f64 = 20e6;
/// Shortest stall, in nanoseconds.
const STALL_NS: f64 = 5_000.0;

fn main() -> ExitCode {
    let clock = TickClock::calibrate_best();
    if let Some(cpu) = affinity::current_affinity().ok().and_then(|allowed| allowed.iter().last())
        && affinity::pin_current(cpu).is_ok()
    {
        println!("cpu {cpu}, clock {}", clock.name);
    }
    let times = match clock.source {
        ClockSource::Counter(ticks) => iteration_times(&clock, ticks.to_unordered()),
        ClockSource::System(ticks) => iteration_times(&clock, ticks),
    };
    let column = |which: fn(&[f64; 3]) -> f64| times.iter().map(which).collect::<Vec<f64>>();
    let [reading, bare, recorded] = [column(|row| row[0]), column(|row| row[1]), column(|row| row[2])]
        .map(|column| MedianSpread::from_values(&column));
    println!("ns an iteration, medians of {ROUNDS} rounds in turn [lower, upper quartile]");
    println!("  readings of the clock alone  {}", reading.format_spread());
    println!("  with a comparison            {}", bare.format_spread());
    println!("  recorded                     {}", recorded.format_spread());
    let more = recorded.median - bare.median;
    println!("  recording costs              {more:.2}");
    let is_cheap = bare.median <= BARE_AT_MOST_NS && more <= MORE_AT_MOST_NS;
    println!("at most {BARE_AT_MOST_NS} and {MORE_AT_MOST_NS} more: {}", if is_cheap { "yes" } else { "no" });
    if is_cheap { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct MedianSpread {
    median: f64,
    quartiles: [f64; 2],
}

impl MedianSpread {
    fn from_values(values: &[f64]) -> Self {
        Self { median: quantile(values, 0.5), quartiles: [quantile(values, 0.25), quantile(values, 0.75)] }
    }

    fn format_spread(&self) -> String {
        format!("{:.2} [{:.2}, {:.2}]", self.median, self.quartiles[0], self.quartiles[1])
    }
}

/// Returns the times of an iteration in each round, in nanoseconds: readings alone, with a comparison, recorded.
fn iteration_times<T: TickSource>(clock: &TickClock, ticks: T) -> Vec<[f64; 3]> {
    let duration = (ROUND_NS / clock.nanoseconds_per_tick) as u64;
    let from = (STALL_NS / clock.nanoseconds_per_tick) as u64;
    let (mut pieces, mut stalls) = (TickHistogram::new(clock.nanoseconds_per_tick), VisitStalls::new());
    let round = || {
        pieces.clear_counts();
        stalls.begin_visit(ticks, from);
        let in_ns = |(elapsed, count): (u64, u64)| elapsed as f64 / count as f64 * clock.nanoseconds_per_tick;
        let (reading, bare) = (count_readings(ticks, duration), run_bare_loop(ticks, duration, from));
        let elapsed = time_pieces(
            ticks,
            &mut SpinWork,
            ticks.read_ticks(),
            duration,
            &AtomicBool::new(false),
            &mut pieces,
            &mut stalls,
        );
        [in_ns(reading), in_ns(bare), in_ns((elapsed, pieces.count()))]
    };
    std::iter::repeat_with(round).take(ROUNDS).collect()
}

/// Reads the clock for a duration. Returns the elapsed ticks, stalls included, and the number of readings.
#[inline(never)]
fn count_readings<T: TickSource>(ticks: T, duration: u64) -> (u64, u64) {
    let (start, mut count) = (ticks.read_ticks(), 0);
    loop {
        for _ in 0..1024 {
            std::hint::black_box(ticks.read_ticks());
        }
        count += 1024;
        let elapsed = ticks.read_ticks() - start;
        if elapsed >= duration {
            return (elapsed, count);
        }
    }
}

/// Runs the probe's loop without recording. Returns the elapsed ticks and the number of iterations.
#[inline(never)]
fn run_bare_loop<T: TickSource>(ticks: T, duration: u64, from: u64) -> (u64, u64) {
    let start = ticks.read_ticks();
    let (mut last, mut count, mut stalls) = (start, 0, 0_u64);
    loop {
        for _ in 0..512 {
            let now = ticks.read_ticks();
            if now.saturating_sub(last) >= from {
                stalls = std::hint::black_box(stalls + 1);
            }
            last = now;
        }
        count += 512;
        if last - start >= duration {
            return (last - start, count);
        }
    }
}
