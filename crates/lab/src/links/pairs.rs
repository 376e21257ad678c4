//! State of each pair: its visits, the certainty of its cost, and failures.

use std::collections::BTreeMap;

use corewise_machine::{Gap, Level, Machine};
use corewise_model::artifact::ArtifactProvenance;
use corewise_model::clock::ClockRecord;
use corewise_model::links::explore::WantedPair;
use corewise_model::links::map::{CostUnit, CpuClock, LinkMap, LinkSeries, SpoiledSamples};
use corewise_model::links::structure::CpuStructure;
use corewise_model::links::{CostMatrix, LinkFindings, LinkPair, TalkWay};
use corewise_statistics::order::{median, median_deviation, value_range};

use super::{LinksPlan, VisitOrder, VisitedPair};

/// Failures in a row after which a pair is given up: each attempt takes two threads and up to a quarter of a second.
const TRIES: u32 = 3;
/// Two standard errors of a median, relative to one of a mean, for normal values: a 95 % interval.
const MEDIAN_INTERVAL: f64 = 2.0 * 1.2533;
/// Visits of a pair with stolen time that are discarded; further ones count, since the host always steals.
const THROWN_AWAY: u32 = 6;
/// Minimum number of visits for an interval.
const VISITS_ENOUGH: usize = 4;

/// One visit of one pair in one way.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairTurn {
    pair: usize,
    kind: usize,
    /// Whether the higher cpu begins.
    back: bool,
}

/// Visits of a pair, from the lower and from the higher cpu.
#[derive(Clone, Debug, Default)]
struct PairVisits {
    there: Vec<f64>,
    back: Vec<f64>,
}

/// Failures in a row, with the gap of the last.
struct PairFailure {
    times: u32,
    gap: Gap,
    /// Whether another program used a cpu.
    is_busy: bool,
}

/// All chosen pairs.
pub(super) struct ChosenPairs {
    kinds: Vec<TalkWay>,
    cpus: Vec<u32>,
    core_of: Vec<usize>,
    node_of: Vec<Option<u32>>,
    pairs: Vec<WantedPair>,
    /// By pair and kind.
    seen: Vec<Vec<PairVisits>>,
    /// Number of discarded visits of each pair.
    thrown_away: BTreeMap<usize, u32>,
    /// By pair and kind.
    failed: BTreeMap<(usize, usize), PairFailure>,
    /// Other node that held the memory of a node, although a cpu of the latter touched it first.
    strangers: BTreeMap<u32, u32>,
    rates: BTreeMap<u32, Vec<f64>>,
    spoiled: SpoiledSamples,
    possible_pairs: u64,
}

impl ChosenPairs {
    pub(super) fn new(plan: &LinksPlan, machine: Option<&Machine>, structure: &CpuStructure) -> Self {
        let count = structure.cpus.len() as u64;
        Self {
            kinds: plan.kinds.clone(),
            cpus: structure.cpus.clone(),
            core_of: (0..structure.cpus.len()).map(|place| structure.core_at(place)).collect(),
            node_of: structure.cpus.iter().map(|&cpu| machine.and_then(|machine| node_of(machine, cpu))).collect(),
            pairs: Vec::new(),
            seen: Vec::new(),
            thrown_away: BTreeMap::new(),
            failed: BTreeMap::new(),
            strangers: BTreeMap::new(),
            rates: BTreeMap::new(),
            spoiled: SpoiledSamples::default(),
            possible_pairs: count * count.saturating_sub(1) / 2,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn add_pair(&mut self, wish: WantedPair) {
        self.pairs.push(wish);
        self.seen.push(vec![PairVisits::default(); self.kinds.len()]);
    }

    /// Returns the pairs that were added last.
    pub(super) fn last_pairs(&self, count: usize) -> Vec<usize> {
        (self.pairs.len() - count..self.pairs.len()).collect()
    }

    /// Returns the costs of pairs in one way to talk, including held-out ones.
    pub(super) fn cost_matrix(&self, kind: usize) -> CostMatrix {
        let mut matrix = CostMatrix::all_unknown(self.cpus.iter().copied());
        for (wish, seen) in self.pairs.iter().zip(&self.seen) {
            matrix.set_cost(wish.i, wish.j, median(&seen[kind].there));
            matrix.set_cost(wish.j, wish.i, median(&seen[kind].back));
        }
        matrix
    }

    /// Returns true if one of the first pairs has no visit and was not given up.
    pub(super) fn has_missed_some(&self, first: usize) -> bool {
        (0..first).any(|pair| self.visit_count(pair) == 0)
    }

    /// Returns true if a pair only checks a prediction.
    pub(super) fn is_held_out(&self, pair: usize) -> bool {
        self.pairs[pair].held_out
    }

    /// Returns the visits of a pair in its least visited way; `usize::MAX` if it was given up in all.
    pub(super) fn visit_count(&self, pair: usize) -> usize {
        let kinds = (0..self.kinds.len()).filter(|&kind| !self.is_given_up(pair, kind));
        let visits = |kind: usize| {
            let seen = &self.seen[pair][kind];
            if self.has_two_sides(pair, kind) {
                seen.there.len().min(seen.back.len())
            } else {
                seen.there.len() + seen.back.len()
            }
        };
        kinds.map(visits).min().unwrap_or(usize::MAX)
    }

    /// Returns the reach of the 95 % interval of a pair's cost, as a share of the cost, for its least certain kind and
    /// side.
    pub(super) fn cost_uncertainty(&self, pair: usize) -> f64 {
        let kinds = (0..self.kinds.len()).filter(|&kind| !self.is_given_up(pair, kind));
        let sides = kinds.flat_map(|kind| {
            let PairVisits { there, back } = &self.seen[pair][kind];
            if self.has_two_sides(pair, kind) {
                vec![there.clone(), back.clone()]
            } else {
                vec![[&there[..], back].concat()]
            }
        });
        sides.map(|visits| interval_reach(&visits)).fold(0.0, f64::max)
    }

    /// Returns true if it matters which cpu begins: the memory is on another node then, or one sends and the other
    /// receives.
    fn has_two_sides(&self, pair: usize, kind: usize) -> bool {
        let WantedPair { i, j, .. } = self.pairs[pair];
        self.node_of[i] != self.node_of[j]
            || !matches!(self.kinds[kind], TalkWay::Cas | TalkWay::Store | TalkWay::Wakeup)
    }

    /// Returns the visits of a pair's next round: one in each way to talk. Both sides begin if that matters, otherwise
    /// they alternate.
    pub(super) fn next_turns(&self, pair: usize) -> Vec<PairTurn> {
        let kinds = (0..self.kinds.len()).filter(|&kind| !self.is_given_up(pair, kind));
        let turns = kinds.flat_map(|kind| {
            let PairVisits { there, back } = &self.seen[pair][kind];
            let sides = if self.has_two_sides(pair, kind) { vec![false, true] } else { vec![there.len() > back.len()] };
            sides.into_iter().map(move |back| PairTurn { pair, kind, back })
        });
        turns.collect()
    }

    /// Takes up to `at_a_time` turns without common cores.
    pub(super) fn take_disjoint(&self, turns: &mut Vec<PairTurn>, at_a_time: usize) -> Vec<PairTurn> {
        let mut busy = std::collections::BTreeSet::new();
        let mut taken = Vec::new();
        let mut place = turns.len();
        // From the end, so that removing one only moves those behind it.
        while place > 0 && taken.len() < at_a_time {
            place -= 1;
            let WantedPair { i, j, .. } = self.pairs[turns[place].pair];
            let cores = [self.core_of[i], self.core_of[j]];
            let is_first = taken.is_empty();
            if is_first || cores.iter().all(|core| !busy.contains(core)) {
                busy.extend(cores);
                taken.push(turns.remove(place));
            }
        }
        taken
    }

    pub(super) fn order_visit(&self, turn: &PairTurn) -> VisitOrder {
        let WantedPair { i, j, .. } = self.pairs[turn.pair];
        let (first, second) = if turn.back { (j, i) } else { (i, j) };
        VisitOrder { what: self.kinds[turn.kind], first: self.cpus[first], second: self.cpus[second] }
    }

    pub(super) fn take_visit(&mut self, turn: &PairTurn, visited: &VisitedPair) {
        self.note_visit(turn, visited);
        if visited.spoiled.stolen > 0 {
            let thrown_away = self.thrown_away.entry(turn.pair).or_default();
            *thrown_away += 1;
            if *thrown_away <= THROWN_AWAY {
                return;
            }
        }
        // Only failures in a row give a pair up, not three of a hundred.
        self.failed.remove(&(turn.pair, turn.kind));
        let seen = &mut self.seen[turn.pair][turn.kind];
        if turn.back { &mut seen.back } else { &mut seen.there }.push(visited.cost_ns);
    }

    /// Records the observations of a visit other than its cost.
    fn note_visit(&mut self, turn: &PairTurn, visited: &VisitedPair) {
        let VisitOrder { first, second, .. } = self.order_visit(turn);
        for (cpu, rate) in [first, second].into_iter().zip(visited.gigahertz) {
            self.rates.entry(cpu).or_default().extend(rate);
        }
        self.note_home(turn, visited.home);
        let (all, more) = (&mut self.spoiled, visited.spoiled);
        all.samples += more.samples;
        all.switched += more.switched;
        all.interrupted += more.interrupted;
        all.stolen += more.stolen;
    }

    fn note_home(&mut self, turn: &PairTurn, home: Option<u32>) {
        let WantedPair { i, j, .. } = self.pairs[turn.pair];
        let own = self.node_of[if turn.back { j } else { i }];
        if let (Some(own), Some(home)) = (own, home)
            && own != home
        {
            self.strangers.insert(own, home);
        }
    }

    pub(super) fn note_failure(&mut self, turn: &PairTurn, gap: Gap, is_busy: bool) {
        let times = self.failed.get(&(turn.pair, turn.kind)).map_or(0, |failure| failure.times);
        self.failed.insert((turn.pair, turn.kind), PairFailure { times: times + 1, gap, is_busy });
    }

    /// Returns a visit of each pair and kind that was given up because another program used a cpu, or that had only
    /// such failures. It remains given up until a visit succeeds.
    pub(super) fn busy_turns(&self) -> Vec<PairTurn> {
        let given_up = self.failed.iter().filter(|(_, failure)| failure.is_busy);
        let given_up = given_up.filter(|((pair, kind), failure)| {
            let PairVisits { there, back } = &self.seen[*pair][*kind];
            failure.times >= TRIES || there.is_empty() && back.is_empty()
        });
        // The sides alternate.
        given_up.map(|(&(pair, kind), failure)| PairTurn { pair, kind, back: failure.times % 2 == 0 }).collect()
    }

    fn is_given_up(&self, pair: usize, kind: usize) -> bool {
        self.failed.get(&(pair, kind)).is_some_and(|failure| failure.times >= TRIES)
    }

    pub(super) fn into_map(self, provenance: ArtifactProvenance, clock: Option<ClockRecord>) -> LinkMap {
        let gaps = self.strangers.iter().map(|(own, home)| {
            let why = format!("the kernel puts memory that its cpus touch first on node {home}");
            Gap::new(format!("memory on node {own}"), why)
        });
        LinkMap {
            provenance,
            machine: None,
            clock,
            unit: CostUnit::Nanoseconds,
            cpus: self.cpus.iter().copied().collect(),
            searched: Vec::new(),
            unfinished: false,
            series: (0..self.kinds.len()).map(|kind| self.cost_series(kind)).collect(),
            clocks: self
                .rates
                .iter()
                .filter(|(_, rates)| !rates.is_empty())
                .map(|(cpu, rates)| merge_clock(*cpu, rates))
                .collect(),
            spoiled: self.spoiled,
            parallel: None,
            gaps: gaps.collect(),
        }
    }

    fn cost_series(&self, kind: usize) -> LinkSeries {
        let (mut pairs, mut held_out) = (Vec::new(), Vec::new());
        for (wish, seen) in self.pairs.iter().zip(&self.seen) {
            let PairVisits { there, back } = &seen[kind];
            if there.is_empty() && back.is_empty() {
                continue;
            }
            let pair = LinkPair::of_both(self.cpus[wish.i], self.cpus[wish.j], there.clone(), back.clone());
            if wish.held_out { &mut held_out } else { &mut pairs }.push(pair);
        }
        pairs.sort_by_key(|pair| (pair.a, pair.b));
        held_out.sort_by_key(|pair| (pair.a, pair.b));
        let failed = self.failed.iter().filter(|((_, of), _)| *of == kind);
        // A pair that was given up is a gap, even if it was visited before.
        let gaps = failed.filter(|((pair, _), failure)| {
            let seen = &self.seen[*pair][kind];
            failure.times >= TRIES || seen.there.is_empty() && seen.back.is_empty()
        });
        let gaps = gaps.map(|(_, failure)| failure.gap.clone()).collect();
        LinkSeries {
            what: self.kinds[kind],
            links: LinkFindings { pairs, possible_pairs: self.possible_pairs, gaps },
            held_out,
        }
    }
}

/// Returns the reach of the 95 % interval of the visits' median, as a share of the median; infinite for fewer than
/// four visits.
pub fn interval_reach(visits: &[f64]) -> f64 {
    if visits.len() < VISITS_ENOUGH {
        return f64::INFINITY;
    }
    MEDIAN_INTERVAL * median_deviation(visits) / (visits.len() as f64).sqrt() / median(visits)
}

/// Summarizes the clock rates of a cpu's visits.
fn merge_clock(cpu: u32, rates: &[f64]) -> CpuClock {
    let (lowest, highest) = value_range(rates);
    CpuClock { cpu, gigahertz: median(rates), lowest, highest }
}

/// Returns the node of a cpu by the system's number, if the machine has nodes.
fn node_of(machine: &Machine, cpu: u32) -> Option<u32> {
    machine.index_of(Level::Node, cpu).map(|index| machine.nodes[index].number)
}

#[cfg(test)]
mod tests {
    use corewise_machine::random::RandomGenerator;

    use super::*;

    #[test]
    fn few_visits_tell_nothing_and_equal_ones_are_sure() {
        assert_eq!(interval_reach(&[10.0; 3]), f64::INFINITY);
        assert_eq!(interval_reach(&[10.0; 4]), 0.0);
    }

    /// Of normal visits, the interval of the median holds the truth in about 95 of 100 cases.
    #[test]
    fn the_interval_of_normal_visits_holds_what_it_should() {
        let mut random = RandomGenerator::new(1);
        let mut held = 0;
        for _ in 0..2000 {
            let visits: Vec<f64> = (0..24).map(|_| 100.0 + 5.0 * random.next_normal()).collect();
            held += usize::from((median(&visits) - 100.0).abs() <= interval_reach(&visits) * median(&visits));
        }
        assert!((1800..1980).contains(&held), "{held}");
    }
}
