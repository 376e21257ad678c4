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
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::clock::ClockRecord;
use corewise_model::links::TalkWay;
use corewise_model::links::explore::ExploreLimits;
use corewise_model::links::map::SpoiledSamples;

pub use mapping::map_links;
pub use pairs::interval_reach;

/// Seed of random choices. It is the same in every map, so that two maps of a machine have pairs in common; a plan's
/// seed only determines the order of visits.
pub const CHOICES: u64 = 1;
/// Reach of a pair's interval, as a share of its cost, below which the pair is certain.
pub const SURE: f64 = 0.02;

/// Parameters of a map.
#[derive(Clone, Debug)]
pub struct LinksPlan {
    /// Cpus to measure.
    pub cpus: CpuSet,
    /// Ways to talk; pairs are chosen by the first of them.
    pub kinds: Vec<TalkWay>,
    /// Time limit.
    pub budget: Duration,
    /// Limits of the number of pairs.
    pub limits: ExploreLimits,
    /// Seed of the random orders.
    pub seed: u64,
    /// Seed of random choices: [`CHOICES`], so that two maps of a machine have pairs in common.
    pub choices: u64,
    /// Version of corewise, for the record.
    pub corewise: &'static str,
}

/// Visit to make: the first cpu owns the memory, begins and takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitOrder {
    /// Way to talk.
    pub what: TalkWay,
    /// Cpu that begins.
    pub first: u32,
    /// Cpu that answers.
    pub second: u32,
}

/// Result of a visit.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkVisitOutcome {
    /// A cost.
    Visited(VisitedPair),
    /// It was ended from outside.
    Stopped,
    /// Not available now, since another program uses a cpu.
    Busy(Gap),
    /// Not available.
    Failed(Gap),
}

/// Observations of a visit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VisitedPair {
    /// Cost in nanoseconds, in the unit of its kind.
    pub cost_ns: f64,
    /// Samples that were discarded.
    pub spoiled: SpoiledSamples,
    /// Clock rates of the first and the second cpu, if they were read.
    pub gigahertz: [Option<f64>; 2],
    /// Node that the first cpu's memory was really on, if known.
    pub home: Option<u32>,
}

/// Visitor of pairs.
pub trait PairVisitor {
    /// Visits pairs without common cores, all at the same time; one outcome each.
    fn visit_pairs(&mut self, visits: &[VisitOrder]) -> Vec<LinkVisitOutcome>;
    /// Returns the total time of all visits if they are simulated; `None` if real time counts.
    fn simulated_elapsed(&self) -> Option<Duration> {
        None
    }
    /// Returns the maximum number of pairs that can be visited at the same time.
    fn pairs_at_once(&self) -> usize;
    /// Returns the clock that times, for the record.
    fn timing_clock(&self) -> Option<ClockRecord>;
    /// Returns the origin of the map.
    fn map_origin(&self) -> ArtifactOrigin;
}

#[cfg(test)]
mod tests;
