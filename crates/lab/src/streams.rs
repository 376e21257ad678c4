//! The kernel's events of many cpus as one stream in order of time, for whoever follows programs: drained now and then.

use std::collections::BTreeMap;
use std::io;

use corewise_machine::CpuSet;
use corewise_machine::event::Event;
use corewise_sys::events::{Drained, Enabled, Interest, Stream};
use corewise_sys::thread::monotonic_raw_ns;

/// An event that is this much older than the beginning of a drain, in nanoseconds, has reached its buffer: between its time
/// and its record there are some microseconds, unless a hypervisor takes the cpu in between.
const SETTLED_NS: u64 = 20_000_000;
/// Room for the events of all cpus together, in bytes, and the least and most for one.
const ALL_BYTES: usize = 256 << 20;
const LEAST_BYTES: usize = 256 << 10;
const MOST_BYTES: usize = 4 << 20;

/// Events in order of time, and what belongs to them.
#[derive(Debug, Default)]
pub struct Batch {
    /// The events.
    pub events: Vec<Event>,
    /// How many had no room since the last batch, by cpu.
    pub lost: Vec<(u32, u64)>,
    /// The draining thread's number in the system as a whole, where an event told it; 0 otherwise.
    pub own_task: u32,
}

/// The streams of several cpus.
#[derive(Debug)]
pub struct Streams<'a> {
    enabled: Enabled<'a>,
    buffer_bytes: usize,
    streams: BTreeMap<u32, Stream<'a>>,
    /// What was drained and is too young to stand in its place.
    young: Vec<Event>,
}

impl<'a> Streams<'a> {
    /// None yet, on tracepoints that are live; the buffers are made for so many cpus.
    pub fn new(enabled: Enabled<'a>, cpus: usize) -> Self {
        let share = ALL_BYTES / cpus.max(1);
        let buffer_bytes = (share / 2 + 1).next_power_of_two().clamp(LEAST_BYTES, MOST_BYTES);
        Self { enabled, buffer_bytes, streams: BTreeMap::new(), young: Vec::new() }
    }

    /// Begins to collect the events of a cpu that serve some interests; another interest in the same cpu takes the place of
    /// the one before.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(&mut self, cpu: u32, interests: &[Interest]) -> io::Result<()> {
        let stream = self.enabled.stream(cpu, interests, self.buffer_bytes)?;
        if let Some(mut before) = self.streams.insert(cpu, stream) {
            before.drain(&mut self.young);
        }
        Ok(())
    }

    /// The cpus.
    pub fn cpus(&self) -> CpuSet {
        self.streams.keys().copied().collect()
    }

    /// The events that are settled; the others follow with the next batch.
    pub fn drain(&mut self) -> Batch {
        let settled_ns = monotonic_raw_ns().saturating_sub(SETTLED_NS);
        self.collect(settled_ns)
    }

    /// All events until now.
    pub fn drain_all(&mut self) -> Batch {
        self.collect(u64::MAX)
    }

    fn collect(&mut self, until_ns: u64) -> Batch {
        let mut batch = Batch { events: std::mem::take(&mut self.young), ..Batch::default() };
        for (cpu, stream) in &mut self.streams {
            let Drained { lost, own_task, .. } = stream.drain_now(&mut batch.events);
            if lost > 0 {
                batch.lost.push((*cpu, lost));
            }
            batch.own_task = if own_task == 0 { batch.own_task } else { own_task };
        }
        // The sort keeps what one cpu recorded in its order, and is quick where runs are sorted already.
        batch.events.sort_by_key(|event| event.at_ns);
        let settled = batch.events.partition_point(|event| event.at_ns <= until_ns);
        self.young = batch.events.split_off(settled);
        batch
    }
}
