//! Cost distribution of a tier's pairs, in the machine's proportions: measured pairs, and predictions for the others.
//!
//! Measured pairs were chosen for their information, not in proportion, so their own median represents no machine. The
//! distribution over all pairs follows Chambers and Dunstan (1986): a measured pair counts as itself, any other as its
//! prediction with the errors of predictions. The interval of the median follows Woodruff (1952): the range in which
//! the distribution may reach one half, given the errors of a stratified sample.

use std::collections::BTreeMap;

use super::tiers::PairTiers;
use super::{CostClass, FilledSeries, PredictionError};
use crate::links::structure::{BlockFamily, CoreBlock};
use corewise_statistics::order::{median, quantile, weighted_quantile};

/// Number of values that represent a predicted pair, spread like the errors of predictions.
const PARTS: usize = 5;
/// Number of held-out pairs of a tier from which only their errors give the spread; errors of fitted pairs are a little
/// too small.
const ENOUGH_HELD_OUT: usize = 20;
/// The normal deviate of a 95 % interval.
const DEVIATE: f64 = 1.96;
/// Minimum number of measured pairs for a 95 % interval: with fewer, even the range of all is too narrow.
const FEWEST: u64 = 6;

/// A cost, the number of pairs that have it, and the number of their block.
#[derive(Clone, Copy)]
struct WeightedCost {
    cost: f64,
    pairs: f32,
    block: u32,
}

/// The pairs of one tier.
#[derive(Default)]
struct TierPairs {
    measured: u64,
    predicted: u64,
    /// All pairs, with their costs.
    costs: Vec<WeightedCost>,
    /// The number of each block, used in `costs`, and the number of its measured pairs.
    blocks: BTreeMap<CoreBlock, (u32, f64)>,
}

/// The costs of a pair that a class counts.
#[derive(Clone, Copy, Debug)]
enum ClassWays {
    /// Its cost; if it has two costs, both, half each.
    Both,
    /// The cheaper (0) or the dearer (1) of two costs, and its typical ratio to their mean.
    One(usize, f64),
}

/// Returns the cost classes of a series, nearest first: one for each tier that has pairs, or one for each way if most
/// of these have two costs.
pub(super) fn cost_classes(filled: &FilledSeries, tiers: &PairTiers) -> Vec<(usize, CostClass)> {
    let two = two_costs_of_tiers(filled, tiers);
    let of_tier = |tier: usize| match two[tier] {
        Some([cheaper, dearer]) => vec![ClassWays::One(0, cheaper), ClassWays::One(1, dearer)],
        None => vec![ClassWays::Both],
    };
    let spread: Vec<[f64; PARTS]> = (0..tiers.len()).map(|tier| prediction_spread(filled, tiers, tier)).collect();
    let mut pairs: Vec<Vec<(ClassWays, TierPairs)>> = (0..tiers.len())
        .map(|tier| of_tier(tier).into_iter().map(|ways| (ways, TierPairs::default())).collect())
        .collect();
    let cores = &filled.structure.cores;
    for (a, places) in cores.iter().enumerate() {
        for others in &cores[a..] {
            add_core_pairs(places, others, filled, tiers, &spread, &mut pairs);
        }
    }
    let all = pairs.into_iter().enumerate().flat_map(|(tier, ways)| ways.into_iter().map(move |of| (tier, of)));
    all.filter(|(_, (_, pairs))| pairs.measured > 0)
        .map(|(tier, (ways, pairs))| {
            let words = match ways {
                ClassWays::Both => tiers.tier_name(tier).to_owned(),
                ClassWays::One(0, _) => format!("{}, cheaper way", tiers.tier_name(tier)),
                ClassWays::One(..) => format!("{}, dearer way", tiers.tier_name(tier)),
            };
            (tier, pairs.into_class(words, filled.prediction_error(|i, j| tiers.tier_of(i, j) == tier)))
        })
        .collect()
}

/// Returns, for each tier with two costs for most measured pairs, the median ratios of the cheaper and of the dearer to
/// their mean.
fn two_costs_of_tiers(filled: &FilledSeries, tiers: &PairTiers) -> Vec<Option<[f64; 2]>> {
    let has_two = |(i, j, _): (usize, usize, f64)| filled.measured.two_costs(i, j).is_some();
    if !filled.measured.known_pairs().any(has_two) {
        return vec![None; tiers.len()];
    }
    let mut of_tiers = vec![(0_usize, [Vec::new(), Vec::new()]); tiers.len()];
    for (i, j, mean) in filled.measured.known_pairs() {
        let (count, two) = &mut of_tiers[tiers.tier_of(i, j)];
        *count += 1;
        for (way, cost) in filled.measured.two_costs(i, j).into_iter().flatten().enumerate() {
            two[way].push(cost / mean);
        }
    }
    let of_tier = |(count, two): (usize, [Vec<f64>; 2])| (2 * two[0].len() > count).then(|| two.map(|of| median(&of)));
    of_tiers.into_iter().map(of_tier).collect()
}

/// Adds the pairs of cpus of two cores, or of one.
fn add_core_pairs(
    places: &[usize],
    others: &[usize],
    filled: &FilledSeries,
    tiers: &PairTiers,
    spread: &[[f64; PARTS]],
    pairs: &mut [Vec<(ClassWays, TierPairs)>],
) {
    let (i, j) = (places[0], others[0]);
    let is_one = i == j;
    if is_one && places.len() < 2 {
        return;
    }
    let all = places.iter().enumerate().flat_map(|(at, &i)| {
        let from = if is_one { at + 1 } else { 0 };
        others[from..].iter().map(move |&j| (i, j))
    });
    let (mut measured, mut predicted) = (Vec::new(), Vec::new());
    for (i, j) in all {
        let cost = filled.measured.pair_cost(i, j);
        if cost.is_finite() {
            measured.push((cost, filled.measured.two_costs(i, j)));
        } else {
            predicted.extend(Some(filled.all.pair_cost(i, j)).filter(|cost| cost.is_finite()));
        }
    }
    let tier = if is_one { super::tiers::SAME_CORE } else { tiers.tier_of(i, j) };
    let block = if is_one {
        filled.structure.block_between(places[0], places[1])
    } else {
        filled.structure.block_between(i, j)
    };
    for (ways, pairs) in &mut pairs[tier] {
        pairs.add_pairs(*ways, block, &measured, &predicted, (is_one || measured.is_empty()).then_some(&spread[tier]));
    }
}

impl TierPairs {
    /// Adds the pairs of two cores, or of one. If some threads of two cores were measured, the others cost the same;
    /// else `spread` gives the errors of predictions.
    fn add_pairs(
        &mut self,
        ways: ClassWays,
        block: CoreBlock,
        measured: &[(f64, Option<[f64; 2]>)],
        predicted: &[f64],
        spread: Option<&[f64; PARTS]>,
    ) {
        let next = self.blocks.len() as u32;
        let (block, measured_of_block) = self.blocks.entry(block).or_insert((next, 0.0));
        let block = *block;
        *measured_of_block += measured.len() as f64;
        self.measured += measured.len() as u64;
        self.predicted += predicted.len() as u64;
        for &(cost, two) in measured {
            match (ways, two) {
                (ClassWays::Both, Some(two)) => {
                    self.costs.extend(two.map(|cost| WeightedCost { cost, pairs: 0.5, block }))
                }
                (ClassWays::One(way, _), Some(two)) => {
                    self.costs.push(WeightedCost { cost: two[way], pairs: 1.0, block })
                }
                (_, None) => self.costs.push(WeightedCost { cost, pairs: 1.0, block }),
            }
        }
        if let Some(&cost) = predicted.first() {
            let weight = predicted.len() as f32;
            let cost = if let ClassWays::One(_, of_mean) = ways { cost * of_mean } else { cost };
            match spread {
                Some(spread) => {
                    let part = |miss: f64| WeightedCost { cost: cost * miss, pairs: weight / PARTS as f32, block };
                    self.costs.extend(spread.map(part));
                }
                None => self.costs.push(WeightedCost { cost, pairs: weight, block }),
            }
        }
    }
}

/// Returns the errors of a tier's predictions, as factors.
fn prediction_spread(filled: &FilledSeries, tiers: &PairTiers, tier: usize) -> [f64; PARTS] {
    let of = |points: &[(usize, usize, f64)]| {
        let points = points.iter().filter(|(i, j, miss)| tiers.tier_of(*i, *j) == tier && miss.is_finite());
        points.map(|(_, _, miss)| *miss).collect::<Vec<f64>>()
    };
    let mut misses = of(&filled.misses.held_out);
    if misses.len() < ENOUGH_HELD_OUT {
        misses.extend(of(&filled.misses.fitted));
    }
    std::array::from_fn(|part| {
        let miss = quantile(&misses, (part as f64 + 0.5) / PARTS as f64);
        if miss.is_finite() { miss } else { 1.0 }
    })
}

impl TierPairs {
    fn into_class(mut self, words: String, held_out: Option<PredictionError>) -> CostClass {
        self.costs.sort_unstable_by(|one, other| one.cost.total_cmp(&other.cost));
        let [low_ns, median_ns, high_ns] = [0.05, 0.5, 0.95].map(|at| self.cost_quantile(at));
        CostClass {
            words,
            pairs: self.measured,
            predicted: self.predicted,
            median_ns,
            interval_ns: self.median_interval(median_ns),
            low_ns,
            high_ns,
            held_out: held_out.filter(|_| self.predicted > 0),
        }
    }

    /// Returns the 95 % interval of the median.
    fn median_interval(&self, median: f64) -> Option<(f64, f64)> {
        if self.measured < FEWEST {
            return None;
        }
        // A block without measurements is as uncertain as all blocks of its family together.
        let mut families = BTreeMap::<BlockFamily, f64>::new();
        for (block, (_, measured)) in &self.blocks {
            *families.entry(block.block_family()).or_default() += measured;
        }
        let mut of_blocks = vec![(0.0, 0.0); self.blocks.len()];
        for cost in &self.costs {
            let (weight, below_median) = &mut of_blocks[cost.block as usize];
            *weight += f64::from(cost.pairs);
            *below_median += f64::from(cost.pairs) * share_below(cost.cost, median);
        }
        let total: f64 = of_blocks.iter().map(|of| of.0).sum();
        let variance = self.blocks.iter().map(|(block, &(number, measured))| {
            let (weight, below) = of_blocks[number as usize];
            let share = if weight > 0.0 { below / weight } else { 0.0 };
            let measured = if measured > 0.0 { measured } else { families[&block.block_family()] };
            (weight / total).powi(2) * share * (1.0 - share) / measured.max(1.0)
        });
        // At least half a pair: between two costs that are half of the pairs each, the median may be anywhere.
        let reach = DEVIATE * variance.sum::<f64>().sqrt() + 0.5 / self.measured as f64;
        Some((self.cost_quantile(0.5 - reach).min(median), self.cost_quantile(0.5 + reach).max(median)))
    }

    /// Returns a quantile of the costs, which must be sorted.
    fn cost_quantile(&self, at: f64) -> f64 {
        weighted_quantile(self.costs.iter().map(|cost| (cost.cost, f64::from(cost.pairs))), at)
    }
}

fn share_below(cost: f64, median: f64) -> f64 {
    match cost.total_cmp(&median) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    }
}
