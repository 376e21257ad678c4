//! Kernel events of cpus, subscribed to by interest: decoded tracepoints from perf's rings, or from an instance of ftrace.
//!
//! A [`EventRecorder`] is opened once. While it is [enabled](EventRecorder::enable_events) the kernel's tracepoints are live, which changes code that all
//! cpus run. A [`EventStream`] collects the events of one cpu until it is drained. Nothing is woken: buffers are read afterwards, and events
//! that had no room are counted.

mod decode;
mod format;
mod ftrace;
mod pages;
mod perf;
mod symbols;
mod tracefs;

use std::io;
use std::sync::Arc;

use corewise_machine::Gap;
use corewise_machine::event::{EventSource, KernelEvent};

use super::process::ProcessIdentity;
pub use crate::values::events::{DrainedEvents, EventInterest};
use decode::TracepointCatalogue;
use ftrace::FtraceInstance;
pub use tracefs::TraceFolder;

/// Access to the kernel's events for this process.
#[derive(Debug)]
pub struct EventRecorder {
    catalogue: TracepointCatalogue,
    way: RecordingWay,
    /// Requested tracepoints that this kernel lacks.
    pub gaps: Vec<Gap>,
}

#[derive(Debug)]
enum RecordingWay {
    Perf,
    /// One for each group of interests.
    Ftrace(Vec<FtraceInstance>),
}

impl EventRecorder {
    /// Opens the tracepoints of the preferred source, or of the other if these are refused. `groups` are the interests that are collected
    /// together on a cpu.
    ///
    /// perf records only on the cpus of its streams, and knows this process's own numbers of tasks. A record of ftrace takes less time.
    /// ftrace's instances are removed with this value. If this process is killed, the next corewise or [`remove_left_instance`] removes
    /// them.
    ///
    /// # Errors
    /// The gap that says why neither is available, and what would change that.
    pub fn open(preferred: EventSource, groups: &[&[EventInterest]]) -> Result<Self, Gap> {
        let tracefs = Arc::new(prepare_tracefs()?);
        let interests = groups.concat();
        let (catalogue, gaps) = TracepointCatalogue::read_formats(&tracefs, &interests);
        let by_perf = || perf::HeldCounters::new(&catalogue, &interests).map(|_| RecordingWay::Perf);
        let by_ftrace = || {
            let instance = |(number, group): (usize, &&[EventInterest])| {
                FtraceInstance::new(Arc::clone(&tracefs), number, &catalogue, group)
            };
            groups.iter().enumerate().map(instance).collect::<io::Result<_>>().map(RecordingWay::Ftrace)
        };
        let way = match preferred {
            EventSource::Ftrace => {
                by_ftrace().or_else(|ftrace| by_perf().map_err(|perf| perf::events_gap(&perf, &ftrace)))
            }
            _ => by_perf().or_else(|perf| by_ftrace().map_err(|ftrace| perf::events_gap(&perf, &ftrace))),
        };
        Ok(Self { way: way?, catalogue, gaps })
    }

    /// Returns the source in use.
    pub const fn event_source(&self) -> EventSource {
        match self.way {
            RecordingWay::Perf => EventSource::Perf,
            RecordingWay::Ftrace(_) => EventSource::Ftrace,
        }
    }

    /// Makes the tracepoints live until the result is dropped. Both steps change code under all cpus, which stalls them for some
    /// microseconds a few times; measurements in the first 100 ms are distorted.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn enable_events(&self, interests: &[EventInterest]) -> io::Result<EnabledEvents<'_>> {
        let held = match &self.way {
            RecordingWay::Perf => Some(perf::HeldCounters::new(&self.catalogue, interests)?),
            RecordingWay::Ftrace(_) => None,
        };
        // Dropping this value on an error turns the tracepoints off again.
        let enabled = EnabledEvents { recorder: self, _held: held };
        enabled.ftrace_instances().iter().try_for_each(|instance| instance.turn_tracing(true))?;
        Ok(enabled)
    }
}

/// Opens the tracepoints' file system and removes the instances of killed corewises.
fn prepare_tracefs() -> Result<TraceFolder, Gap> {
    same_clock()?;
    let tracefs = TraceFolder::open()?;
    ftrace::remove_left(&tracefs);
    Ok(tracefs)
}

/// Checks that events and this process share a clock. A time namespace may have an offset: time_namespaces(7).
fn same_clock() -> Result<(), Gap> {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let is_none = |line: &str| line.split_whitespace().skip(1).all(|number| number.trim_matches('0').is_empty());
    if offsets.lines().filter(|line| line.starts_with("monotonic")).all(is_none) {
        return Ok(());
    }
    Err(Gap::new("causes of stalls", "this time namespace has its own clock")
        .cured_by("run outside the container that changes the clock"))
}

/// Tracepoints that are live.
#[derive(Debug)]
pub struct EnabledEvents<'a> {
    recorder: &'a EventRecorder,
    _held: Option<perf::HeldCounters>,
}

impl<'a> EnabledEvents<'a> {
    /// Starts to collect the events of one cpu that serve some interests, in a buffer of about `buffer_bytes` (less if this user may not
    /// lock as much memory). Call it on that cpu, so that it interrupts no other.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn stream_events(
        &self,
        cpu: u32,
        interests: &[EventInterest],
        buffer_bytes: usize,
    ) -> io::Result<EventStream<'a>> {
        let recorder: &'a EventRecorder = self.recorder;
        let catalogue = &recorder.catalogue;
        Ok(match &recorder.way {
            RecordingWay::Perf => EventStream {
                catalogue,
                ring: EventRing::Perf(perf::PerfRing::new(catalogue, cpu, interests, buffer_bytes)?),
            },
            RecordingWay::Ftrace(instances) => {
                let instance = instances.iter().find(|instance| instance.serves_interests(interests));
                let instance = instance.ok_or_else(|| io::Error::other("no group holds all of these interests"))?;
                EventStream { catalogue, ring: EventRing::Ftrace(instance.pages_of(cpu, catalogue, interests)?) }
            }
        })
    }

    fn ftrace_instances(&self) -> &[FtraceInstance] {
        if let RecordingWay::Ftrace(instances) = &self.recorder.way { instances } else { &[] }
    }
}

impl Drop for EnabledEvents<'_> {
    fn drop(&mut self) {
        for instance in self.ftrace_instances() {
            // It goes with the instance at the latest.
            let _ = instance.turn_tracing(false);
        }
    }
}

/// The events of one cpu since this was made, or drained last.
#[derive(Debug)]
pub struct EventStream<'a> {
    catalogue: &'a TracepointCatalogue,
    ring: EventRing,
}

#[derive(Debug)]
enum EventRing {
    Perf(perf::PerfRing),
    Ftrace(ftrace::CpuPages),
}

impl EventStream<'_> {
    /// Appends the collected events, in recorded order. After a full buffer it waits a little for the kernel to report the number of lost
    /// events.
    pub fn drain_events(&mut self, into: &mut Vec<KernelEvent>) -> DrainedEvents {
        match &mut self.ring {
            EventRing::Perf(ring) => ring.drain_events(self.catalogue, into),
            EventRing::Ftrace(pages) => pages.drain_events(self.catalogue, into),
        }
    }

    /// As [`Self::drain_events`] without waiting: a later drain reports the lost events.
    pub fn drain_now(&mut self, into: &mut Vec<KernelEvent>) -> DrainedEvents {
        match &mut self.ring {
            EventRing::Perf(ring) => ring.drain_now(self.catalogue, into),
            EventRing::Ftrace(pages) => pages.drain_events(self.catalogue, into),
        }
    }
}

/// Returns the instances of ftrace that killed corewises left; none if tracefs may not be read.
pub fn left_instances() -> Vec<String> {
    TraceFolder::open().map_or_else(|_| Vec::new(), |tracefs| ftrace::abandoned_instances(&tracefs).collect())
}

/// Returns the process that made an instance of ftrace, by the instance's name.
pub fn owner_of_instance(name: &str) -> Option<ProcessIdentity> {
    ftrace::InstanceOwner::from_name(name).map(|owner| owner.process)
}

/// Removes one of [`left_instances`].
///
/// # Errors
/// The kernel's error.
pub fn remove_left_instance(name: &str) -> io::Result<()> {
    let tracefs = TraceFolder::open().map_err(|gap| io::Error::other(gap.why))?;
    ftrace::remove_instance(&tracefs, name)
}
