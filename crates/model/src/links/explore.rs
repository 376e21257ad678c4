//! Choice of the pairs to measure: few, but enough to predict the others, and some more to verify that.
//!
//! Small machines are measured in full, one pair of cpus for each pair of cores. On larger ones every block (pairs of cores that are
//! equal in the topology) gives a few random pairs. Uneven blocks are measured in full, and if predictions for held-out pairs are
//! wrong, all blocks give more. A large machine without groups in its topology is searched for them first: from one cpu to all others,
//! then from one far from it, and so on.

mod search;

use std::collections::{BTreeMap, BTreeSet};

use super::groups::hidden_groups;
use super::predict::{CostPredictor, MeasuredPair};
use super::structure::{CoreBlock, CpuStructure, PairNearness};
use super::{CostMatrix, CpuRelation};
use corewise_machine::CpuSet;
use corewise_machine::random::RandomGenerator;
use corewise_statistics::order::{median, quantile};
use search::GroupSearch;

/// Maximum number of cores of which all pairs are measured.
const FULL_CORES: usize = 64;
/// The same if no groups are reported or found: a mesh cannot be predicted.
const FULL_MESH_CORES: usize = 128;
/// Default limit on the number of pairs.
pub const PAIRS: usize = 2000;
/// Number of first pairs of each block.
const FIRST_PER_BLOCK: usize = 3;
/// Maximum number of sibling pairs to measure: pairs of one relation are alike.
const SIBLINGS: usize = 32;
/// Number of held-out pairs: this share of the others, within [`HELD_OUT`].
const HELD_OUT_SHARE: f64 = 0.1;
const HELD_OUT: std::ops::RangeInclusive<usize> = 120..=124;
/// Minimum numbers of held-out pairs among siblings and cores on one cache, if there are twice as many to predict. Random choice
/// alone would hold out hardly any near pairs of a large machine, and of fewer than forty the 95th percentile is the largest.
const HELD_OUT_NEAR: [(PairNearness, usize); 2] = [(PairNearness::Core, 40), (PairNearness::Cache, 60)];
/// Maximum number of these.
const NEAR: usize = HELD_OUT_NEAR[0].1 + HELD_OUT_NEAR[1].1;
/// Target errors of predictions: the median and the 95th percentile.
const AIM: [f64; 2] = [0.015, 0.05];
/// Further pairs at a time if errors are larger, as a share of the measured ones; at least [`FURTHER`].
const FURTHER_SHARE: f64 = 0.25;
const FURTHER: usize = 64;
/// Width of the middle 95 % of normal values, in standard deviations.
const MIDDLE_95: f64 = 3.92;
/// Error beyond which a prediction is wrong.
const WRONG: f64 = 0.05;
/// Width of the middle 95 % of a block's pairs, relative to their mean, beyond which it is uneven.
const UNEVEN: f64 = 0.2;
/// Number of cores on a cache beyond which a search for hidden divisions is worthwhile.
const LARGE_CACHE: usize = 24;

/// The user's limits on a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExploreLimits {
    /// Measure every pair of cpus.
    pub all: bool,
    /// Maximum number of pairs, including held-out ones, if a part can represent the whole.
    pub pairs: usize,
}

impl Default for ExploreLimits {
    fn default() -> Self {
        Self { all: false, pairs: PAIRS }
    }
}

/// A pair to measure, by places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedPair {
    /// The lower place.
    pub i: usize,
    /// The higher place.
    pub j: usize,
    /// True if it serves only to check its prediction.
    pub held_out: bool,
}

/// Stage of the exploration.
#[derive(Debug)]
enum ExploreStage {
    Search(GroupSearch),
    First,
    More { per_block: usize },
    Done,
}

/// The exploration of a machine; returns batches of pairs, each chosen from the known costs.
#[derive(Debug)]
pub struct PairExplorer {
    structure: CpuStructure,
    limits: ExploreLimits,
    random: RandomGenerator,
    stage: ExploreStage,
    has_searched: bool,
    /// Caches that were already searched.
    searched: BTreeSet<usize>,
    wished: BTreeSet<(usize, usize)>,
    /// Pairs that only check predictions.
    held_out: Vec<(usize, usize)>,
    /// True if the limit holds although time is left; of an unknown machine siblings count as cores, and it is too low.
    is_capped: bool,
}

impl PairExplorer {
    /// Starts an exploration. Random choices depend on the seed alone: two maps of a machine to be compared must choose alike.
    pub fn new(structure: CpuStructure, limits: ExploreLimits, seed: u64) -> Self {
        let cores = structure.cores.len();
        let is_told = structure.cache_count() > 1;
        let stage = match !limits.all && cores > FULL_CORES && !is_told {
            true => ExploreStage::Search(GroupSearch::new((0..cores).collect())),
            false => ExploreStage::First,
        };
        Self {
            is_capped: structure.is_named() || limits.pairs != PAIRS,
            structure,
            limits,
            random: RandomGenerator::new(seed),
            stage,
            has_searched: false,
            searched: BTreeSet::new(),
            wished: BTreeSet::new(),
            held_out: Vec::new(),
        }
    }

    /// Returns the groups found by a search because none were reported; empty without a search, and if it found none.
    pub fn searched_groups(&self) -> Vec<CpuSet> {
        let is_found = self.has_searched && self.structure.cache_count() > 1;
        if is_found { self.structure.caches_as_sets() } else { Vec::new() }
    }

    /// Returns the reported structure of the cpus, or the one found by a search.
    pub fn structure(&self) -> &CpuStructure {
        &self.structure
    }

    /// Returns the pairs to measure next, or `None` when there are enough. `costs` holds the known costs, including held-out pairs.
    pub fn next(&mut self, costs: &CostMatrix) -> Option<Vec<WantedPair>> {
        loop {
            let batch = match std::mem::replace(&mut self.stage, ExploreStage::Done) {
                ExploreStage::Done => return None,
                ExploreStage::Search(search) => self.continue_search(search, costs),
                ExploreStage::First => {
                    self.stage = ExploreStage::More { per_block: FIRST_PER_BLOCK };
                    let mut batch = self.first_batch();
                    // Held-out pairs come together with the first, so that an early end of the map has both.
                    if self.held_out.is_empty() {
                        batch.extend(self.held_out());
                    }
                    batch
                }
                ExploreStage::More { per_block } => self.more_pairs(per_block, costs),
            };
            if !batch.is_empty() {
                return Some(batch);
            }
        }
    }

    /// Returns the cpus of the initial pairs, sorted, the lower cpu first: all that is known before any measurement.
    pub fn first_pairs(mut self) -> Vec<(u32, u32)> {
        let mut wishes = self.first_batch();
        if !self.is_full() {
            wishes.extend(self.held_out());
        }
        let cpu = |place: usize| self.structure.cpus[place];
        let mut pairs: Vec<(u32, u32)> = wishes.iter().map(|wish| (cpu(wish.i), cpu(wish.j))).collect();
        pairs.sort_unstable();
        pairs
    }

    fn want_pairs(&mut self, pairs: impl IntoIterator<Item = (usize, usize)>, held_out: bool) -> Vec<WantedPair> {
        let mut batch = Vec::new();
        for (i, j) in pairs {
            let (i, j) = (i.min(j), i.max(j));
            if self.wished.insert((i, j)) {
                if held_out {
                    self.held_out.push((i, j));
                }
                batch.push(WantedPair { i, j, held_out });
            }
        }
        batch
    }

    fn continue_search(&mut self, mut search: GroupSearch, costs: &CostMatrix) -> Vec<WantedPair> {
        let firsts = self.structure.first_of_cores();
        match search.next(costs, &firsts, &mut self.random) {
            Some(row) => {
                self.stage = ExploreStage::Search(search);
                // The pairs of a search are added to the limit: the topology offered no way to avoid it.
                self.limits.pairs = self.limits.pairs.saturating_add(row.len());
                self.want_pairs(row, false)
            }
            None => {
                self.has_searched |= self.structure.divide_caches(&search.into_groups());
                self.stage = ExploreStage::First;
                Vec::new()
            }
        }
    }

    fn is_full(&self) -> bool {
        let most = if self.structure.cache_count() > 1 { FULL_CORES } else { FULL_MESH_CORES };
        self.structure.cores.len() <= most
    }

    /// Returns the first pairs: one for each pair of cores, or some of each block.
    fn first_batch(&mut self) -> Vec<WantedPair> {
        let places = self.structure.cpus.len();
        if self.limits.all {
            return self.want_pairs((0..places).flat_map(|i| (i + 1..places).map(move |j| (i, j))), false);
        }
        let mut pairs = self.sibling_pairs();
        if self.is_full() {
            let cores = self.structure.cores.len();
            for a in 0..cores {
                for b in a + 1..cores {
                    pairs.push(self.pick_pair(a, b));
                }
            }
        } else {
            pairs.extend(self.of_each_block(FIRST_PER_BLOCK, self.room_for(pairs.len())));
        }
        self.want_pairs(pairs, false)
    }

    /// Returns one pair of each of some cores.
    fn sibling_pairs(&mut self) -> Vec<(usize, usize)> {
        let mut cores: Vec<Vec<usize>> = self.structure.cores.iter().filter(|core| core.len() > 1).cloned().collect();
        self.random.shuffle(&mut cores);
        cores.truncate(SIBLINGS);
        cores.iter_mut().for_each(|core| self.random.shuffle(core));
        cores.iter().map(|core| (core[0], core[1])).collect()
    }

    /// Returns a pair of cpus for a pair of cores, with random siblings.
    fn pick_pair(&mut self, a: usize, b: usize) -> (usize, usize) {
        let mut one_of =
            |core: usize| self.structure.cores[core][self.random.next_below(self.structure.cores[core].len())];
        (one_of(a), one_of(b))
    }

    /// Returns the number of pairs left by the limit, minus room for held-out ones.
    fn room_for(&self, more: usize) -> usize {
        let kept = if self.held_out.is_empty() { HELD_OUT.end() + NEAR } else { 0 };
        self.limits.pairs.saturating_sub(self.wished.len() + more + kept)
    }

    /// Returns pairs of cores by block, in random order.
    fn shuffled_blocks(&mut self) -> BTreeMap<CoreBlock, Vec<(usize, usize)>> {
        let mut blocks = BTreeMap::<CoreBlock, Vec<(usize, usize)>>::new();
        let firsts = self.structure.first_of_cores();
        for (a, &i) in firsts.iter().enumerate() {
            for (b, &j) in firsts.iter().enumerate().skip(a + 1) {
                blocks.entry(self.structure.block_between(i, j)).or_default().push((a, b));
            }
        }
        blocks.values_mut().for_each(|pairs| self.random.shuffle(pairs));
        blocks
    }

    /// Returns up to `per_block` more pairs of each block: turn by turn, those inside caches first, so that a limit
    /// cuts all alike.
    fn of_each_block(&mut self, per_block: usize, room: usize) -> Vec<(usize, usize)> {
        let had = self.cores_wished();
        let mut waiting: Vec<(bool, Vec<(usize, usize)>)> = Vec::new();
        for (block, mut pairs) in self.shuffled_blocks() {
            pairs.retain(|pair| !had.contains(pair));
            pairs.truncate(per_block);
            waiting.push((block.caches[0] != block.caches[1], pairs));
        }
        self.random.shuffle(&mut waiting);
        waiting.sort_by_key(|(is_between, _)| *is_between);
        let mut chosen = Vec::new();
        for turn in 0..per_block {
            chosen.extend(waiting.iter().filter_map(|(_, pairs)| pairs.get(turn)));
        }
        chosen.truncate(room);
        chosen.into_iter().map(|(a, b)| self.pick_pair(a, b)).collect()
    }

    /// Returns the requested pairs of cores. A held-out pair counts only if its cores have no other threads: otherwise
    /// these may be measured, and it is predicted like all others.
    fn cores_wished(&self) -> BTreeSet<(usize, usize)> {
        let held_out: BTreeSet<_> = self.held_out.iter().collect();
        let has_siblings = |place: usize| self.structure.cores[self.structure.core_at(place)].len() > 1;
        let counts =
            |pair: &&(usize, usize)| !held_out.contains(pair) || !(has_siblings(pair.0) || has_siblings(pair.1));
        let cores =
            self.wished.iter().filter(counts).map(|&(i, j)| (self.structure.core_at(i), self.structure.core_at(j)));
        cores.map(|(a, b)| (a.min(b), a.max(b))).collect()
    }

    /// Returns random pairs of cpus of any kind among those to be predicted, and some near ones.
    fn held_out(&mut self) -> Vec<WantedPair> {
        let places = self.structure.cpus.len();
        let possible = places * places.saturating_sub(1) / 2;
        let left = possible - self.wished.len();
        let wanted = ((self.wished.len() as f64 * HELD_OUT_SHARE) as usize).clamp(*HELD_OUT.start(), *HELD_OUT.end());
        // If almost all pairs are measured, there is nothing to check.
        let wanted = wanted.min(left / 2);
        let mut batch = Vec::new();
        while batch.len() < wanted {
            let (i, j) = (self.random.next_below(places), self.random.next_below(places));
            if i != j {
                batch.extend(self.want_pairs([(i, j)], true));
            }
        }
        for (near, least) in HELD_OUT_NEAR {
            let mut left = self.unwanted_pairs(|structure, i, j| structure.nearness_between(i, j) == near);
            let had = self.held_out.iter().filter(|&&(i, j)| self.structure.nearness_between(i, j) == near).count();
            left.truncate(least.saturating_sub(had).min(left.len() / 2));
            batch.extend(self.want_pairs(left, true));
        }
        batch
    }

    /// Returns the pairs not yet requested that `is_meant` selects, in random order.
    fn unwanted_pairs(&mut self, is_meant: impl Fn(&CpuStructure, usize, usize) -> bool) -> Vec<(usize, usize)> {
        let places = self.structure.cpus.len();
        let all = (0..places).flat_map(|i| (i + 1..places).map(move |j| (i, j)));
        let is_left = |&(i, j): &(usize, usize)| is_meant(&self.structure, i, j) && !self.wished.contains(&(i, j));
        let mut left: Vec<(usize, usize)> = all.filter(is_left).collect();
        self.random.shuffle(&mut left);
        left
    }

    /// Requests more pairs while predictions are worse than the target and time is left. An irregular machine is
    /// measured in full in the end; large machines only up to the limit. Unmeasured pairs of cores come before other
    /// threads of measured ones.
    pub fn further_batch(&mut self, costs: &CostMatrix) -> Vec<WantedPair> {
        let (measured, held_out) = self.split_measured(costs);
        let structure = self.with_hidden_groups(&measured);
        let predictor = CostPredictor::fit_pairs(&structure, &measured);
        let is_wrong = |near: PairNearness| {
            let of = held_out.iter().filter(|(i, j, _)| structure.nearness_between(*i, *j) == near);
            let errors: Vec<f64> = of.map(|&(i, j, cost)| (predictor.pair_cost(i, j) / cost - 1.0).abs()).collect();
            median(&errors) > AIM[0] || quantile(&errors, 0.95) > AIM[1]
        };
        let wrong: Vec<PairNearness> = [PairNearness::Core, PairNearness::Cache, PairNearness::Across]
            .into_iter()
            .filter(|near| is_wrong(*near))
            .collect();
        if wrong.is_empty() {
            return Vec::new();
        }
        let had = self.cores_wished();
        let mut left = self.unwanted_pairs(|_, i, j| wrong.contains(&structure.nearness_between(i, j)));
        let cores = |i: usize, j: usize| {
            (structure.core_at(i).min(structure.core_at(j)), structure.core_at(i).max(structure.core_at(j)))
        };
        left.sort_by_key(|&(i, j)| had.contains(&cores(i, j)));
        if structure.cores.len() > FULL_MESH_CORES && self.is_capped {
            left.truncate(self.room_for(0));
        }
        left.truncate(((self.wished.len() as f64 * FURTHER_SHARE) as usize).max(FURTHER));
        self.want_pairs(left, false)
    }

    /// Returns the structure of the cpus, divided by the groups in the known costs; the map will be predicted with it.
    fn with_hidden_groups(&self, measured: &[MeasuredPair]) -> CpuStructure {
        let mut structure = self.structure.clone();
        if self.searched_groups().is_empty() {
            let mut known = CostMatrix::all_unknown(structure.cpus.iter().copied());
            measured.iter().for_each(|&(i, j, cost)| known.set_both(i, j, cost));
            if let Some(groups) = hidden_groups(&structure, &known) {
                structure.tell_groups(&groups);
            }
        }
        structure
    }

    /// Returns true while the pairs that show groups are still being chosen.
    pub fn is_searching(&self) -> bool {
        matches!(self.stage, ExploreStage::Search(_) | ExploreStage::First)
    }

    /// Returns missing pairs: all of uneven blocks, the most uneven first, and more of all blocks if predictions are
    /// wrong.
    fn more_pairs(&mut self, per_block: usize, costs: &CostMatrix) -> Vec<WantedPair> {
        if self.limits.all || self.is_full() {
            return Vec::new();
        }
        let (measured, held_out) = self.split_measured(costs);
        let structure = self.structure.clone();
        let predictor = CostPredictor::fit_pairs(&structure, &measured);
        let errors: Vec<f64> =
            held_out.iter().map(|&(i, j, cost)| (predictor.pair_cost(i, j) / cost - 1.0).abs()).collect();
        let is_wrong = quantile(&errors, 0.95) > WRONG || median(&errors).is_nan();
        let mut room = self.room_for(0);
        let uneven = uneven_blocks(&structure, &predictor, &measured);
        if let Some(search) = self.start_hidden_search(&uneven, room) {
            self.stage = ExploreStage::Search(search);
            return Vec::new();
        }
        let mut pairs = self.of_uneven_blocks(&uneven, &mut room);
        if is_wrong {
            pairs.extend(self.of_each_block(per_block, room));
        }
        let batch = self.want_pairs(pairs, false);
        if !batch.is_empty() {
            self.stage = ExploreStage::More { per_block: 2 * per_block };
        }
        batch
    }

    /// Starts a search inside an uneven cache that is too large to be measured in full: firmware may hide its
    /// divisions.
    fn start_hidden_search(&mut self, uneven: &[CoreBlock], room: usize) -> Option<GroupSearch> {
        let is_large = |cores: &Vec<usize>| cores.len() > LARGE_CACHE && cores.len() * (cores.len() - 1) / 2 > room;
        let inside = uneven.iter().filter(|block| block.caches[0] == block.caches[1]).map(|block| block.caches[0]);
        let unsearched: Vec<usize> = inside.filter(|cache| !self.searched.contains(cache)).collect();
        let of = |cache: &usize| (*cache, self.structure.cores_of(*cache));
        let (cache, cores) = unsearched.iter().map(of).find(|(_, cores)| is_large(cores))?;
        self.searched.insert(cache);
        Some(GroupSearch::new(cores))
    }

    /// Returns all pairs of the uneven blocks that fit into the room.
    fn of_uneven_blocks(&mut self, uneven: &[CoreBlock], room: &mut usize) -> Vec<(usize, usize)> {
        if uneven.is_empty() {
            return Vec::new();
        }
        let had = self.cores_wished();
        let mut blocks = self.shuffled_blocks();
        let mut chosen = Vec::new();
        for block in uneven {
            let mut missing = blocks.remove(block).unwrap_or_default();
            missing.retain(|pair| !had.contains(pair));
            if missing.len() <= *room {
                *room -= missing.len();
                chosen.extend(missing);
            }
        }
        chosen.into_iter().map(|(a, b)| self.pick_pair(a, b)).collect()
    }

    /// Returns the measured and the held-out pairs, as places and costs.
    fn split_measured(&self, costs: &CostMatrix) -> (Vec<MeasuredPair>, Vec<MeasuredPair>) {
        let held_out: BTreeSet<_> = self.held_out.iter().copied().collect();
        let seen =
            self.wished.iter().map(|&(i, j)| (i, j, costs.pair_cost(i, j))).filter(|(_, _, cost)| cost.is_finite());
        seen.partition(|&(i, j, _)| !held_out.contains(&(i, j)))
    }
}

/// Returns blocks with measured pairs that differ by more than the allowed error of a prediction, the most uneven
/// first.
fn uneven_blocks(structure: &CpuStructure, predictor: &CostPredictor<'_>, measured: &[MeasuredPair]) -> Vec<CoreBlock> {
    let mut ratios = BTreeMap::<CoreBlock, Vec<f64>>::new();
    for &(i, j, cost) in measured {
        let block = structure.block_between(i, j);
        if block.relation != CpuRelation::SameCore {
            ratios.entry(block).or_default().push(cost / predictor.modelled_cost(i, j));
        }
    }
    // The deviation of a few values, times the width of the middle 95 % of normal ones; it does not grow with their
    // number.
    let spread = |ratios: &Vec<f64>| {
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let sum: f64 = ratios.iter().map(|ratio| (ratio / mean - 1.0).powi(2)).sum();
        MIDDLE_95 * (sum / (ratios.len() as f64 - 1.0).max(1.0)).sqrt()
    };
    let mut uneven: Vec<(f64, CoreBlock)> = ratios.iter().map(|(block, ratios)| (spread(ratios), *block)).collect();
    uneven.retain(|(spread, _)| *spread > UNEVEN);
    uneven.sort_by(|one, other| other.0.total_cmp(&one.0));
    uneven.into_iter().map(|(_, block)| block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::layout::MachineLayout;

    /// One cache that the costs divide in four: what is measured further is judged by the groups by which the map will be predicted.
    #[test]
    fn groups_that_are_found_later_are_known_to_what_is_measured_further() {
        let machine = MachineLayout { packages: 1, caches: 1, cores: 16, threads: 2, adjacent: true }.build_machine();
        let structure = CpuStructure::new(Some(&machine), &machine.allowed);
        let mut explorer = PairExplorer::new(structure, ExploreLimits::default(), 1);
        let mut costs = CostMatrix::all_unknown(0..32);
        while let Some(wishes) = explorer.next(&costs) {
            for WantedPair { i, j, .. } in wishes {
                let cost = match (i / 2 == j / 2, i / 8 == j / 8) {
                    (true, _) => 8.0,
                    (_, true) => 25.0,
                    _ => 100.0,
                };
                costs.set_both(i, j, cost);
            }
        }
        let (measured, _) = explorer.split_measured(&costs);
        assert_eq!(explorer.structure().cache_count(), 1);
        assert_eq!(explorer.with_hidden_groups(&measured).cache_count(), 4);
        assert_eq!(explorer.further_batch(&costs), []);
    }
}
