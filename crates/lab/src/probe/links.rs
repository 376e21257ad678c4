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
use corewise_model::links::TalkWay;
use corewise_model::links::map::SpoiledSamples;
use corewise_sys::clock::TickSource;
use corewise_sys::memory::{PageMemory, Word};

pub use meeting::LIMIT;
use meeting::TalkMeeting;
use samples::{SamplePlan, SideRecord, TalkSide, UntimedTicks, take_samples};
pub use visit::visit_pair;
pub use warmth::{ClockWarmth, PinnedCore};

/// Place of the memory through which two threads communicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryHome {
    /// First touch by the first cpu's thread: its own node, unless this process has a memory policy.
    #[default]
    First,
    /// Bound to this node.
    Node(u32),
}

/// A measurement between two cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkVisit {
    /// Way to communicate.
    pub what: TalkWay,
    /// The cpu of the thread that owns the memory, begins, and takes the time.
    pub first: u32,
    /// The cpu of the thread that answers.
    pub second: u32,
    /// Place of the memory.
    pub home: MemoryHome,
    /// Time limit, whatever happens to the partner; usually [`LIMIT`].
    pub limit: Duration,
}

/// Result of a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkVisitResult {
    /// Median of the good samples, in nanoseconds; [`TalkWay`] defines the quantity.
    pub cost_ns: f64,
    /// Median of each line's good samples, in order of time; empty for kinds that do not use single lines.
    pub lines_ns: Vec<f64>,
    /// Discarded samples. The first of each line does not count, and stolen time is not considered.
    pub spoiled: SpoiledSamples,
    /// Effective clock rates of the first and the second cpu right after the samples, in gigahertz; `None` if they could not be determined.
    pub gigahertz: [Option<f64>; 2],
    /// Node of the memory as the kernel reports it; `None` if it does not, and for channels.
    pub home: Option<u32>,
}

/// Reason why a visit has no result.
#[derive(Clone, Debug, PartialEq)]
pub struct MissedVisit {
    /// The missing fact and the reason.
    pub gap: Gap,
    /// True if another try may succeed: a thread did not get its cpu, or was disturbed too often. Otherwise the cpu is gone or not allowed,
    /// or does not support the request.
    pub passes: bool,
}

/// Surroundings of one side of a visit.
struct TalkContext<'a, P, T> {
    /// Memory or channel through which the two communicate.
    place: &'a P,
    /// The clock of the samples.
    ticks: T,
    /// The end of the visit, which both sides share.
    meeting: &'a TalkMeeting<'a>,
}

/// A way to communicate: what each side does. Hot loops are free functions without allocations, and without system calls other than the
/// measured ones.
trait TalkKind: Sync {
    /// Memory or channel through which the two communicate.
    type Place: TalkPlace;

    /// Returns the number of samples and their kind.
    fn sample_plan(&self) -> SamplePlan;

    /// Allocates the place; called on the first cpu.
    fn allocate_place(&self, home: MemoryHome) -> io::Result<Self::Place>;

    /// Returns the side of the first cpu, or `None` if it was taken from the place before.
    fn first_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide>;

    /// Returns the side of the second cpu, or `None` if it was taken from the place before.
    fn second_side<'a, T: TickSource>(&'a self, at: TalkContext<'a, Self::Place, T>) -> Option<impl TalkSide>;

    /// Takes the samples of the first cpu's side, with their times.
    fn run_first<T: TickSource>(&self, place: &Self::Place, ticks: T, meeting: &TalkMeeting, record: &mut SideRecord) {
        if let Some(mut side) = self.first_side(TalkContext { place, ticks, meeting }) {
            take_samples(ticks, &self.sample_plan(), &mut side, record);
        }
    }

    /// Takes the samples of the second cpu's side, untimed.
    fn run_second<T: TickSource>(&self, place: &Self::Place, ticks: T, meeting: &TalkMeeting, record: &mut SideRecord) {
        if let Some(mut side) = self.second_side(TalkContext { place, ticks, meeting }) {
            take_samples(UntimedTicks, &self.sample_plan(), &mut side, record);
        }
    }

    /// Selects the side with the samples, or returns why they cannot be trusted.
    fn choose_samples<'r>(&self, records: &'r [SideRecord; 2]) -> Result<&'r [f64], String> {
        Ok(&records[0].values)
    }
}

/// Memory or channel through which two threads communicate.
trait TalkPlace: Send + Sync {
    /// Returns the node of its memory; `None` if unknown.
    fn home(&self) -> Option<u32>;
}

impl<W: Word> TalkPlace for PageMemory<W> {
    fn home(&self) -> Option<u32> {
        Self::home_node(self)
    }
}

/// Allocates memory with a home.
fn allocate_memory<W: Word>(bytes: usize, home: MemoryHome) -> io::Result<PageMemory<W>> {
    match home {
        MemoryHome::First => PageMemory::new(bytes),
        MemoryHome::Node(node) => PageMemory::on_node(bytes, node),
    }
}
