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

use corewise_model::Gap;
use corewise_model::event::Event;
use corewise_model::stall::EventSource;

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
    Ftrace(Instance),
}

impl Recorder {
    /// Opens perf's tracepoints, or where these are refused an instance of ftrace of its own, which is removed with this
    /// value; what could not be removed because this process was killed, the next corewise removes, or [`remove_left_instance`].
    ///
    /// # Errors
    /// The gap that says why neither is to be had, and what would change that.
    pub fn open(interests: &[Interest]) -> Result<Self, Gap> {
        let tracefs = prepared()?;
        let (catalogue, gaps) = Catalogue::read(&tracefs, interests);
        let refusal = match perf::Held::new(&catalogue, interests) {
            Ok(_) => return Ok(Self { catalogue, way: Way::Perf, gaps }),
            Err(error) => error,
        };
        match Instance::new(tracefs, &catalogue, interests) {
            Ok(instance) => Ok(Self { catalogue, way: Way::Ftrace(instance), gaps }),
            Err(error) => Err(perf::gap(&refusal, &error)),
        }
    }

    /// Opens an instance of ftrace of its own without asking for perf's tracepoints first.
    ///
    /// # Errors
    /// The gap that says why it is not to be had, and what would change that.
    pub fn through_ftrace(interests: &[Interest]) -> Result<Self, Gap> {
        let tracefs = prepared()?;
        let (catalogue, gaps) = Catalogue::read(&tracefs, interests);
        match Instance::new(tracefs, &catalogue, interests) {
            Ok(instance) => Ok(Self { catalogue, way: Way::Ftrace(instance), gaps }),
            Err(error) => Err(ftrace::gap(&error)),
        }
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
            Way::Ftrace(instance) => {
                instance.turn(true)?;
                None
            }
        };
        Ok(Enabled { recorder: self, _held: held })
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
            Way::Ftrace(instance) => {
                Stream { catalogue, ring: Ring::Ftrace(instance.pages_of(cpu, catalogue, interests)?) }
            }
        })
    }
}

impl Drop for Enabled<'_> {
    fn drop(&mut self) {
        if let Way::Ftrace(instance) = &self.recorder.way {
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
    ftrace::process_of(name)
}

/// Removes one of [`left_instances`].
///
/// # Errors
/// What the kernel says.
pub fn remove_left_instance(name: &str) -> io::Result<()> {
    let tracefs = Tracefs::open().map_err(|gap| io::Error::other(gap.why))?;
    ftrace::remove(&tracefs, name)
}
