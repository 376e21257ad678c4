//! Making of a map: it checks whether pairs can be visited at the same time, explores, repeats, and refines uncertain
//! pairs.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_machine::Machine;
use corewise_model::links::explore::Explorer;
use corewise_model::links::map::{LinkMap, Parallel, Provenance};
use corewise_model::links::structure::Structure;
use corewise_model::links::{Matrix, What};

use super::pairs::{Known, Turn};
use super::{Ordered, Outcome, Plan, SURE, Talk, parallel};
use crate::session::{Budget, Progress, Session, unix_ms};

/// Share of the budget up to which each pair is visited twice before the next choice; otherwise once.
const TWICE: f64 = 0.2;
/// Approximate minimum number of visits in all, and the range of visits of each pair.
const VISITS_IN_ALL: usize = 2000;
const VISITS: std::ops::RangeInclusive<usize> = 3..=12;
/// Visits of held-out pairs. With fewer, their own noise would count as an error of predictions.
const CHECKED: usize = 12;
/// Minimum time for a map of few pairs, so that it does not show a moment…
const AT_LEAST: Duration = Duration::from_secs(2);
/// …and the maximum number of visits of each of its pairs.
const VISITS_OF_FEW: usize = 200;
/// Divisor of the budget for checking whether pairs can be visited at the same time.
const LOOK_SHARE: u32 = 8;
/// Maximum visits of pairs that are still uncertain.
const MOST_VISITS: usize = 48;
/// Further attempts at pairs that were given up because their cpus were busy, and the divisor of the budget for these.
/// A cpu that is never free must not take all the time.
const TRIES_MORE: usize = 24;
const BUSY_SHARE: u32 = 4;

/// Makes a map. Soon after `stop` becomes true, it ends with a partial map.
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
        session: Session::new(Budget::new(Some(plan.budget), stop), !plan.seed, progress),
        parallel: None,
        partial: false,
        needed: 0,
    };
    let started_unix_ms = unix_ms();
    mapping.look_at_parallel();
    mapping.explore();
    mapping.repeat();
    mapping.refine();
    mapping.take_up_again();
    // A pair that was given up is a gap, and does not make the map partial.
    mapping.partial |= mapping.known.has_missed_some(mapping.known.len());
    mapping.go_on();
    mapping.finish(started_unix_ms)
}

/// Map in the making.
struct Mapping<'a> {
    plan: &'a Plan,
    machine: Option<Machine>,
    explorer: Explorer,
    talk: &'a mut dyn Talk,
    session: Session<'a>,
    known: Known,
    parallel: Option<Parallel>,
    /// Whether it ended before its plan did.
    partial: bool,
    /// Number of pairs, from the first, that groups are concluded from.
    needed: usize,
}

impl Mapping<'_> {
    /// Returns true if the time is over or a stop was requested.
    fn is_over(&mut self) -> bool {
        self.partial |= self.session.budget.is_stopped();
        self.session.budget.is_over()
    }

    fn at_a_time(&self) -> usize {
        self.parallel.as_ref().map_or(1, |parallel| parallel.at_a_time as usize)
    }

    /// Measures the pairs that the explorer asks for, until it asks for no more.
    fn explore(&mut self) {
        loop {
            let costs: Matrix = self.known.matrix(0);
            let is_needed = self.explorer.is_searching();
            let Some(wishes) = self.explorer.next(&costs) else { return };
            if self.is_over() {
                self.partial = true;
                return;
            }
            for wish in &wishes {
                self.known.add(*wish);
            }
            let pairs: Vec<usize> = self.known.last(wishes.len());
            if is_needed {
                self.needed = self.known.len();
            }
            let begun = self.session.budget.elapsed();
            self.sweep("choosing pairs", &pairs);
            let took = self.session.budget.elapsed().saturating_sub(begun);
            if took.as_secs_f64() < TWICE * self.plan.budget.as_secs_f64() {
                self.sweep("choosing pairs", &pairs);
            }
        }
    }

    /// Visits all pairs as often as needed.
    fn repeat(&mut self) {
        let wanted = (VISITS_IN_ALL / self.known.len().max(1)).clamp(*VISITS.start(), *VISITS.end());
        loop {
            let wanted = if self.session.budget.elapsed() < AT_LEAST { VISITS_OF_FEW } else { wanted };
            let wanted = |pair: usize| if self.known.is_held_out(pair) { wanted.max(CHECKED) } else { wanted };
            let few: Vec<usize> =
                (0..self.known.len()).filter(|&pair| self.known.visits(pair) < wanted(pair)).collect();
            if few.is_empty() || self.is_over() || !self.sweep("visiting pairs", &few) {
                return;
            }
        }
    }

    /// Visits the pairs that are still uncertain.
    fn refine(&mut self) {
        loop {
            let unsure: Vec<usize> = (0..self.known.len())
                .filter(|&pair| self.known.visits(pair) < MOST_VISITS && self.known.uncertainty(pair) > SURE)
                .collect();
            if unsure.is_empty() || self.is_over() || !self.sweep("uncertain pairs", &unsure) {
                return;
            }
        }
    }

    /// Spends remaining time on pairs that were given up because their cpus were busy, since these may be free by now.
    fn take_up_again(&mut self) {
        let begun = self.session.budget.elapsed();
        for _ in 0..TRIES_MORE {
            let turns = self.known.given_up_as_busy();
            let tried = self.session.budget.elapsed().saturating_sub(begun);
            if turns.is_empty() || tried > self.plan.budget / BUSY_SHARE || self.is_over() {
                return;
            }
            if self.visit_all("pairs whose cpus were busy", turns) {
                self.repeat();
            }
        }
    }

    /// Spends remaining time on more pairs, as long as predictions are wrong.
    fn go_on(&mut self) {
        while !self.partial && !self.is_over() {
            let wishes = self.explorer.further(&self.known.matrix(0));
            if wishes.is_empty() {
                return;
            }
            wishes.iter().for_each(|wish| self.known.add(*wish));
            let pairs: Vec<usize> = self.known.last(wishes.len());
            for _ in 0..*VISITS.start() {
                self.sweep("more pairs", &pairs);
            }
        }
    }

    /// Visits some pairs once, in random order; returns false if no visit had a result.
    fn sweep(&mut self, what: &str, pairs: &[usize]) -> bool {
        self.visit_all(what, pairs.iter().flat_map(|&pair| self.known.turns(pair)).collect())
    }

    /// Makes visits in random order; returns false if none had a result.
    fn visit_all(&mut self, what: &str, mut turns: Vec<Turn>) -> bool {
        self.session.random.shuffle(&mut turns);
        let mut any = false;
        let total = turns.len();
        while !turns.is_empty() && !self.session.budget.is_over() {
            let now = self.known.disjoint(&mut turns, self.at_a_time());
            self.session.report(format!("{what}, {} of {total}", total - turns.len()));
            any |= self.visit(&now);
        }
        any
    }

    /// Makes visits at the same time, and accounts for simulated time.
    fn talked(&mut self, visits: &[Ordered]) -> Vec<Outcome> {
        let outcomes = self.talk.visit(visits);
        self.session.budget.makes_up(self.talk.made_up());
        outcomes
    }

    /// Makes visits at the same time, and records their results; returns false if there was none.
    fn visit(&mut self, turns: &[Turn]) -> bool {
        let visits: Vec<Ordered> = turns.iter().map(|turn| self.known.ordered(turn)).collect();
        let outcomes = self.talked(&visits);
        self.session.budget.visited();
        let mut any = false;
        for (turn, outcome) in turns.iter().zip(outcomes) {
            match outcome {
                Outcome::Visited(visited) => {
                    any = true;
                    self.known.take(turn, &visited);
                }
                Outcome::Stopped => {}
                Outcome::Busy(gap) => self.known.fail(turn, gap, true),
                Outcome::Failed(gap) => self.known.fail(turn, gap, false),
            }
        }
        any
    }

    /// Checks whether pairs can be visited at the same time: visits some alone and together in turn.
    fn look_at_parallel(&mut self) {
        let structure = self.explorer.structure();
        let most = (structure.cores.len() / 2).min(self.talk.at_a_time());
        if most < parallel::WORTH_IT || self.plan.kinds.iter().any(|what| matches!(what, What::Bandwidth { .. })) {
            return;
        }
        let pairs = parallel::disjoint_pairs(structure, most.min(parallel::AT_A_TIME), &mut self.session.random);
        let kinds = self.plan.kinds[0];
        let ordered = |pair: &(u32, u32)| Ordered { what: kinds, first: pair.0, second: pair.1 };
        let mut looks = parallel::Looks::new(pairs.len());
        for _ in 0..parallel::ROUNDS {
            let mut order: Vec<usize> = (0..pairs.len()).collect();
            self.session.random.shuffle(&mut order);
            for place in order {
                looks.alone(place, &self.talked(&[ordered(&pairs[place])]));
                // Pairs that do not answer, or take long, are left to the map itself.
                if looks.has_failed() || self.session.budget.elapsed() > self.plan.budget / LOOK_SHARE || self.is_over()
                {
                    return;
                }
            }
            looks.together(&self.talked(&pairs.iter().map(ordered).collect::<Vec<_>>()));
        }
        self.parallel = looks.verdict();
    }

    fn finish(self, started_unix_ms: i64) -> LinkMap {
        let provenance = Provenance {
            origin: self.talk.origin(),
            corewise: self.plan.corewise.to_owned(),
            started_unix_ms,
            elapsed_s: self.session.budget.elapsed().as_secs_f64(),
            budget_s: self.plan.budget.as_secs_f64(),
            seed: self.plan.seed,
            partial: self.partial,
        };
        let unfinished = self.explorer.is_searching() || self.known.has_missed_some(self.needed);
        let mut map = self.known.into_map(provenance, self.talk.clock());
        map.machine = self.machine;
        map.parallel = self.parallel;
        map.unfinished = unfinished;
        // An incomplete search has no result.
        map.searched = if unfinished { Vec::new() } else { self.explorer.searched() };
        map
    }
}
