//! The map of links: which pairs are visited when, until there are enough of them and their costs are sure.
//!
//! A talker visits pairs: this machine, or a recorded matrix that stands for one. Pairs are visited again and again over the whole time, in
//! fresh random order, so that a drift cannot look like a pair, and an interval comes from visits, not from samples inside one.

pub mod measured;
mod pairs;
mod parallel;
pub mod simulated;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corewise_model::links::explore::{Explorer, Limits};
use corewise_model::links::map::{CpuClock, LinkMap, Origin, Parallel, Provenance, Spoiled};
use corewise_model::links::structure::Structure;
use corewise_model::links::{Matrix, What};
use corewise_model::stats::order::{median, range};
use corewise_model::stats::random::Random;
use corewise_model::survey::Clock;
use corewise_model::{CpuSet, Gap, Level, Machine};

use crate::survey::Progress;
pub use pairs::reach;
use pairs::{Known, Turn};

/// What chance chooses is the same in every map, so that two maps of a machine have their pairs in common; the seed of a plan is that of the
/// order in which they are visited.
pub const CHOICES: u64 = 1;
/// Two visits of each pair come before what is chosen next; where that takes more than this share of the budget, one.
const TWICE: f64 = 0.2;
/// About so many visits of pairs are made in any case, on each pair no fewer and no more than these.
const VISITS_IN_ALL: usize = 2000;
const VISITS: std::ops::RangeInclusive<usize> = 3..=12;
/// A map of few pairs goes on for this long, so that it does not show a moment…
const AT_LEAST: Duration = Duration::from_secs(2);
/// …but with no more visits of each than these.
const VISITS_OF_FEW: usize = 200;
/// The look at whether pairs may be visited at a time takes no more than this part of the budget.
const LOOK_SHARE: u32 = 8;
/// Pairs that are still unsure are visited up to so many times.
const MOST_VISITS: usize = 48;
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
    /// The time since the beginning.
    fn elapsed(&self) -> Duration;
    /// How many pairs can be visited at a time at most.
    fn at_a_time(&self) -> usize;
    /// The clock that times, for the record.
    fn clock(&self) -> Option<Clock>;
    /// Where the map comes from.
    fn origin(&self) -> Origin;
}

/// Makes a map. Ends early, with what there is and marked as partial, soon after `stop` becomes true.
pub fn map(
    plan: &Plan,
    machine: Option<Machine>,
    talk: &mut dyn Talk,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> LinkMap {
    let structure = Structure::new(machine.as_ref(), &plan.cpus);
    let mut mapping = Mapping {
        plan,
        known: Known::new(plan, machine.as_ref(), &structure),
        explorer: Explorer::new(structure, plan.limits, plan.choices),
        machine,
        talk,
        stop,
        progress,
        random: Random::new(!plan.seed),
        parallel: None,
        visits: 0,
        partial: false,
    };
    let started_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    mapping.look_at_parallel();
    mapping.explore();
    mapping.repeat();
    mapping.refine();
    // A pair that was given up is a gap, and no fault of the time.
    mapping.partial |= mapping.known.has_missed_some();
    mapping.finish(started_unix_ms)
}

/// A map in the making.
struct Mapping<'a> {
    plan: &'a Plan,
    machine: Option<Machine>,
    explorer: Explorer,
    talk: &'a mut dyn Talk,
    stop: &'a AtomicBool,
    progress: &'a mut dyn FnMut(&Progress),
    random: Random,
    known: Known,
    parallel: Option<Parallel>,
    visits: usize,
    /// Whether it ended before its plan did.
    partial: bool,
}

impl Mapping<'_> {
    /// Whether the time is over, or somebody ended it.
    fn is_over(&mut self) -> bool {
        let stopped = self.stop.load(Ordering::Relaxed);
        self.partial |= stopped;
        stopped || self.talk.elapsed() >= self.plan.budget
    }

    fn at_a_time(&self) -> usize {
        self.parallel.as_ref().map_or(1, |parallel| parallel.at_a_time as usize)
    }

    /// Measures what the explorer wishes for, until it has no wish left.
    fn explore(&mut self) {
        loop {
            let costs: Matrix = self.known.matrix(0);
            let Some(wishes) = self.explorer.next(&costs) else { return };
            if self.is_over() {
                self.partial = true;
                return;
            }
            for wish in &wishes {
                self.known.add(*wish);
            }
            let pairs: Vec<usize> = self.known.last(wishes.len());
            let begun = self.talk.elapsed();
            self.sweep("choosing pairs", &pairs);
            let took = self.talk.elapsed().saturating_sub(begun);
            if took.as_secs_f64() < TWICE * self.plan.budget.as_secs_f64() {
                self.sweep("choosing pairs", &pairs);
            }
        }
    }

    /// Visits all pairs as often as there is reason to.
    fn repeat(&mut self) {
        let wanted = (VISITS_IN_ALL / self.known.len().max(1)).clamp(*VISITS.start(), *VISITS.end());
        loop {
            let wanted = if self.talk.elapsed() < AT_LEAST { VISITS_OF_FEW } else { wanted };
            let few: Vec<usize> = (0..self.known.len()).filter(|&pair| self.known.visits(pair) < wanted).collect();
            if few.is_empty() || self.is_over() || !self.sweep("visiting pairs", &few) {
                return;
            }
        }
    }

    /// Visits the pairs that are not sure yet.
    fn refine(&mut self) {
        loop {
            let unsure: Vec<usize> = (0..self.known.len())
                .filter(|&pair| self.known.visits(pair) < MOST_VISITS && self.known.uncertainty(pair) > SURE)
                .collect();
            if unsure.is_empty() || self.is_over() || !self.sweep("unsure pairs", &unsure) {
                return;
            }
        }
    }

    /// Visits some pairs once, in random order; false when nothing was visited.
    fn sweep(&mut self, what: &str, pairs: &[usize]) -> bool {
        let mut turns: Vec<Turn> = pairs.iter().flat_map(|&pair| self.known.turns(pair)).collect();
        self.random.shuffle(&mut turns);
        let mut any = false;
        let total = turns.len();
        while !turns.is_empty() && !self.stop.load(Ordering::Relaxed) && self.talk.elapsed() < self.plan.budget {
            let now = self.known.disjoint(&mut turns, self.at_a_time());
            self.report(what, total - turns.len(), total);
            any |= self.visit(&now);
        }
        any
    }

    /// Makes visits at a time; false where none gave anything.
    fn visit(&mut self, turns: &[Turn]) -> bool {
        let visits: Vec<Ordered> = turns.iter().map(|turn| self.known.ordered(turn)).collect();
        let outcomes = self.talk.visit(&visits);
        self.visits += visits.len();
        let mut any = false;
        for (turn, outcome) in turns.iter().zip(outcomes) {
            match outcome {
                Outcome::Visited(visited) => {
                    any = true;
                    self.known.take(turn, &visited);
                }
                Outcome::Stopped => {}
                Outcome::Failed(gap) => self.known.fail(turn, gap),
            }
        }
        any
    }

    fn report(&mut self, what: &str, done: usize, total: usize) {
        let passed = self.talk.elapsed();
        let share = (passed.as_secs_f64() / self.plan.budget.as_secs_f64()).min(1.0);
        let step = format!("{what}, {done} of {total}");
        (self.progress)(&Progress { step, done: share, left: self.plan.budget.saturating_sub(passed) });
    }

    /// Looks whether pairs may be visited at a time: some are, alone and with others in turn.
    fn look_at_parallel(&mut self) {
        let structure = self.explorer.structure();
        let most = (structure.cores.len() / 2).min(self.talk.at_a_time());
        if most < parallel::WORTH_IT || self.plan.kinds.iter().any(|what| matches!(what, What::Bandwidth { .. })) {
            return;
        }
        let pairs = parallel::disjoint_pairs(structure, most.min(parallel::AT_A_TIME), &mut self.random);
        let kinds = self.plan.kinds[0];
        let ordered = |pair: &(u32, u32)| Ordered { what: kinds, first: pair.0, second: pair.1 };
        let mut looks = parallel::Looks::new(pairs.len());
        for _ in 0..parallel::ROUNDS {
            let mut order: Vec<usize> = (0..pairs.len()).collect();
            self.random.shuffle(&mut order);
            for place in order {
                looks.alone(place, &self.talk.visit(&[ordered(&pairs[place])]));
                // Pairs that do not answer, or take long, are a matter for the map itself.
                if looks.has_failed() || self.talk.elapsed() > self.plan.budget / LOOK_SHARE || self.is_over() {
                    return;
                }
            }
            looks.together(&self.talk.visit(&pairs.iter().map(ordered).collect::<Vec<_>>()));
        }
        self.parallel = looks.verdict();
    }

    fn finish(self, started_unix_ms: i64) -> LinkMap {
        let provenance = Provenance {
            origin: self.talk.origin(),
            corewise: self.plan.corewise.to_owned(),
            started_unix_ms,
            elapsed_s: self.talk.elapsed().as_secs_f64(),
            budget_s: self.plan.budget.as_secs_f64(),
            seed: self.plan.seed,
            partial: self.partial,
        };
        let mut map = self.known.into_map(provenance, self.talk.clock());
        map.machine = self.machine;
        map.parallel = self.parallel;
        map.searched = self.explorer.searched();
        map
    }
}

/// The clock rates of a cpu's visits as one entry.
fn clock_of(cpu: u32, rates: &[f64]) -> CpuClock {
    let (lowest, highest) = range(rates);
    CpuClock { cpu, gigahertz: median(rates), lowest, highest }
}

/// The node of a cpu by the system's number, where the machine has nodes.
fn node_of(machine: &Machine, cpu: u32) -> Option<u32> {
    machine.index_of(Level::Node, cpu).map(|index| machine.nodes[index].number)
}

#[cfg(test)]
mod tests;
