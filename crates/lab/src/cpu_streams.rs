//! The kernel's events of many cpus as one stream in order of time, drained now and then.

use std::collections::BTreeMap;
use std::io;

use corewise_machine::CpuSet;
use corewise_machine::event::KernelEvent;
use corewise_sys::events::{DrainedEvents, EnabledEvents, EventInterest, EventStream};
use corewise_sys::thread::monotonic_raw_ns;

/// Age, in nanoseconds, at which an event has surely reached its buffer. Between its time and its record there are
/// some microseconds, unless a hypervisor takes the cpu in between.
const SETTLED_NS: u64 = 20_000_000;
/// Size in bytes of the buffers of all cpus together, and the minimum and maximum for one.
const ALL_BYTES: usize = 256 << 20;
const LEAST_BYTES: usize = 256 << 10;
const MOST_BYTES: usize = 4 << 20;

/// Events in order of time.
#[derive(Debug, Default)]
pub struct EventBatch {
    /// The events.
    pub events: Vec<KernelEvent>,
    /// Number of events without room since the last batch, by cpu.
    pub lost: Vec<(u32, u64)>,
    /// Number of the draining thread in the system as a whole, if an event had it; 0 otherwise.
    pub own_task: u32,
}

/// Streams of several cpus.
#[derive(Debug)]
pub struct CpuStreams<'a> {
    enabled: EnabledEvents<'a>,
    buffer_bytes: usize,
    streams: BTreeMap<u32, EventStream<'a>>,
    /// Drained events that are too young to be put in order.
    young: Vec<KernelEvent>,
}

impl<'a> CpuStreams<'a> {
    /// Returns no streams yet, on live tracepoints; buffers are sized for this many cpus.
    pub fn new(enabled: EnabledEvents<'a>, cpus: usize) -> Self {
        let share = ALL_BYTES / cpus.max(1);
        let buffer_bytes = (share / 2 + 1).next_power_of_two().clamp(LEAST_BYTES, MOST_BYTES);
        Self { enabled, buffer_bytes, streams: BTreeMap::new(), young: Vec::new() }
    }

    /// Begins to collect the events of a cpu that serve some interests. Other interests in the same cpu replace
    /// earlier ones.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn open(&mut self, cpu: u32, interests: &[EventInterest]) -> io::Result<()> {
        let stream = self.enabled.stream_events(cpu, interests, self.buffer_bytes)?;
        if let Some(mut before) = self.streams.insert(cpu, stream) {
            before.drain_events(&mut self.young);
        }
        Ok(())
    }

    /// Returns the cpus.
    pub fn cpus(&self) -> CpuSet {
        self.streams.keys().copied().collect()
    }

    /// Returns the settled events; others follow with the next batch.
    pub fn drain_settled(&mut self) -> EventBatch {
        let settled_ns = monotonic_raw_ns().saturating_sub(SETTLED_NS);
        self.collect_until(settled_ns)
    }

    /// Returns all events until now.
    pub fn drain_all(&mut self) -> EventBatch {
        self.collect_until(u64::MAX)
    }

    fn collect_until(&mut self, until_ns: u64) -> EventBatch {
        let mut batch = EventBatch { events: std::mem::take(&mut self.young), ..EventBatch::default() };
        for (cpu, stream) in &mut self.streams {
            let DrainedEvents { lost, own_task, .. } = stream.drain_now(&mut batch.events);
            if lost > 0 {
                batch.lost.push((*cpu, lost));
            }
            batch.own_task = if own_task == 0 { batch.own_task } else { own_task };
        }
        // The sort keeps the order of one cpu's events, and is fast for sorted runs.
        batch.events.sort_by_key(|event| event.at_ns);
        let settled = batch.events.partition_point(|event| event.at_ns <= until_ns);
        self.young = batch.events.split_off(settled);
        batch
    }
}
