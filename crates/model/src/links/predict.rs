//! Prediction of the costs of unmeasured pairs from measured ones.
//!
//! The logarithm of a cost is that of its block (pairs of cores that are equal in the topology) plus an offset for each
//! of the two cores. The offset is the core's distance from its cache's way out. Both are shrunk: the block towards the
//! others of its relation in its packages, the core towards zero ([`AdditiveFit`]).

use std::collections::BTreeMap;

use super::structure::{BlockFamily, CoreBlock, CpuStructure};
use super::{CostMatrix, CpuRelation};
use corewise_statistics::additive::{AdditiveFit, PairValue};
use corewise_statistics::order::median;

/// Minimum share of a block's pairs in which the same way is the dearer one; otherwise the dearer way is unknown.
const ONE_WAY: f64 = 0.9;

/// Costs for every pair of a structure.
#[derive(Clone, Debug)]
pub struct CostPredictor<'a> {
    structure: &'a CpuStructure,
    blocks: BTreeMap<CoreBlock, f64>,
    families: BTreeMap<BlockFamily, f64>,
    cores: Vec<f64>,
    /// Measured costs of pairs of cores, for the pairs of their other threads.
    measured: BTreeMap<(usize, usize), f64>,
}

/// A measured pair: two places, and its cost in nanoseconds.
pub type MeasuredPair = (usize, usize, f64);

impl<'a> CostPredictor<'a> {
    /// Fits measured pairs: places and costs in nanoseconds.
    pub fn fit_pairs(structure: &'a CpuStructure, seen: &[MeasuredPair]) -> Self {
        let mut measured = BTreeMap::<(usize, usize), Vec<f64>>::new();
        let mut points = Vec::with_capacity(seen.len());
        for &(i, j, cost) in seen.iter().filter(|(_, _, cost)| *cost > 0.0) {
            let (a, b) = (structure.core_at(i), structure.core_at(j));
            measured.entry((a.min(b), a.max(b))).or_default().push(cost);
            points.push((structure.block_between(i, j), (a != b).then_some([a, b]), cost.ln()));
        }
        let blocks = sort_distinct(points.iter().map(|(block, _, _)| *block));
        let families = sort_distinct(blocks.iter().map(CoreBlock::block_family));
        let number = |block| blocks.binary_search(block).expect("it is one of the blocks of these points");
        let values = points.iter().map(|(block, members, value)| PairValue {
            block: number(block),
            members: *members,
            value: *value,
        });
        let family =
            |block: &CoreBlock| families.binary_search(&block.block_family()).expect("it is one of their families");
        let family_of: Vec<usize> = blocks.iter().map(family).collect();
        let fit = AdditiveFit::fit_values(&values.collect::<Vec<_>>(), &family_of, structure.cores.len());
        Self {
            structure,
            blocks: blocks.into_iter().zip(fit.blocks).collect(),
            families: families.into_iter().zip(fit.families).collect(),
            cores: fit.members,
            measured: measured.into_iter().map(|(cores, costs)| (cores, median(&costs))).collect(),
        }
    }

    /// Returns the cost of a pair of places in nanoseconds; NaN if nothing like it was measured.
    pub fn pair_cost(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (self.structure.core_at(i), self.structure.core_at(j));
        if a != b
            && let Some(&cost) = self.measured.get(&(a.min(b), a.max(b)))
        {
            return cost;
        }
        self.modelled_cost(i, j)
    }

    /// Returns the same from the model alone.
    pub(super) fn modelled_cost(&self, i: usize, j: usize) -> f64 {
        let block = self.structure.block_between(i, j);
        let known = self.blocks.get(&block).or_else(|| self.families.get(&block.block_family()));
        known.map_or(f64::NAN, |log| {
            (log + self.of_cores(block.relation, self.structure.core_at(i), self.structure.core_at(j))).exp()
        })
    }

    /// Returns all costs: measured ones if available, the others predicted.
    pub fn fill_matrix(&self, measured: &CostMatrix) -> CostMatrix {
        let mut filled = measured.clone();
        for i in 0..measured.len() {
            for j in i + 1..measured.len() {
                if measured.pair_cost(i, j).is_nan() {
                    filled.set_both(i, j, self.pair_cost(i, j));
                }
            }
        }
        filled
    }

    fn of_cores(&self, relation: CpuRelation, a: usize, b: usize) -> f64 {
        if relation == CpuRelation::SameCore { 0.0 } else { self.cores[a] + self.cores[b] }
    }
}

/// Returns the values sorted, each once.
fn sort_distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut sorted: Vec<T> = values.collect();
    sorted.sort();
    sorted.dedup();
    sorted
}

/// Splits predictions by way in blocks with two costs, since the mean of 20 and 200 is the cost of neither way. If most
/// measured pairs of a block have two costs, and the same way is the dearer one, each way is predicted with the typical
/// ratio. If the dearer way varies, there is no prediction.
pub(super) fn by_way(structure: &CpuStructure, measured: &CostMatrix, mut filled: CostMatrix) -> CostMatrix {
    // From the lower cache to the higher, so that a block has one way.
    let turned = |i: usize, j: usize| {
        let cache = |place| structure.cache_at(structure.core_at(place));
        if (cache(j), j) < (cache(i), i) { (j, i) } else { (i, j) }
    };
    // The number of pairs, and the logarithms of ratios of those with two costs.
    let mut blocks = BTreeMap::<CoreBlock, (usize, Vec<f64>)>::new();
    for (i, j, _) in measured.known_pairs() {
        let (from, to) = turned(i, j);
        let (pairs, ratios) = blocks.entry(structure.block_between(i, j)).or_default();
        *pairs += 1;
        ratios.extend(
            measured.two_costs(i, j).map(|_| (measured.one_way_cost(from, to) / measured.one_way_cost(to, from)).ln()),
        );
    }
    blocks.retain(|_, (pairs, ratios)| 2 * ratios.len() > *pairs);
    if blocks.is_empty() {
        return filled;
    }
    for i in 0..filled.len() {
        for j in i + 1..filled.len() {
            let block = blocks.get(&structure.block_between(i, j)).filter(|_| measured.pair_cost(i, j).is_nan());
            let Some((_, ratios)) = block else { continue };
            let (from, to) = turned(i, j);
            let dearer = ratios.iter().filter(|ratio| **ratio > 0.0).count();
            let is_one_way = dearer.max(ratios.len() - dearer) as f64 >= ONE_WAY * ratios.len() as f64;
            // Of costs r and 1 the mean is (r + 1) / 2.
            let ratio = if is_one_way { median(ratios).exp() } else { f64::NAN };
            let mean = filled.pair_cost(i, j);
            filled.set_cost(from, to, mean * 2.0 * ratio / (1.0 + ratio));
            filled.set_cost(to, from, mean * 2.0 / (1.0 + ratio));
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::layout::MachineLayout;

    const CHIPLETS: MachineLayout = MachineLayout { packages: 1, caches: 3, cores: 4, threads: 2, adjacent: true };

    #[test]
    fn siblings_of_measured_cores_cost_what_these_cost() {
        let machine = CHIPLETS.build_machine();
        let structure = CpuStructure::new(Some(&machine), &machine.allowed);
        // Cores 0 and 5 through their first threads, places 0 and 10.
        let fit = CostPredictor::fit_pairs(&structure, &[(0, 10, 100.0), (2, 12, 140.0)]);
        for (i, j) in [(0, 10), (1, 10), (0, 11), (1, 11), (11, 0)] {
            assert!((fit.pair_cost(i, j) - 100.0).abs() < 1e-9, "{i} {j}");
        }
    }

    #[test]
    fn blocks_of_which_nothing_was_measured_are_like_those_of_their_relation_and_else_unknown() {
        let machine = CHIPLETS.build_machine();
        let structure = CpuStructure::new(Some(&machine), &machine.allowed);
        // Between the first two caches only, places 0-7 and 8-15.
        let seen: Vec<MeasuredPair> = (0..4).map(|core| (2 * core, 8 + 2 * core, 100.0)).collect();
        let fit = CostPredictor::fit_pairs(&structure, &seen);
        assert!((fit.pair_cost(0, 16) - 100.0).abs() < 1e-6, "{}", fit.pair_cost(0, 16));
        assert!(fit.pair_cost(0, 2).is_nan(), "inside a cache nothing is known");
        assert!(fit.pair_cost(0, 1).is_nan(), "nor of siblings");
    }

    #[test]
    fn a_core_that_is_far_from_everything_is_predicted_so() {
        let machine = MachineLayout { packages: 1, caches: 4, cores: 8, threads: 1, adjacent: false }.build_machine();
        let structure = CpuStructure::new(Some(&machine), &machine.allowed);
        let cost = |i: usize, j: usize| {
            let near = if structure.cache_at(i) == structure.cache_at(j) { 30.0 } else { 100.0 };
            if i == 3 || j == 3 { near * 1.2 } else { near }
        };
        let mut random = corewise_machine::random::RandomGenerator::new(1);
        let pairs = (0..32).flat_map(|i| (i + 1..32).map(move |j| (i, j)));
        let pairs: Vec<_> = pairs.filter(|_| random.next_unit() < 0.3).collect();
        let seen = pairs.iter().map(|&(i, j)| (i, j, cost(i, j) * (0.01 * random.next_normal()).exp()));
        let fit = CostPredictor::fit_pairs(&structure, &seen.collect::<Vec<_>>());
        for (i, j) in [(3, 30), (3, 20), (1, 3), (4, 30), (9, 20)] {
            let error = fit.modelled_cost(i, j) / cost(i, j) - 1.0;
            assert!(error.abs() < 0.03, "{i} {j}: {error}");
        }
    }

    #[test]
    fn one_wild_value_does_not_move_the_others() {
        let machine = CHIPLETS.build_machine();
        let structure = CpuStructure::new(Some(&machine), &machine.allowed);
        let mut seen: Vec<MeasuredPair> = Vec::new();
        for i in 0..4 {
            seen.extend((4..8).map(|j| (2 * i, 2 * j, 100.0 * (1.0 + 0.001 * (i * j) as f64))));
        }
        seen[5].2 = 4000.0;
        let fit = CostPredictor::fit_pairs(&structure, &seen);
        let error = fit.modelled_cost(0, 15) / 100.0 - 1.0;
        assert!(error.abs() < 0.1, "{error}");
    }
}
