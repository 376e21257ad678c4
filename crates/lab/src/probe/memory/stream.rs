//! Streams: threads that read, write or copy one block after another of their own part of a node's memory.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_model::memory::StreamOperation;
use corewise_statistics::order::median;
use corewise_sys::affinity;
use corewise_sys::clock::{ClockSource, TickClock, TickSource};
use corewise_sys::stream::{copy, read, write, write_past_caches};

/// Size of a timed block: long against the clock reading, short against a time slice.
const BLOCK_BYTES: usize = 1 << 20;
/// Size of the block after which a loader waits.
const LOADER_BLOCK_BYTES: usize = 64 << 10;
/// Longest time for which threads that begin together wait for each other.
const MEETING: Duration = Duration::from_secs(1);
/// Minimum blocks of a thread.
const BLOCKS_ENOUGH: usize = 9;
const WORD_BYTES: usize = size_of::<u64>();

/// Operation, cpus and duration of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamRequest<'a> {
    /// The cpus, each with one thread.
    pub cpus: &'a CpuSet,
    /// The operation.
    pub operation: StreamOperation,
    /// The duration.
    pub length: Duration,
}

/// Measures the rate in gigabytes a second at which some cpus stream through memory together, each through its own part: the sum of the
/// medians of their blocks. Returns `None` if it was stopped, or other tasks kept a cpu, before there were enough blocks.
///
/// # Errors
/// If a cpu is not available, or if this processor has no such stores.
pub fn measure_stream(
    clock: &TickClock,
    streams: StreamRequest<'_>,
    words: &mut [u64],
    stop: &AtomicBool,
) -> io::Result<Option<f64>> {
    match clock.source {
        ClockSource::Counter(ticks) => time_streams(ticks, clock, streams, words, stop),
        ClockSource::System(ticks) => time_streams(ticks, clock, streams, words, stop),
    }
}

fn time_streams<T: TickSource>(
    ticks: T,
    clock: &TickClock,
    streams: StreamRequest<'_>,
    words: &mut [u64],
    stop: &AtomicBool,
) -> io::Result<Option<f64>> {
    if streams.operation == StreamOperation::WritePast && !write_past_caches(&mut [0], 0) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "this processor has no known stores past the caches"));
    }
    let threads = streams.cpus.len().max(1);
    let (arrived, share) = (AtomicUsize::new(0), words.len() / threads);
    let runs: Vec<io::Result<Option<f64>>> = scope(|scope| {
        let arrived = &arrived;
        let thread = |(cpu, own)| {
            Builder::new().name(format!("stream {cpu}")).spawn_scoped(scope, move || {
                affinity::pin_current(cpu)?;
                meet_threads(arrived, threads, stop);
                let moved = moved_bytes(streams.operation, share);
                let blocks = time_blocks(ticks, clock.ticks_of(streams.length), streams.operation, own, stop);
                affinity::check_pinned(cpu)?;
                Ok(gb_s(clock, &blocks, moved))
            })
        };
        let threads: Vec<_> = streams.cpus.iter().zip(words.chunks_mut(share.max(1))).map(thread).collect();
        threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|_| Err(early_end_error()))).collect()
    });
    let rates: io::Result<Option<Vec<f64>>> = runs.into_iter().collect();
    Ok(rates?.map(|rates| rates.iter().sum()))
}

fn early_end_error() -> io::Error {
    io::Error::other("its thread ended too early")
}

/// Waits until all threads have started.
fn meet_threads(arrived: &AtomicUsize, threads: usize, stop: &AtomicBool) {
    arrived.fetch_add(1, Ordering::AcqRel);
    let begun = Instant::now();
    while arrived.load(Ordering::Acquire) < threads && !stop.load(Ordering::Relaxed) && begun.elapsed() < MEETING {
        // If threads outnumber cpus, the missing ones need a cpu.
        std::thread::yield_now();
    }
}

/// Returns the words of a thread's block: small parts have smaller ones.
fn block_words(own: usize) -> usize {
    (BLOCK_BYTES / WORD_BYTES).min(own / 4).max(1)
}

/// Returns the bytes that a block counts: copies count reads and writes.
fn moved_bytes(operation: StreamOperation, own: usize) -> usize {
    let bytes = block_words(own) * WORD_BYTES;
    if operation == StreamOperation::Copy { 2 * bytes } else { bytes }
}

/// Returns the ticks of each block, until the time is over.
fn time_blocks(
    ticks: impl TickSource,
    length: u64,
    operation: StreamOperation,
    own: &mut [u64],
    stop: &AtomicBool,
) -> Vec<f64> {
    let size = block_words(own.len());
    let half = own.len() / 2;
    let (mut times, mut at) = (Vec::with_capacity(1 << 16), 0);
    let begin = ticks.read_ticks();
    let mut last = begin;
    while !stop.load(Ordering::Relaxed)
        && times.len() < times.capacity()
        && last.saturating_sub(begin) < super::AT_MOST * length
    {
        let whole = if operation == StreamOperation::Copy { half } else { own.len() };
        if at + size > whole {
            at = 0;
        }
        match operation {
            StreamOperation::Read => {
                black_box(read(&own[at..at + size]));
            }
            StreamOperation::Write => write(&mut own[at..at + size], at as u64),
            StreamOperation::WritePast => {
                write_past_caches(&mut own[at..at + size], at as u64);
            }
            StreamOperation::Copy => {
                let (from, to) = own.split_at_mut(half);
                copy(&from[at..at + size], &mut to[at..at + size], 1);
            }
        }
        at += size;
        let now = ticks.read_ticks();
        // The first fifth is not counted: the processor detects the stream.
        if now.saturating_sub(begin) > length / 5 {
            times.push(now.saturating_sub(last) as f64);
        }
        if now.saturating_sub(begin) > length && times.len() >= BLOCKS_ENOUGH {
            break;
        }
        last = now;
    }
    times
}

fn gb_s(clock: &TickClock, blocks: &[f64], bytes: usize) -> Option<f64> {
    // Bytes per nanosecond are gigabytes per second.
    (blocks.len() >= BLOCKS_ENOUGH).then(|| bytes as f64 / (median(blocks) * clock.nanoseconds_per_tick))
}

/// Threads that load a node's memory during a measurement.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLoaders<'a> {
    /// The cpus, each with one thread.
    pub cpus: &'a CpuSet,
    /// Pause of each thread after a block of 64 KiB.
    pub pause: Duration,
}

/// Result of a measurement under load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultUnderLoad<R> {
    /// Result of the measurement.
    pub result: R,
    /// Rate of the loaders, in gigabytes a second: the sum of the medians of their blocks and pauses.
    pub gb_s: f64,
}

impl MemoryLoaders<'_> {
    /// Runs a function under load. It begins when all loaders do.
    ///
    /// # Errors
    /// If a cpu is not available.
    pub fn run_under_load<R>(
        &self,
        clock: &TickClock,
        words: &[u64],
        stop: &AtomicBool,
        work: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<ResultUnderLoad<R>> {
        match clock.source {
            ClockSource::Counter(ticks) => self.time_under_load(ticks, clock, words, stop, work),
            ClockSource::System(ticks) => self.time_under_load(ticks, clock, words, stop, work),
        }
    }

    fn time_under_load<T: TickSource, R>(
        &self,
        ticks: T,
        clock: &TickClock,
        words: &[u64],
        stop: &AtomicBool,
        work: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<ResultUnderLoad<R>> {
        let threads = self.cpus.len();
        let share = words.len() / threads.max(1);
        let (done, arrived) = (AtomicBool::new(false), AtomicUsize::new(0));
        scope(|scope| {
            let (done, arrived, pause) = (&done, &arrived, clock.ticks_of(self.pause));
            let thread = |(cpu, own)| {
                Builder::new().name(format!("load {cpu}")).spawn_scoped(scope, move || {
                    let pinned = affinity::pin_current(cpu);
                    meet_threads(arrived, threads + 1, stop);
                    pinned?;
                    let times = load_memory(ticks, pause, own, done);
                    affinity::check_pinned(cpu)?;
                    Ok(gb_s(clock, &times, LOADER_BLOCK_BYTES.min(size_of_val(own))).unwrap_or(0.0))
                })
            };
            let threads_of: Vec<_> = self.cpus.iter().zip(words.chunks(share.max(1))).map(thread).collect();
            meet_threads(arrived, threads + 1, stop);
            let result = work();
            done.store(true, Ordering::Relaxed);
            let rates: io::Result<Vec<f64>> = threads_of
                .into_iter()
                .map(|thread| thread?.join().unwrap_or_else(|_| Err(early_end_error())))
                .collect();
            Ok(ResultUnderLoad { result: result?, gb_s: rates?.iter().sum() })
        })
    }
}

/// Reads blocks with pauses until it is done; returns the ticks of each block and pause.
fn load_memory(ticks: impl TickSource, pause: u64, own: &[u64], done: &AtomicBool) -> Vec<f64> {
    let size = (LOADER_BLOCK_BYTES / WORD_BYTES).min(own.len()).max(1);
    let mut times = Vec::with_capacity(1 << 16);
    let (mut at, mut last) = (0, ticks.read_ticks());
    while !done.load(Ordering::Relaxed) {
        if at + size > own.len() {
            at = 0;
        }
        black_box(read(&own[at..at + size]));
        at += size;
        let waiting = ticks.read_ticks();
        while ticks.read_ticks().saturating_sub(waiting) < pause && !done.load(Ordering::Relaxed) {}
        let now = ticks.read_ticks();
        if times.len() < times.capacity() {
            times.push(now.saturating_sub(last) as f64);
        }
        last = now;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_stream_moves_its_words() {
        let cpus = CpuSet::from_cpu(affinity::current_affinity().unwrap().lowest().unwrap());
        let (clock, stop) = (TickClock::calibrate_best(), AtomicBool::new(false));
        let mut words = vec![9_u64; 1 << 16];
        for operation in StreamOperation::ALL {
            let streams = StreamRequest { cpus: &cpus, operation, length: Duration::from_millis(2) };
            let rate = measure_stream(&clock, streams, &mut words, &stop).unwrap();
            assert!(rate.is_some_and(|rate| rate > 0.0), "{operation:?}");
        }
        let half = words.len() / 2;
        assert!(words[..half].iter().zip(&words[half..]).take(half / 4).all(|(from, to)| from ^ 1 == *to), "copied");
        let streams = StreamRequest { cpus: &cpus, operation: StreamOperation::Read, length: Duration::from_millis(2) };
        assert_eq!(measure_stream(&clock, streams, &mut words, &AtomicBool::new(true)).unwrap(), None);
        let nowhere = StreamRequest { cpus: &CpuSet::from_cpu(1 << 20), ..streams };
        assert!(measure_stream(&clock, nowhere, &mut words, &stop).is_err());
    }

    #[test]
    fn loaders_read_while_something_else_is_done() {
        let cpus = CpuSet::from_cpu(affinity::current_affinity().unwrap().lowest().unwrap());
        let (clock, stop) = (TickClock::calibrate_best(), AtomicBool::new(false));
        let words = vec![1_u64; 1 << 16];
        let loaders = MemoryLoaders { cpus: &cpus, pause: Duration::ZERO };
        let wait = || {
            std::thread::sleep(Duration::from_millis(20));
            Ok(5)
        };
        let load = loaders.run_under_load(&clock, &words, &stop, wait).unwrap();
        assert!(load.result == 5 && load.gb_s > 0.0, "{load:?}");
    }
}
