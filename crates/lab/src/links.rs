//! The map of links: which pairs are visited when, until there are enough of them and their costs are sure.
//!
//! A talker visits pairs: this machine, or a recorded matrix that stands for one. Pairs are visited again and again over the whole time, in
//! fresh random order, so that a drift cannot look like a pair, and an interval comes from visits, not from samples inside one.

mod mapping;
pub mod measured;
mod pairs;
mod parallel;
pub mod simulated;

use std::time::Duration;

use corewise_machine::{CpuSet, Gap};
use corewise_model::clock::Clock;
use corewise_model::links::What;
use corewise_model::links::explore::Limits;
use corewise_model::links::map::{Origin, Spoiled};

pub use mapping::map;
pub use pairs::reach;

/// What chance chooses is the same in every map, so that two maps of a machine have their pairs in common; the seed of a plan is that of the
/// order in which they are visited.
pub const CHOICES: u64 = 1;
/// A pair is sure when its interval reaches no farther than this from its cost.
pub const SURE: f64 = 0.02;

/// What to measure, and within what time.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cpus.
    pub cpus: CpuSet,
    /// The ways to talk; pairs are chosen by the first of them.
    pub kinds: Vec<What>,
    /// How long it may take.
    pub budget: Duration,
    /// How many pairs.
    pub limits: Limits,
    /// The seed of the random orders.
    pub seed: u64,
    /// The seed of what chance chooses: [`CHOICES`], so that two maps of a machine have their pairs in common.
    pub choices: u64,
    /// corewise's version, for the record.
    pub corewise: &'static str,
}

/// A visit that is to be made: the first cpu owns the memory, begins and takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The way to talk.
    pub what: What,
    /// The cpu that begins.
    pub first: u32,
    /// The cpu that answers.
    pub second: u32,
}

/// What a visit gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A cost.
    Visited(Visited),
    /// It was ended from outside.
    Stopped,
    /// It cannot be had now, since somebody else uses a cpu.
    Busy(Gap),
    /// It cannot be had.
    Failed(Gap),
}

/// What was seen on a visit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visited {
    /// The cost in nanoseconds, in the unit of its kind.
    pub cost_ns: f64,
    /// Samples that were thrown away.
    pub spoiled: Spoiled,
    /// The clock rates of the first and the second cpu, where they were looked at.
    pub gigahertz: [Option<f64>; 2],
    /// The node that the first cpu's memory was really on, where that is known.
    pub home: Option<u32>,
}

/// Who visits pairs.
pub trait Talk {
    /// Visits pairs that have no core in common, all at a time; one outcome each.
    fn visit(&mut self, visits: &[Ordered]) -> Vec<Outcome>;
    /// The time that all visits so far would have taken, if they are simulated; absent if real time counts.
    fn made_up(&self) -> Option<Duration> {
        None
    }
    /// How many pairs can be visited at a time at most.
    fn at_a_time(&self) -> usize;
    /// The clock that times, for the record.
    fn clock(&self) -> Option<Clock>;
    /// Where the map comes from.
    fn origin(&self) -> Origin;
}

#[cfg(test)]
mod tests;
