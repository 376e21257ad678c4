//! Link probe: two pinned threads communicate in one of several ways, and the first takes the time.

mod attendance;
mod bandwidth;
mod cas;
mod channel;
mod ends;
mod lines;
mod meeting;
mod oneway;
mod queue;
mod samples;
mod store;
#[cfg(test)]
mod tests;
mod visit;
mod wakeup;
mod warmth;

use std::io;
use std::time::Duration;

use corewise_machine::Gap;
use corewise_model::links::What;
use corewise_model::links::map::Spoiled;
use corewise_sys::clock::Ticks;
use corewise_sys::memory::{Memory, Word};

pub use meeting::LIMIT;
use meeting::Meeting;
use samples::{Plan, Record, Side, Untimed, take};
pub use visit::visit;
pub use warmth::{Core, Warmth};

/// Place of the memory through which two threads communicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// First touch by the first cpu's thread: its own node, unless this process has a memory policy.
    #[default]
    First,
    /// Bound to this node.
    Node(u32),
}

/// A measurement between two cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Way to communicate.
    pub what: What,
    /// The cpu of the thread that owns the memory, begins, and takes the time.
    pub first: u32,
    /// The cpu of the thread that answers.
    pub second: u32,
    /// Place of the memory.
    pub home: Home,
    /// Time limit, whatever happens to the partner; usually [`LIMIT`].
    pub limit: Duration,
}

/// Result of a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// Median of the good samples, in nanoseconds; [`What`] defines the quantity.
    pub cost_ns: f64,
    /// Median of each line's good samples, in order of time; empty for kinds that do not use single lines.
    pub lines_ns: Vec<f64>,
    /// Discarded samples. The first of each line does not count, and stolen time is not considered.
    pub spoiled: Spoiled,
    /// Effective clock rates of the first and the second cpu right after the samples, in gigahertz; `None` if they could not be determined.
    pub gigahertz: [Option<f64>; 2],
    /// Node of the memory as the kernel reports it; `None` if it does not, and for channels.
    pub home: Option<u32>,
}

/// Reason why a visit has no result.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// The missing fact and the reason.
    pub gap: Gap,
    /// True if another try may succeed: a thread did not get its cpu, or was disturbed too often. Otherwise the cpu is gone or not allowed,
    /// or does not support the request.
    pub passes: bool,
}

/// A way to communicate: what each side does. Hot loops are free functions without allocations, and without system calls other than the
/// measured ones.
trait Kind: Sync {
    /// Where the two talk.
    type Place: TalkPlace;

    /// Returns the number of samples and their kind.
    fn plan(&self) -> Plan;

    /// Allocates the place; called on the first cpu.
    fn allocate(&self, home: Home) -> io::Result<Self::Place>;

    /// The side of the first cpu, or `None` if it was taken from the place before.
    fn first_side<'a, T: Ticks>(
        &'a self,
        place: &'a Self::Place,
        ticks: T,
        meeting: &'a Meeting<'a>,
    ) -> Option<impl Side>;

    /// The side of the second cpu, likewise.
    fn second_side<'a, T: Ticks>(
        &'a self,
        place: &'a Self::Place,
        ticks: T,
        meeting: &'a Meeting<'a>,
    ) -> Option<impl Side>;

    /// Takes the samples of the first cpu's side, with their times.
    fn first<T: Ticks>(&self, place: &Self::Place, ticks: T, meeting: &Meeting, record: &mut Record) {
        if let Some(mut side) = self.first_side(place, ticks, meeting) {
            take(ticks, &self.plan(), &mut side, record);
        }
    }

    /// Takes those of the second cpu's side, untimed.
    fn second<T: Ticks>(&self, place: &Self::Place, ticks: T, meeting: &Meeting, record: &mut Record) {
        if let Some(mut side) = self.second_side(place, ticks, meeting) {
            take(Untimed, &self.plan(), &mut side, record);
        }
    }

    /// Selects the side with the samples, or returns why they cannot be trusted.
    fn believed<'r>(&self, records: &'r [Record; 2]) -> Result<&'r [f64], String> {
        Ok(&records[0].values)
    }
}

/// Where two threads talk.
trait TalkPlace: Send + Sync {
    /// The node that it is on.
    fn home(&self) -> Option<u32>;
}

impl<W: Word> TalkPlace for Memory<W> {
    fn home(&self) -> Option<u32> {
        Self::home(self)
    }
}

/// Allocates memory with a home.
fn memory<W: Word>(bytes: usize, home: Home) -> io::Result<Memory<W>> {
    match home {
        Home::First => Memory::new(bytes),
        Home::Node(node) => Memory::on_node(bytes, node),
    }
}
