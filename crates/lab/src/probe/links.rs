//! The link probe: two pinned threads talk in one of several ways, and the first takes the time.

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

/// Where the memory lies that two threads talk over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// Where the kernel puts what the first cpu's thread touches first: its own node, unless this process has a memory policy.
    #[default]
    First,
    /// On this node, bound.
    Node(u32),
}

/// What to measure between two cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The way to talk.
    pub what: What,
    /// The cpu whose thread owns the memory, begins, and takes the time.
    pub first: u32,
    /// The cpu whose thread answers.
    pub second: u32,
    /// Where the memory is to be.
    pub home: Home,
    /// After this it ends, whatever became of the partner; usually [`LIMIT`].
    pub limit: Duration,
}

/// What a visit found.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// The median of the good samples, in nanoseconds; [`What`] says of what.
    pub cost_ns: f64,
    /// The median of each line's good samples, in order of time; empty for kinds that do not talk over single lines.
    pub lines_ns: Vec<f64>,
    /// The samples that were thrown away; the first of each line is not among them, and stolen time is not looked at.
    pub spoiled: Spoiled,
    /// The effective clock rates of the first and the second cpu right after the samples, in gigahertz; absent where it could not
    /// be told.
    pub gigahertz: [Option<f64>; 2],
    /// The node that the memory is on, as the kernel tells; absent where it does not, and for channels.
    pub home: Option<u32>,
}

/// Why a visit found nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// What is missing, and why.
    pub gap: Gap,
    /// Whether another try may go well: a thread did not get its cpu, or was disturbed too often. Otherwise the cpu is gone or not allowed, or
    /// cannot do what was asked for.
    pub passes: bool,
}

/// A way to talk: what each side does. Hot loops are free functions that allocate nothing and call the system for nothing that is
/// not what they measure.
trait Kind: Sync {
    /// Where the two talk.
    type Place: TalkPlace;

    /// How many samples there are, and of what.
    fn plan(&self) -> Plan;

    /// Makes the place; called on the first cpu.
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

    /// Which of the two sides' values are the samples, if they can be believed.
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

/// Memory with a home.
fn memory<W: Word>(bytes: usize, home: Home) -> io::Result<Memory<W>> {
    match home {
        Home::First => Memory::new(bytes),
        Home::Node(node) => Memory::on_node(bytes, node),
    }
}
