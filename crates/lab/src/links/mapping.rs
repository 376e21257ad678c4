//! Making of a map: it checks whether pairs can be visited at the same time, explores, repeats, and refines uncertain
//! pairs.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_machine::Machine;
use corewise_model::artifact::ArtifactProvenance;
use corewise_model::links::explore::PairExplorer;
use corewise_model::links::map::{LinkMap, ParallelCheck};
use corewise_model::links::structure::CpuStructure;
use corewise_model::links::{CostMatrix, TalkWay};

use super::pairs::{ChosenPairs, PairTurn};
use super::{LinkVisitOutcome, LinksPlan, PairVisitor, SURE, VisitOrder, parallel};
use crate::session::{ProbeSession, SessionBudget, StepProgress, unix_ms};

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
pub fn map_links(
    plan: &LinksPlan,
    machine: Option<Machine>,
    talk: &mut dyn PairVisitor,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&StepProgress),
) -> LinkMap {
    let structure = CpuStructure::new(machine.as_ref(), &plan.cpus);
    let mut mapping = LinkMapping {
        plan,
        known: ChosenPairs::new(plan, machine.as_ref(), &structure),
        explorer: PairExplorer::new(structure, plan.limits, plan.choices),
        machine,
        talk,
        session: ProbeSession::new(SessionBudget::new(Some(plan.budget), stop), !plan.seed, progress),
        parallel: None,
        partial: false,
        needed: 0,
    };
    let started_unix_ms = unix_ms();
    mapping.look_at_parallel();
    mapping.explore_pairs();
    mapping.repeat_visits();
    mapping.refine_pairs();
    mapping.take_up_again();
    // A pair that was given up is a gap, and does not make the map partial.
    mapping.partial |= mapping.known.has_missed_some(mapping.known.len());
    mapping.continue_measuring();
    mapping.finish_map(started_unix_ms)
}

/// Map in the making.
struct LinkMapping<'a> {
    plan: &'a LinksPlan,
    machine: Option<Machine>,
    explorer: PairExplorer,
    talk: &'a mut dyn PairVisitor,
    session: ProbeSession<'a>,
    known: ChosenPairs,
    parallel: Option<ParallelCheck>,
    /// Whether it ended before its plan did.
    partial: bool,
    /// Number of pairs, from the first, that groups are concluded from.
    needed: usize,
}

impl LinkMapping<'_> {
    /// Returns true if the time is over or a stop was requested.
    fn is_over(&mut self) -> bool {
        self.partial |= self.session.budget.is_stopped();
        self.session.budget.is_over()
    }

    fn pairs_at_once(&self) -> usize {
        self.parallel.as_ref().map_or(1, |parallel| parallel.at_a_time as usize)
    }

    /// Measures the pairs that the explorer asks for, until it asks for no more.
    fn explore_pairs(&mut self) {
        loop {
            let costs: CostMatrix = self.known.cost_matrix(0);
            let is_needed = self.explorer.is_searching();
            let Some(wishes) = self.explorer.next(&costs) else { return };
            if self.is_over() {
                self.partial = true;
                return;
            }
            for wish in &wishes {
                self.known.add_pair(*wish);
            }
            let pairs: Vec<usize> = self.known.last_pairs(wishes.len());
            if is_needed {
                self.needed = self.known.len();
            }
            let begun = self.session.budget.elapsed_time();
            self.sweep_pairs("choosing pairs", &pairs);
            let took = self.session.budget.elapsed_time().saturating_sub(begun);
            if took.as_secs_f64() < TWICE * self.plan.budget.as_secs_f64() {
                self.sweep_pairs("choosing pairs", &pairs);
            }
        }
    }

    /// Visits all pairs as often as needed.
    fn repeat_visits(&mut self) {
        let wanted = (VISITS_IN_ALL / self.known.len().max(1)).clamp(*VISITS.start(), *VISITS.end());
        loop {
            let wanted = if self.session.budget.elapsed_time() < AT_LEAST { VISITS_OF_FEW } else { wanted };
            let wanted = |pair: usize| if self.known.is_held_out(pair) { wanted.max(CHECKED) } else { wanted };
            let few: Vec<usize> =
                (0..self.known.len()).filter(|&pair| self.known.visit_count(pair) < wanted(pair)).collect();
            if few.is_empty() || self.is_over() || !self.sweep_pairs("visiting pairs", &few) {
                return;
            }
        }
    }

    /// Visits the pairs that are still uncertain.
    fn refine_pairs(&mut self) {
        loop {
            let unsure: Vec<usize> = (0..self.known.len())
                .filter(|&pair| self.known.visit_count(pair) < MOST_VISITS && self.known.cost_uncertainty(pair) > SURE)
                .collect();
            if unsure.is_empty() || self.is_over() || !self.sweep_pairs("uncertain pairs", &unsure) {
                return;
            }
        }
    }

    /// Spends remaining time on pairs that were given up because their cpus were busy, since these may be free by now.
    fn take_up_again(&mut self) {
        let begun = self.session.budget.elapsed_time();
        for _ in 0..TRIES_MORE {
            let turns = self.known.busy_turns();
            let tried = self.session.budget.elapsed_time().saturating_sub(begun);
            if turns.is_empty() || tried > self.plan.budget / BUSY_SHARE || self.is_over() {
                return;
            }
            if self.visit_all("pairs whose cpus were busy", turns) {
                self.repeat_visits();
            }
        }
    }

    /// Spends remaining time on more pairs, as long as predictions are wrong.
    fn continue_measuring(&mut self) {
        while !self.partial && !self.is_over() {
            let wishes = self.explorer.further_batch(&self.known.cost_matrix(0));
            if wishes.is_empty() {
                return;
            }
            wishes.iter().for_each(|wish| self.known.add_pair(*wish));
            let pairs: Vec<usize> = self.known.last_pairs(wishes.len());
            for _ in 0..*VISITS.start() {
                self.sweep_pairs("more pairs", &pairs);
            }
        }
    }

    /// Visits some pairs once, in random order; returns false if no visit had a result.
    fn sweep_pairs(&mut self, what: &str, pairs: &[usize]) -> bool {
        self.visit_all(what, pairs.iter().flat_map(|&pair| self.known.next_turns(pair)).collect())
    }

    /// Makes visits in random order; returns false if none had a result.
    fn visit_all(&mut self, what: &str, mut turns: Vec<PairTurn>) -> bool {
        self.session.random.shuffle(&mut turns);
        let mut any = false;
        let total = turns.len();
        while !turns.is_empty() && !self.session.budget.is_over() {
            let now = self.known.take_disjoint(&mut turns, self.pairs_at_once());
            self.session.report_step(format!("{what}, {} of {total}", total - turns.len()));
            any |= self.visit_turns(&now);
        }
        any
    }

    /// Makes visits at the same time, and accounts for simulated time.
    fn make_visits(&mut self, visits: &[VisitOrder]) -> Vec<LinkVisitOutcome> {
        let outcomes = self.talk.visit_pairs(visits);
        self.session.budget.set_simulated_elapsed(self.talk.simulated_elapsed());
        outcomes
    }

    /// Makes visits at the same time, and records their results; returns false if there was none.
    fn visit_turns(&mut self, turns: &[PairTurn]) -> bool {
        let visits: Vec<VisitOrder> = turns.iter().map(|turn| self.known.order_visit(turn)).collect();
        let outcomes = self.make_visits(&visits);
        self.session.budget.count_visit();
        let mut any = false;
        for (turn, outcome) in turns.iter().zip(outcomes) {
            match outcome {
                LinkVisitOutcome::Visited(visited) => {
                    any = true;
                    self.known.take_visit(turn, &visited);
                }
                LinkVisitOutcome::Stopped => {}
                LinkVisitOutcome::Busy(gap) => self.known.note_failure(turn, gap, true),
                LinkVisitOutcome::Failed(gap) => self.known.note_failure(turn, gap, false),
            }
        }
        any
    }

    /// Checks whether pairs can be visited at the same time: visits some alone and together in turn.
    fn look_at_parallel(&mut self) {
        let structure = self.explorer.structure();
        let most = (structure.cores.len() / 2).min(self.talk.pairs_at_once());
        if most < parallel::WORTH_IT || self.plan.kinds.iter().any(|what| matches!(what, TalkWay::Bandwidth { .. })) {
            return;
        }
        let pairs = parallel::disjoint_pairs(structure, most.min(parallel::AT_A_TIME), &mut self.session.random);
        let kinds = self.plan.kinds[0];
        let ordered = |pair: &(u32, u32)| VisitOrder { what: kinds, first: pair.0, second: pair.1 };
        let mut looks = parallel::ParallelCosts::new(pairs.len());
        for _ in 0..parallel::ROUNDS {
            let mut order: Vec<usize> = (0..pairs.len()).collect();
            self.session.random.shuffle(&mut order);
            for place in order {
                looks.add_alone(place, &self.make_visits(&[ordered(&pairs[place])]));
                // Pairs that do not answer, or take long, are left to the map itself.
                if looks.has_failed()
                    || self.session.budget.elapsed_time() > self.plan.budget / LOOK_SHARE
                    || self.is_over()
                {
                    return;
                }
            }
            looks.add_together(&self.make_visits(&pairs.iter().map(ordered).collect::<Vec<_>>()));
        }
        self.parallel = looks.judge_costs();
    }

    fn finish_map(self, started_unix_ms: i64) -> LinkMap {
        let provenance = ArtifactProvenance {
            origin: self.talk.map_origin(),
            corewise: self.plan.corewise.to_owned(),
            started_unix_ms,
            elapsed_s: self.session.budget.elapsed_time().as_secs_f64(),
            budget_s: self.plan.budget.as_secs_f64(),
            seed: self.plan.seed,
            partial: self.partial,
        };
        let unfinished = self.explorer.is_searching() || self.known.has_missed_some(self.needed);
        let mut map = self.known.into_map(provenance, self.talk.timing_clock());
        map.machine = self.machine;
        map.parallel = self.parallel;
        map.unfinished = unfinished;
        // An incomplete search has no result.
        map.searched = if unfinished { Vec::new() } else { self.explorer.searched_groups() };
        map
    }
}
