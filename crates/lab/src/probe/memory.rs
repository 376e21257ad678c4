//! Memory probe: dependent loads along a random chain, and streams, on pinned threads.

mod stream;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};
use std::time::Duration;

use corewise_statistics::order::median;
use corewise_sys::affinity;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};

use super::links::{ClockWarmth, PinnedCore};
pub use corewise_sys::chain::PointerChain;
pub use stream::{MemoryLoaders, ResultUnderLoad, StreamRequest, measure_stream};

/// Approximate duration of a timed piece: long against the clock reading, short against a time slice, so that the median excludes
/// interrupted pieces.
const PIECE: Duration = Duration::from_micros(40);
/// Loads of the first pieces, from which the piece's length is found.
const FIRST_LOADS: usize = 256;
/// Maximum loads of a piece.
const MOST_LOADS: usize = 1 << 16;
/// Minimum pieces of a visit: the median of fewer could be that of interruptions. A visit runs longer for them, up to [`AT_MOST`].
const PIECES_ENOUGH: usize = 16;
/// Maximum length of a visit, as a multiple of the planned length.
pub(super) const AT_MOST: u64 = 20;

/// Time of a load and the clock rate of its cpu.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedLoads {
    /// Median of the visit's pieces, in nanoseconds per load.
    pub ns: f64,
    /// Clock rate right afterwards, in gigahertz; `None` if the clock is too coarse.
    pub gigahertz: Option<f64>,
}

/// Times loads along a chain on one cpu. Returns `None` if it was stopped, or other tasks kept the cpu, before there were enough pieces.
///
/// # Errors
/// If the cpu is not available.
pub fn measure_latency(
    clock: &TickClock,
    warmth: &ClockWarmth,
    cpu: u32,
    chain: &mut PointerChain,
    length: Duration,
    stop: &AtomicBool,
) -> io::Result<Option<TimedLoads>> {
    run_on_cpu(cpu, || match clock.source {
        ClockSource::Counter(ticks) => time_loads(ticks, clock, warmth, cpu, chain, length, stop),
        ClockSource::System(ticks) => time_loads(ticks, clock, warmth, cpu, chain, length, stop),
    })
}

fn time_loads<T: TickSource>(
    ticks: T,
    clock: &TickClock,
    warmth: &ClockWarmth,
    cpu: u32,
    chain: &mut PointerChain,
    length: Duration,
    stop: &AtomicBool,
) -> Option<TimedLoads> {
    let core = PinnedCore { cpu, ticks, clock };
    let is_stopped = || stop.load(Ordering::Relaxed);
    warmth.warm_up(&core, is_stopped);
    let (end, warm) = (clock.ticks_of(length), clock.ticks_of(length / 5));
    let mut loads = FIRST_LOADS;
    let mut pieces: Vec<f64> = Vec::with_capacity((length.as_nanos() / PIECE.as_nanos()).max(16) as usize * 4);
    let begin = ticks.read_ticks();
    let mut last = begin;
    let mut now = begin;
    while !is_stopped() && pieces.len() < pieces.capacity() && now.saturating_sub(begin) < AT_MOST * end {
        chain.walk_chain(loads);
        now = ticks.read_ticks();
        let took = now.saturating_sub(last);
        // The first fifth warms caches and finds the length of a piece.
        if now.saturating_sub(begin) < warm {
            loads = needed_loads(loads, took, clock.ticks_of(PIECE));
        } else {
            pieces.push(took as f64 / loads as f64);
        }
        if now.saturating_sub(begin) >= end && pieces.len() >= PIECES_ENOUGH {
            break;
        }
        last = ticks.read_ticks();
    }
    let ns = median(&pieces) * clock.nanoseconds_per_tick;
    (pieces.len() >= PIECES_ENOUGH).then(|| TimedLoads { ns, gigahertz: warmth.look_at_core(&core) })
}

/// Estimates how many loads take `wanted` ticks.
fn needed_loads(loads: usize, took: u64, wanted: u64) -> usize {
    let more = wanted as f64 / took.max(1) as f64;
    ((loads as f64 * more) as usize).clamp(FIRST_LOADS, MOST_LOADS)
}

/// Runs a function on a new thread that is pinned to a cpu, and checks the pinning afterwards.
///
/// # Errors
/// If the cpu is not available, or was taken away meanwhile; or if no thread could be started.
pub fn run_on_cpu<R: Send>(cpu: u32, work: impl FnOnce() -> R + Send) -> io::Result<R> {
    scope(|scope| {
        let pinned = move || {
            affinity::pin_current(cpu)?;
            let result = work();
            affinity::check_pinned(cpu)?;
            Ok(result)
        };
        let thread = Builder::new().name(format!("memory {cpu}")).spawn_scoped(scope, pinned)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread ended too early")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_grows_until_it_is_long_enough_and_no_further() {
        assert_eq!(needed_loads(256, 1_000, 40_000), 10_240);
        assert_eq!(needed_loads(10_240, 80_000, 40_000), 5_120);
        assert_eq!((needed_loads(256, 0, u64::MAX), needed_loads(256, u64::MAX, 1)), (MOST_LOADS, FIRST_LOADS));
    }

    #[test]
    fn loads_are_timed_on_a_cpu_and_stopped_when_told() {
        let cpu = affinity::current_affinity().unwrap().lowest().unwrap();
        let (clock, warmth, stop) = (TickClock::calibrate_best(), ClockWarmth::default(), AtomicBool::new(false));
        let mut chain =
            PointerChain::on_fresh_memory(1 << 20, None, corewise_sys::memory::PageSize::Small, 64, 1).unwrap();
        assert!(chain.resize_to(1 << 20, &stop));
        let mut time = |stop: &AtomicBool| {
            measure_latency(&clock, &warmth, cpu, &mut chain, Duration::from_millis(2), stop).unwrap()
        };
        assert!(time(&stop).is_some_and(|loads| loads.ns > 0.1));
        assert_eq!(time(&AtomicBool::new(true)), None);
        assert!(run_on_cpu(1 << 20, || ()).is_err());
    }
}
