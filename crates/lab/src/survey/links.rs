//! The link probe in a survey: visits pairs of cpus in random order, repeatedly, and records the costs.

use std::collections::BTreeMap;
use std::time::Instant;

use corewise_machine::{CpuSet, Gap, Level, Machine};
use corewise_model::links::explore::{ExploreLimits, PairExplorer};
use corewise_model::links::structure::CpuStructure;
use corewise_model::links::{LinkFindings, LinkPair, TalkWay};
use corewise_sys::clock::TickClock;

use super::schedule::TAIL_SHARE;
use crate::links::CHOICES;
use crate::probe::links::{self, ClockWarmth, LIMIT, LinkVisit, MemoryHome};
use crate::session::{ProbeSession, RandomSweeps, RoundPart, SessionProbe};

/// Largest number of cpus at which every pair is measured.
const ALL_PAIRS_UP_TO: usize = 32;
/// Failures after which a pair is not visited any more: each try takes two threads and up to 250 ms.
const TRIES: u32 = 3;

/// Link measurements in progress.
pub struct LinkProbe {
    clock: TickClock,
    cpus: usize,
    /// The node of each cpu.
    nodes: BTreeMap<u32, Option<usize>>,
    sweeps: RandomSweeps<(u32, u32)>,
    warmth: ClockWarmth,
    seen: BTreeMap<(u32, u32), LinkPair>,
    failed: BTreeMap<(u32, u32), (u32, Gap)>,
}

impl LinkProbe {
    /// Prepares the visits to pairs of these cpus.
    pub fn new(clock: TickClock, machine: &Machine, cpus: &CpuSet) -> Self {
        Self {
            clock,
            cpus: cpus.len(),
            nodes: cpus.iter().map(|cpu| (cpu, machine.index_of(Level::Node, cpu))).collect(),
            sweeps: RandomSweeps::new(choose_pairs(machine, cpus)),
            warmth: ClockWarmth::default(),
            seen: BTreeMap::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Returns the pairs that were measured at least once, and why the others were not.
    pub fn conclude_links(&self) -> LinkFindings {
        let mut gaps: Vec<Gap> = self
            .failed
            .iter()
            .filter(|(pair, _)| !self.seen.contains_key(pair))
            .map(|(_, (_, gap))| gap.clone())
            .collect();
        if self.cpus < 2 {
            let why = format!("links need two cpus; {} was surveyed", self.cpus);
            gaps.push(
                Gap::new("links between cpus", why)
                    .cured_by("survey at least two cpus, and allow this process at least two"),
            );
        }
        let possible_pairs = (self.cpus * self.cpus.saturating_sub(1) / 2) as u64;
        LinkFindings { pairs: self.seen.values().cloned().collect(), possible_pairs, gaps }
    }

    /// Returns the number of pairs not visited yet.
    pub fn waiting_pairs(&self) -> usize {
        self.sweeps.count_without(|pair| self.seen.contains_key(pair) || self.failed.contains_key(pair))
    }

    fn visit_pair(&mut self, (a, b): (u32, u32), session: &mut ProbeSession<'_>) {
        let back = self.is_turned_back(a, b);
        let (first, second) = if back { (b, a) } else { (a, b) };
        let visit = LinkVisit { what: TalkWay::Cas, first, second, home: MemoryHome::First, limit: LIMIT };
        match links::visit_pair(&self.clock, &visit, &self.warmth, &mut session.random, session.budget.stop()) {
            Ok(Some(visited)) => {
                let pair = self.seen.entry((a, b)).or_insert_with(|| LinkPair::new(a, b, Vec::new()));
                pair.push_visit(back, visited.cost_ns);
            }
            Ok(None) => {}
            Err(missed) => {
                let failed = self.failed.entry((a, b)).or_insert((0, missed.gap));
                failed.0 += 1;
                if failed.0 >= TRIES {
                    self.sweeps.leave_out((a, b));
                }
            }
        }
        session.budget.count_visit();
    }

    /// Returns true if the higher cpu begins. Between nodes the two take turns, since the home node of the memory matters there.
    fn is_turned_back(&self, a: u32, b: u32) -> bool {
        let seen = self.seen.get(&(a, b));
        self.nodes.get(&a) != self.nodes.get(&b)
            && seen.is_some_and(|pair| pair.visits_ns().len() > pair.back_ns().len())
    }
}

impl SessionProbe for LinkProbe {
    /// A single cpu has no links.
    fn round_share(&self) -> f64 {
        if self.cpus > 1 { 1.0 - TAIL_SHARE } else { 0.0 }
    }

    /// Visits as many pairs as there is time for.
    fn visit_part(&mut self, session: &mut ProbeSession<'_>, part: RoundPart) -> bool {
        session.report_step(format!("links, {part}"));
        while Instant::now() < part.end && !session.budget.is_stopped() {
            let Some(pair) = self.sweeps.next_visit(&mut session.random) else { break };
            self.visit_pair(pair, session);
        }
        true
    }
}

/// Returns the pairs to measure, `a < b`: all of them up to 32 cpus; beyond, the first ones of a link map.
fn choose_pairs(machine: &Machine, cpus: &CpuSet) -> Vec<(u32, u32)> {
    let limits = ExploreLimits { all: cpus.len() <= ALL_PAIRS_UP_TO, ..ExploreLimits::default() };
    PairExplorer::new(CpuStructure::new(Some(machine), cpus), limits, CHOICES).first_pairs()
}

#[cfg(test)]
mod tests {
    use corewise_model::links::{CpuRelation, CpuRelationTable};

    use super::*;

    #[test]
    fn every_relation_of_a_large_machine_is_sampled() {
        let llcs: Vec<(CpuSet, u64)> =
            (0..8).map(|llc| ((llc * 8..llc * 8 + 8).chain(64 + llc * 8..72 + llc * 8).collect(), 32)).collect();
        let machine = corewise_machine::generate::one_package_machine(128, true, &llcs);
        let relations = CpuRelationTable::new(&machine);
        let pairs = choose_pairs(&machine, &machine.allowed);
        assert!((1000..=2100).contains(&pairs.len()), "{}", pairs.len());
        assert!(pairs.is_sorted() && pairs.iter().all(|(a, b)| a < b));
        for relation in [CpuRelation::SameCore, CpuRelation::SameLlc, CpuRelation::OtherLlc] {
            let seen = pairs.iter().filter(|&&(a, b)| relations.relation_between(a, b) == Some(relation)).count();
            assert!(seen >= 24, "{relation:?}: {seen}");
        }
    }

    #[test]
    fn every_pair_of_a_small_machine_is_visited_and_few_of_a_very_large_one() {
        let machine = |cpus| corewise_machine::generate::one_package_machine(cpus, true, &[((0..cpus).collect(), 32)]);
        assert_eq!(choose_pairs(&machine(32), &machine(32).allowed).len(), 496);
        let large = choose_pairs(&machine(1024), &machine(1024).allowed);
        assert!((100..=2000).contains(&large.len()), "{}", large.len());
    }
}
