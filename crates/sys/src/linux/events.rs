//! Kernel events of cpus, subscribed to by interest: decoded tracepoints from perf's rings, or from an instance of ftrace.
//!
//! A [`Recorder`] is opened once. While it is [enabled](Recorder::enable) the kernel's tracepoints are live, which changes code that all
//! cpus run. A [`Stream`] collects the events of one cpu until it is drained. Nothing is woken: buffers are read afterwards, and events
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
use corewise_machine::event::{Event, EventSource};

use super::process::Process;
pub use crate::values::events::{Drained, Interest};
use decode::Catalogue;
use ftrace::Instance;
pub use tracefs::Tracefs;

/// Access to the kernel's events for this process.
#[derive(Debug)]
pub struct Recorder {
    catalogue: Catalogue,
    way: Way,
    /// Requested tracepoints that this kernel lacks.
    pub gaps: Vec<Gap>,
}

#[derive(Debug)]
enum Way {
    Perf,
    /// One for each group of interests.
    Ftrace(Vec<Instance>),
}

impl Recorder {
    /// Opens the tracepoints of the preferred source, or of the other if these are refused. `groups` are the interests that are collected
    /// together on a cpu.
    ///
    /// perf records only on the cpus of its streams, and knows this process's own numbers of tasks. A record of ftrace takes less time.
    /// ftrace's instances are removed with this value. If this process is killed, the next corewise or [`remove_left_instance`] removes
    /// them.
    ///
    /// # Errors
    /// The gap that says why neither is available, and what would change that.
    pub fn open(preferred: EventSource, groups: &[&[Interest]]) -> Result<Self, Gap> {
        let tracefs = Arc::new(prepared()?);
        let interests = groups.concat();
        let (catalogue, gaps) = Catalogue::read(&tracefs, &interests);
        let by_perf = || perf::Held::new(&catalogue, &interests).map(|_| Way::Perf);
        let by_ftrace = || {
            let instance =
                |(number, group): (usize, &&[Interest])| Instance::new(Arc::clone(&tracefs), number, &catalogue, group);
            groups.iter().enumerate().map(instance).collect::<io::Result<_>>().map(Way::Ftrace)
        };
        let way = match preferred {
            EventSource::Ftrace => by_ftrace().or_else(|ftrace| by_perf().map_err(|perf| perf::gap(&perf, &ftrace))),
            _ => by_perf().or_else(|perf| by_ftrace().map_err(|ftrace| perf::gap(&perf, &ftrace))),
        };
        Ok(Self { way: way?, catalogue, gaps })
    }

    /// Returns the source in use.
    pub const fn event_source(&self) -> EventSource {
        match self.way {
            Way::Perf => EventSource::Perf,
            Way::Ftrace(_) => EventSource::Ftrace,
        }
    }

    /// Makes the tracepoints live until the result is dropped. Both steps change code under all cpus, which stalls them for some
    /// microseconds a few times; measurements in the first 100 ms are distorted.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn enable(&self, interests: &[Interest]) -> io::Result<Enabled<'_>> {
        let held = match &self.way {
            Way::Perf => Some(perf::Held::new(&self.catalogue, interests)?),
            Way::Ftrace(_) => None,
        };
        // Dropping this value on an error turns the tracepoints off again.
        let enabled = Enabled { recorder: self, _held: held };
        enabled.instances().iter().try_for_each(|instance| instance.turn(true))?;
        Ok(enabled)
    }
}

/// Opens the tracepoints' file system and removes the instances of killed corewises.
fn prepared() -> Result<Tracefs, Gap> {
    same_clock()?;
    let tracefs = Tracefs::open()?;
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
pub struct Enabled<'a> {
    recorder: &'a Recorder,
    _held: Option<perf::Held>,
}

impl<'a> Enabled<'a> {
    /// Starts to collect the events of one cpu that serve some interests, in a buffer of about `buffer_bytes` (less if this user may not
    /// lock as much memory). Call it on that cpu, so that it interrupts no other.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn stream(&self, cpu: u32, interests: &[Interest], buffer_bytes: usize) -> io::Result<Stream<'a>> {
        let recorder: &'a Recorder = self.recorder;
        let catalogue = &recorder.catalogue;
        Ok(match &recorder.way {
            Way::Perf => {
                Stream { catalogue, ring: Ring::Perf(perf::Ring::new(catalogue, cpu, interests, buffer_bytes)?) }
            }
            Way::Ftrace(instances) => {
                let instance = instances.iter().find(|instance| instance.serves(interests));
                let instance = instance.ok_or_else(|| io::Error::other("no group holds all of these interests"))?;
                Stream { catalogue, ring: Ring::Ftrace(instance.pages_of(cpu, catalogue, interests)?) }
            }
        })
    }

    fn instances(&self) -> &[Instance] {
        if let Way::Ftrace(instances) = &self.recorder.way { instances } else { &[] }
    }
}

impl Drop for Enabled<'_> {
    fn drop(&mut self) {
        for instance in self.instances() {
            // It goes with the instance at the latest.
            let _ = instance.turn(false);
        }
    }
}

/// The events of one cpu since this was made, or drained last.
#[derive(Debug)]
pub struct Stream<'a> {
    catalogue: &'a Catalogue,
    ring: Ring,
}

#[derive(Debug)]
enum Ring {
    Perf(perf::Ring),
    Ftrace(ftrace::CpuPages),
}

impl Stream<'_> {
    /// Appends the collected events, in recorded order. After a full buffer it waits a little for the kernel to report the number of lost
    /// events.
    pub fn drain(&mut self, into: &mut Vec<Event>) -> Drained {
        match &mut self.ring {
            Ring::Perf(ring) => ring.drain(self.catalogue, into),
            Ring::Ftrace(pages) => pages.drain(self.catalogue, into),
        }
    }

    /// As [`Self::drain`] without waiting: a later drain reports the lost events.
    pub fn drain_now(&mut self, into: &mut Vec<Event>) -> Drained {
        match &mut self.ring {
            Ring::Perf(ring) => ring.drain_now(self.catalogue, into),
            Ring::Ftrace(pages) => pages.drain(self.catalogue, into),
        }
    }
}

/// Returns the instances of ftrace that killed corewises left; none if tracefs may not be read.
pub fn left_instances() -> Vec<String> {
    Tracefs::open().map_or_else(|_| Vec::new(), |tracefs| ftrace::left(&tracefs).collect())
}

/// Returns the process that made an instance of ftrace, by the instance's name.
pub fn owner_of_instance(name: &str) -> Option<Process> {
    ftrace::Owner::of(name).map(|owner| owner.process)
}

/// Removes one of [`left_instances`].
///
/// # Errors
/// The kernel's error.
pub fn remove_left_instance(name: &str) -> io::Result<()> {
    let tracefs = Tracefs::open().map_err(|gap| io::Error::other(gap.why))?;
    ftrace::remove(&tracefs, name)
}
