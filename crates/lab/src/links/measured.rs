//! This machine as a talker: each visit is two pinned threads on fresh memory.

use std::sync::atomic::AtomicBool;
use std::thread::scope;
use std::time::{Duration, Instant};

use corewise_machine::random::RandomGenerator;
use corewise_machine::{Gap, Machine};
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::clock::ClockRecord as ClockFacts;
use corewise_sys::clock::TickClock;
use corewise_sys::counts::StolenTime;

use super::{LinkVisitOutcome, PairVisitor, VisitOrder, VisitedPair};
use crate::probe::links::{ClockWarmth, LIMIT, LinkVisit, MemoryHome, visit_pair};
use crate::session::clock_facts;

/// Maximum time of reading stolen time around each visit; a visit takes about a millisecond.
const READING_AT_MOST: Duration = Duration::from_micros(200);

/// The machine that this process runs on.
#[derive(Debug)]
pub struct MeasuredLinks<'a> {
    clock: TickClock,
    warmth: ClockWarmth,
    random: RandomGenerator,
    stop: &'a AtomicBool,
    at_a_time: usize,
    /// Whether stolen time is read: on a guest, if that is cheap.
    looks_at_stolen: bool,
}

impl<'a> MeasuredLinks<'a> {
    /// Returns the machine, with the seed of its visits' random choices (lines of a page).
    pub fn new(machine: &Machine, seed: u64, stop: &'a AtomicBool) -> Self {
        let reading = Instant::now();
        let is_read = StolenTime::read_now().is_some();
        Self {
            looks_at_stolen: is_read && machine.system.hypervisor.is_some() && reading.elapsed() <= READING_AT_MOST,
            clock: TickClock::calibrate_best(),
            warmth: ClockWarmth::default(),
            random: RandomGenerator::new(seed.rotate_left(31)),
            stop,
            at_a_time: machine.cores.len() / 2,
        }
    }

    fn visit_one(&self, ordered: &VisitOrder, mut random: RandomGenerator) -> LinkVisitOutcome {
        let VisitOrder { what, first, second } = *ordered;
        let before = self.looks_at_stolen.then(StolenTime::read_now).flatten();
        let wanted = LinkVisit { what, first, second, home: MemoryHome::First, limit: LIMIT };
        let visited = match visit_pair(&self.clock, &wanted, &self.warmth, &mut random, self.stop) {
            Ok(Some(visited)) => visited,
            Ok(None) => return LinkVisitOutcome::Stopped,
            Err(missed) if missed.passes => return LinkVisitOutcome::Busy(missed.gap),
            Err(missed) => return LinkVisitOutcome::Failed(missed.gap),
        };
        let after = before.as_ref().and_then(|_| StolenTime::read_now());
        let stolen = before.zip(after).is_some_and(|(before, after)| after.grew_since(&before, [first, second]));
        let mut spoiled = visited.spoiled;
        if stolen {
            spoiled.stolen = spoiled.samples.saturating_sub(spoiled.switched + spoiled.interrupted);
        }
        LinkVisitOutcome::Visited(VisitedPair {
            cost_ns: visited.cost_ns,
            spoiled,
            gigahertz: visited.gigahertz,
            home: visited.home,
        })
    }
}

impl PairVisitor for MeasuredLinks<'_> {
    fn visit_pairs(&mut self, visits: &[VisitOrder]) -> Vec<LinkVisitOutcome> {
        let randoms: Vec<RandomGenerator> =
            visits.iter().map(|_| RandomGenerator::new(self.random.next_bits())).collect();
        if let ([visit], [random]) = (visits, &randoms[..]) {
            return vec![self.visit_one(visit, random.clone())];
        }
        let this = &*self;
        scope(|scope| {
            let visits = visits.iter().zip(randoms);
            let threads: Vec<_> =
                visits.map(|(visit, random)| scope.spawn(move || this.visit_one(visit, random))).collect();
            let failed = || LinkVisitOutcome::Failed(Gap::new("a link", "its thread ended too early"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| failed())).collect()
        })
    }

    fn pairs_at_once(&self) -> usize {
        self.at_a_time
    }

    fn timing_clock(&self) -> Option<ClockFacts> {
        Some(clock_facts(&self.clock))
    }

    fn map_origin(&self) -> ArtifactOrigin {
        ArtifactOrigin::Measured
    }
}
