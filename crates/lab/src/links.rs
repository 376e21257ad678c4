//! Maps of links: which pairs to visit and when, until enough pairs have certain costs.
//!
//! A talker visits pairs: this machine, or a recorded matrix that simulates one. Pairs are visited repeatedly over the
//! whole time in fresh random order, so that a drift cannot look like a pair. An interval comes from visits, not from
//! samples inside one.

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

/// Seed of random choices. It is the same in every map, so that two maps of a machine have pairs in common; a plan's
/// seed only determines the order of visits.
pub const CHOICES: u64 = 1;
/// Reach of a pair's interval, as a share of its cost, below which the pair is certain.
pub const SURE: f64 = 0.02;

/// Parameters of a map.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Cpus to measure.
    pub cpus: CpuSet,
    /// Ways to talk; pairs are chosen by the first of them.
    pub kinds: Vec<What>,
    /// Time limit.
    pub budget: Duration,
    /// Limits of the number of pairs.
    pub limits: Limits,
    /// Seed of the random orders.
    pub seed: u64,
    /// Seed of random choices: [`CHOICES`], so that two maps of a machine have pairs in common.
    pub choices: u64,
    /// Version of corewise, for the record.
    pub corewise: &'static str,
}

/// Visit to make: the first cpu owns the memory, begins and takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// Way to talk.
    pub what: What,
    /// Cpu that begins.
    pub first: u32,
    /// Cpu that answers.
    pub second: u32,
}

/// Result of a visit.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A cost.
    Visited(Visited),
    /// It was ended from outside.
    Stopped,
    /// Not available now, since another program uses a cpu.
    Busy(Gap),
    /// Not available.
    Failed(Gap),
}

/// Observations of a visit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visited {
    /// Cost in nanoseconds, in the unit of its kind.
    pub cost_ns: f64,
    /// Samples that were discarded.
    pub spoiled: Spoiled,
    /// Clock rates of the first and the second cpu, if they were read.
    pub gigahertz: [Option<f64>; 2],
    /// Node that the first cpu's memory was really on, if known.
    pub home: Option<u32>,
}

/// Visitor of pairs.
pub trait Talk {
    /// Visits pairs without common cores, all at the same time; one outcome each.
    fn visit(&mut self, visits: &[Ordered]) -> Vec<Outcome>;
    /// Returns the total time of all visits if they are simulated; `None` if real time counts.
    fn made_up(&self) -> Option<Duration> {
        None
    }
    /// Returns the maximum number of pairs that can be visited at the same time.
    fn at_a_time(&self) -> usize;
    /// Returns the clock that times, for the record.
    fn clock(&self) -> Option<Clock>;
    /// Returns the origin of the map.
    fn origin(&self) -> Origin;
}

#[cfg(test)]
mod tests;
