//! Tracepoints through perf_event_open(2): one ring for all tracepoints of a cpu, in CLOCK_MONOTONIC_RAW, without wake-ups.

use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use corewise_machine::Gap;
use corewise_machine::event::KernelEvent;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};

use super::super::lockdown::explain_lockdown;
use super::super::thread::own_number;
use super::decode::TracepointCatalogue;
use crate::values::events::{DrainedEvents, EventInterest};

/// Smallest ring for a user that may not lock more memory, in bytes.
const SMALLEST_BYTES: usize = 1 << 16;
/// Time until the next record on any cpu that is not idle.
const UNTIL_NEXT_RECORD: Duration = Duration::from_millis(5);
/// Kinds of records (include/uapi/linux/perf_event.h).
const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_SAMPLE: u32 = 9;
/// `PERF_EVENT_IOC_SET_OUTPUT`, `_IO('$', 5)`.
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// One event of each tracepoint that counts nothing. While it is open, the tracepoint stays live, and opening another changes no code.
#[derive(Debug)]
pub struct HeldCounters(#[allow(dead_code, reason = "what counts is that they are open")] Vec<Counter>);

impl HeldCounters {
    /// Makes the tracepoints live that serve some interests.
    pub fn new(catalogue: &TracepointCatalogue, interests: &[EventInterest]) -> io::Result<Self> {
        let tracepoints = catalogue.serving_tracepoints(interests);
        if tracepoints.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "this kernel has none of the tracepoints"));
        }
        tracepoints.into_iter().map(|(id, _)| counter_builder(id).build()).collect::<io::Result<_>>().map(Self)
    }
}

fn counter_builder(id: u16) -> Builder<'static> {
    let mut builder = Builder::new(Tracepoint::with_id(u64::from(id)));
    builder
        .include_kernel()
        .include_hv()
        .sample_period(1)
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW)
        .clockid(Clock::MONOTONIC_RAW)
        // Never: the ring is read after the measurement.
        .wakeup_watermark(1 << 30);
    builder
}

/// The ring of one cpu.
pub struct PerfRing {
    cpu: u32,
    own: u32,
    bytes: usize,
    sampler: Sampler,
    #[allow(dead_code, reason = "their records go to the first one's ring while they are open")]
    others: Vec<Counter>,
}

impl std::fmt::Debug for PerfRing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ring").field("cpu", &self.cpu).finish_non_exhaustive()
    }
}

impl PerfRing {
    /// Opens the tracepoints on a cpu and starts.
    pub fn new(
        catalogue: &TracepointCatalogue,
        cpu: u32,
        interests: &[EventInterest],
        bytes: usize,
    ) -> io::Result<Self> {
        let open = |id: u16| counter_builder(id).any_pid().one_cpu(cpu as usize).build();
        let tracepoints = catalogue.serving_tracepoints(interests);
        let Some(((first, _), rest)) = tracepoints.split_first() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "this kernel has none of the tracepoints"));
        };
        let (mut sampler, bytes) = map_ring(|| open(*first), bytes)?;
        let mut others = Vec::with_capacity(rest.len());
        for (id, _) in rest {
            let counter = open(*id)?;
            // SAFETY: both descriptors are open, and this request takes a descriptor as its argument.
            if unsafe { libc::ioctl(counter.as_raw_fd(), SET_OUTPUT as _, sampler.as_raw_fd()) } != 0 {
                return Err(io::Error::last_os_error());
            }
            others.push(counter);
        }
        sampler.as_counter_mut().enable()?;
        others.iter_mut().try_for_each(Counter::enable)?;
        Ok(Self { cpu, own: own_number(), bytes, sampler, others })
    }

    /// Reads the records in the ring, without waiting.
    pub fn drain_now(&mut self, catalogue: &TracepointCatalogue, into: &mut Vec<KernelEvent>) -> DrainedEvents {
        let mut drained = DrainedEvents::default();
        self.drain_once(catalogue, into, &mut drained);
        drained
    }

    /// Reads the records in the ring.
    pub fn drain_events(&mut self, catalogue: &TracepointCatalogue, into: &mut Vec<KernelEvent>) -> DrainedEvents {
        let mut drained = DrainedEvents::default();
        let read_bytes = self.drain_once(catalogue, into, &mut drained);
        // A ring that was full reports the lost records with the next record that fits: when the cpu's timer strikes, or the calling thread
        // wakes there.
        if read_bytes > self.bytes / 2 {
            std::thread::sleep(UNTIL_NEXT_RECORD);
            self.drain_once(catalogue, into, &mut drained);
        }
        drained
    }

    /// Reads the ring once; returns the number of bytes read.
    fn drain_once(
        &mut self,
        catalogue: &TracepointCatalogue,
        into: &mut Vec<KernelEvent>,
        drained: &mut DrainedEvents,
    ) -> usize {
        let mut read_bytes = 0;
        // No more than the ring holds: if another cpu fills it as fast as it is read, reading would never end.
        while read_bytes < self.bytes
            && let Some(record) = self.sampler.next_record()
        {
            let bytes = record.to_contiguous();
            read_bytes += bytes.len();
            match record.ty() {
                PERF_RECORD_SAMPLE => {
                    let Some((thread, event)) = parse_sample(catalogue, self.cpu, &bytes) else { continue };
                    if thread == self.own {
                        drained.own_task = event.task;
                    }
                    into.push(event);
                }
                PERF_RECORD_LOST => {
                    drained.lost += read_number(&bytes, 8);
                    let last_ns = || into.last().map_or(0, |event: &KernelEvent| event.at_ns);
                    drained.nothing_after_ns.get_or_insert_with(last_ns);
                }
                _ => {}
            }
        }
        read_bytes
    }
}

/// Maps a ring of the wanted size, or the largest that this user may lock; returns its size too.
fn map_ring(open: impl Fn() -> io::Result<Counter>, mut bytes: usize) -> io::Result<(Sampler, usize)> {
    loop {
        match open()?.sampled(bytes) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && bytes > SMALLEST_BYTES => bytes /= 2,
            other => return other.map(|sampler| (sampler, bytes)),
        }
    }
}

/// Parses a sample with TID, TIME and RAW: the thread's number in this process's namespace, and the event.
fn parse_sample(catalogue: &TracepointCatalogue, cpu: u32, bytes: &[u8]) -> Option<(u32, KernelEvent)> {
    let thread = u32::from_ne_bytes(bytes.get(4..8)?.try_into().ok()?);
    let at_ns = read_number(bytes, 8);
    let length = u32::from_ne_bytes(bytes.get(16..20)?.try_into().ok()?) as usize;
    let raw = bytes.get(20..20 + length)?;
    let (task, what) = catalogue.decode_record(raw)?;
    Some((thread, KernelEvent { at_ns, cpu, task, what }))
}

fn read_number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

/// Returns the gap that says why neither perf nor ftrace is available.
pub fn events_gap(perf: &io::Error, ftrace: &io::Error) -> Gap {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let level = match level.trim() {
        "" => String::new(),
        level => format!(" (perf_event_paranoid is {level})"),
    };
    let why = format!("perf's tracepoints are refused: {perf}{level}; so is an ftrace instance: {ftrace}");
    let gap = Gap::new("causes of stalls", why).cured_by("run as root, or with CAP_PERFMON and a readable tracefs");
    explain_lockdown(gap)
}
