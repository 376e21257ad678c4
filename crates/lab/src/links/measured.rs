//! This machine as a talker: each visit is two pinned threads on fresh memory.

use std::sync::atomic::AtomicBool;
use std::thread::scope;
use std::time::{Duration, Instant};

use corewise_machine::random::Random;
use corewise_machine::{Gap, Machine};
use corewise_model::clock::Clock as ClockFacts;
use corewise_model::links::map::Origin;
use corewise_sys::clock::Clock;
use corewise_sys::counts::StolenTime;

use super::{Ordered, Outcome, Talk, Visited};
use crate::probe::links::{Home, LIMIT, Visit, Warmth, visit};
use crate::session::clock_facts;

/// Maximum time of reading stolen time around each visit; a visit takes about a millisecond.
const READING_AT_MOST: Duration = Duration::from_micros(200);

/// The machine that this process runs on.
#[derive(Debug)]
pub struct Measured<'a> {
    clock: Clock,
    warmth: Warmth,
    random: Random,
    stop: &'a AtomicBool,
    at_a_time: usize,
    /// Whether stolen time is read: on a guest, if that is cheap.
    looks_at_stolen: bool,
}

impl<'a> Measured<'a> {
    /// Returns the machine, with the seed of its visits' random choices (lines of a page).
    pub fn new(machine: &Machine, seed: u64, stop: &'a AtomicBool) -> Self {
        let reading = Instant::now();
        let is_read = StolenTime::now().is_some();
        Self {
            looks_at_stolen: is_read && machine.system.hypervisor.is_some() && reading.elapsed() <= READING_AT_MOST,
            clock: Clock::calibrated(),
            warmth: Warmth::default(),
            random: Random::new(seed.rotate_left(31)),
            stop,
            at_a_time: machine.cores.len() / 2,
        }
    }

    fn one(&self, ordered: &Ordered, mut random: Random) -> Outcome {
        let Ordered { what, first, second } = *ordered;
        let before = self.looks_at_stolen.then(StolenTime::now).flatten();
        let wanted = Visit { what, first, second, home: Home::First, limit: LIMIT };
        let visited = match visit(&self.clock, &wanted, &self.warmth, &mut random, self.stop) {
            Ok(Some(visited)) => visited,
            Ok(None) => return Outcome::Stopped,
            Err(missed) if missed.passes => return Outcome::Busy(missed.gap),
            Err(missed) => return Outcome::Failed(missed.gap),
        };
        let after = before.as_ref().and_then(|_| StolenTime::now());
        let stolen = before.zip(after).is_some_and(|(before, after)| after.grew_since(&before, [first, second]));
        let mut spoiled = visited.spoiled;
        if stolen {
            spoiled.stolen = spoiled.samples.saturating_sub(spoiled.switched + spoiled.interrupted);
        }
        Outcome::Visited(Visited {
            cost_ns: visited.cost_ns,
            spoiled,
            gigahertz: visited.gigahertz,
            home: visited.home,
        })
    }
}

impl Talk for Measured<'_> {
    fn visit(&mut self, visits: &[Ordered]) -> Vec<Outcome> {
        let randoms: Vec<Random> = visits.iter().map(|_| Random::new(self.random.bits())).collect();
        if let ([visit], [random]) = (visits, &randoms[..]) {
            return vec![self.one(visit, random.clone())];
        }
        let this = &*self;
        scope(|scope| {
            let visits = visits.iter().zip(randoms);
            let threads: Vec<_> = visits.map(|(visit, random)| scope.spawn(move || this.one(visit, random))).collect();
            let failed = || Outcome::Failed(Gap::new("a link", "its thread ended too early"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| failed())).collect()
        })
    }

    fn at_a_time(&self) -> usize {
        self.at_a_time
    }

    fn clock(&self) -> Option<ClockFacts> {
        Some(clock_facts(&self.clock))
    }

    fn origin(&self) -> Origin {
        Origin::Measured
    }
}
