//! What the kernel tells of cpus, subscribed to by interest: decoded tracepoints from perf's rings, or from an instance of ftrace.
//!
//! A [`Recorder`] is opened once. While it is [enabled](Recorder::enable) the kernel's tracepoints are live, which changes code that all
//! cpus run; a [`Stream`] collects the events of one cpu until it is drained. Nothing wakes anybody: buffers are read afterwards, and
//! what had no room in them is counted.

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

/// The way to the kernel's events that is open to this process.
#[derive(Debug)]
pub struct Recorder {
    catalogue: Catalogue,
    way: Way,
    /// What this kernel lacks of what was asked for.
    pub gaps: Vec<Gap>,
}

#[derive(Debug)]
enum Way {
    Perf,
    /// One for each group of interests.
    Ftrace(Vec<Instance>),
}

impl Recorder {
    /// Opens the tracepoints of the preferred source, or where these are refused those of the other. `groups` are the interests that
    /// are collected together on a cpu.
    ///
    /// perf records only on the cpus of its streams, and knows this process's own numbers of tasks. A record of ftrace takes less time.
    /// ftrace's instances are removed with this value; what could not be removed because this process was killed, the next corewise
    /// removes, or [`remove_left_instance`].
    ///
    /// # Errors
    /// The gap that says why neither is to be had, and what would change that.
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

    /// Which way it is.
    pub const fn event_source(&self) -> EventSource {
        match self.way {
            Way::Perf => EventSource::Perf,
            Way::Ftrace(_) => EventSource::Ftrace,
        }
    }

    /// Makes the tracepoints live until the result is dropped. Both change code under all cpus, which stalls these for some
    /// microseconds a few times; what is measured in the first 100 ms is not as it would be.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn enable(&self, interests: &[Interest]) -> io::Result<Enabled<'_>> {
        let held = match &self.way {
            Way::Perf => Some(perf::Held::new(&self.catalogue, interests)?),
            Way::Ftrace(_) => None,
        };
        // What was turned on before an error is turned off again with this value.
        let enabled = Enabled { recorder: self, _held: held };
        enabled.instances().iter().try_for_each(|instance| instance.turn(true))?;
        Ok(enabled)
    }
}

/// The way to the tracepoints, without what killed corewises left there.
fn prepared() -> Result<Tracefs, Gap> {
    same_clock()?;
    let tracefs = Tracefs::open()?;
    ftrace::remove_left(&tracefs);
    Ok(tracefs)
}

/// In a time namespace with an offset this process reads another clock than the one that events are stamped with: time_namespaces(7).
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
    /// Begins to collect the events of one cpu that serve some interests, in a buffer of about so many bytes (less where this
    /// user may not lock so much memory). To be called on that cpu, where it interrupts no other.
    ///
    /// # Errors
    /// What the kernel says.
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
    /// Appends the events so far, in the order in which they were recorded. After a full buffer it waits a little for the kernel to
    /// tell how many had no room.
    pub fn drain(&mut self, into: &mut Vec<Event>) -> Drained {
        match &mut self.ring {
            Ring::Perf(ring) => ring.drain(self.catalogue, into),
            Ring::Ftrace(pages) => pages.drain(self.catalogue, into),
        }
    }

    /// The same without waiting: what had no room is told by a later drain.
    pub fn drain_now(&mut self, into: &mut Vec<Event>) -> Drained {
        match &mut self.ring {
            Ring::Perf(ring) => ring.drain_now(self.catalogue, into),
            Ring::Ftrace(pages) => pages.drain(self.catalogue, into),
        }
    }
}

/// The instances of ftrace that killed corewises left; none where tracefs may not be read.
pub fn left_instances() -> Vec<String> {
    Tracefs::open().map_or_else(|_| Vec::new(), |tracefs| ftrace::left(&tracefs).collect())
}

/// Whose instance of ftrace it is, by its name.
pub fn owner_of_instance(name: &str) -> Option<Process> {
    ftrace::Owner::of(name).map(|owner| owner.process)
}

/// Removes one of [`left_instances`].
///
/// # Errors
/// What the kernel says.
pub fn remove_left_instance(name: &str) -> io::Result<()> {
    let tracefs = Tracefs::open().map_err(|gap| io::Error::other(gap.why))?;
    ftrace::remove(&tracefs, name)
}
