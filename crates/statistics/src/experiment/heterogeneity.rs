//! How much the effects of one placement differ between nodes: a test, and the spread of the true effects.

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NodeRuns, estimate_gain};
use crate::normal::two_sided_deviate;
use crate::order::{median, median_deviation};

/// Number of draws of the test.
const DRAWS: usize = 1_999;
/// Gains farther than this many scales from the common effect are clamped.
const CLAMP: f64 = 3.0;
/// Degrees of freedom that the fleet's common noise has in the noise of one node.
const SHARED_FREEDOM: f64 = 8.0;
/// The spread's search: its upper limit, a ratio of 3,000, and its halvings.
const WIDEST: f64 = 8.0;
const HALVINGS: u32 = 60;

/// Spread of a candidate's true effects over nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectSpread {
    /// Standard deviation of the true effects, a difference of logarithms (Paule and Mandel's estimate).
    pub deviation: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Gains of one candidate, by node.
pub struct NodeGains {
    nodes: Vec<Vec<f64>>,
}

impl NodeGains {
    /// Takes the gains of the nodes that have two or more.
    pub fn new<'a>(nodes: impl Iterator<Item = &'a NodeRuns>) -> Self {
        let gains = nodes.map(NodeRuns::finished_gains).filter(|gains| gains.len() > 1);
        Self { nodes: gains.collect() }
    }

    /// Returns the probability that equal effects on all nodes differ as much as these by chance; `None` for fewer than two nodes.
    ///
    /// If the effect is the same everywhere, each gain is equally likely above and below it, since the order of each block was drawn. So the
    /// signs are drawn anew. The statistic is the sum over nodes of the square of the sum of a node's deviations over the sum of their
    /// squares: a noisy node counts no more than others.
    pub fn test_equality(&self, seed: u64) -> Option<f64> {
        if self.nodes.len() < 2 {
            return None;
        }
        let deviations = self.clamped_deviations()?;
        let observed: f64 = deviations.iter().map(|node| standardized_square(node.iter().copied())).sum();
        let mut random = RandomGenerator::new(seed);
        let as_far = (0..DRAWS).filter(|_| {
            let drawn: f64 =
                deviations.iter().map(|node| standardized_square(with_drawn_signs(node, &mut random))).sum();
            drawn >= observed * (1.0 - 1e-12)
        });
        Some((1 + as_far.count()) as f64 / (1 + DRAWS) as f64)
    }

    fn clamped_deviations(&self) -> Option<Vec<Vec<f64>>> {
        let all: Vec<f64> = self.nodes.concat();
        let common = estimate_gain(&all)?;
        let scale = median(&all.iter().map(|gain| (gain - common).abs()).collect::<Vec<f64>>()) * 1.4826;
        let clamp = |gain: &f64| {
            let deviation = gain - common;
            if scale > 0.0 { (deviation / scale).clamp(-CLAMP, CLAMP) } else { deviation }
        };
        Some(self.nodes.iter().map(|node| node.iter().map(clamp).collect()).collect())
    }

    /// Returns the spread with its interval at the error rate: the deviations that a chi-squared test of the nodes' means does not exclude
    /// (Viechtbauer, "Confidence intervals for the amount of heterogeneity in meta-analysis", 2007). `None` for fewer than three nodes.
    pub fn estimate_spread(&self, error_rate: f64) -> Option<EffectSpread> {
        if self.nodes.len() < 3 {
            return None;
        }
        let means = self.clamped_means();
        let freedom = means.len() as f64 - 1.0;
        // The means' variances are estimates: half of the error rate is theirs.
        let deviate = two_sided_deviate(error_rate / 2.0);
        let solve = |target: f64| solve_spread(&means, target);
        Some(EffectSpread {
            deviation: solve(freedom),
            low: solve(chi_squared_quantile(freedom, deviate)),
            high: solve(chi_squared_quantile(freedom, -deviate)),
        })
    }

    /// Returns each node's mean gain and the variance of that mean. Gains far from their node's median are clamped.
    fn clamped_means(&self) -> Vec<(f64, f64)> {
        let noises: Vec<f64> = self.nodes.iter().map(|gains| robust_noise(gains)).collect();
        let shared = median(&noises);
        let of_node = |gains: &Vec<f64>| {
            let (middle, count) = (median(gains), gains.len() as f64);
            let clamp = |gain: &f64| gain.clamp(middle - CLAMP * shared, middle + CLAMP * shared);
            let mean = gains.iter().map(clamp).sum::<f64>() / count;
            let squares: f64 = gains.iter().map(|gain| (clamp(gain) - mean).powi(2)).sum();
            let variance = (squares + SHARED_FREEDOM * shared * shared) / (count - 1.0 + SHARED_FREEDOM);
            (mean, variance / count)
        };
        self.nodes.iter().map(of_node).collect()
    }
}

/// Returns the robust standard deviation of a node's gains; few values vary too little.
pub fn robust_noise(gains: &[f64]) -> f64 {
    median_deviation(gains) * (1.0 + 1.0 / gains.len() as f64)
}

fn standardized_square(deviations: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = deviations.fold((0.0, 0.0), |(sum, squares), each| (sum + each, squares + each * each));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

fn with_drawn_signs<'a>(deviations: &'a [f64], random: &'a mut RandomGenerator) -> impl Iterator<Item = f64> + 'a {
    let mut bits = 0;
    deviations.iter().enumerate().map(move |(place, each)| {
        if place % 64 == 0 {
            bits = random.next_bits();
        }
        let is_turned = bits >> (place % 64) & 1 == 1;
        if is_turned { -each } else { *each }
    })
}

/// Returns the spread at which the weighted squares of the means' deviations are `target`; 0 if they are less without any.
fn solve_spread(means: &[(f64, f64)], target: f64) -> f64 {
    let squares = |spread: f64| {
        let weight = |variance: f64| 1.0 / (variance + spread * spread).max(f64::MIN_POSITIVE);
        let total: f64 = means.iter().map(|(_, variance)| weight(*variance)).sum();
        let middle = means.iter().map(|(mean, variance)| mean * weight(*variance)).sum::<f64>() / total;
        means.iter().map(|(mean, variance)| weight(*variance) * (mean - middle).powi(2)).sum::<f64>()
    };
    if squares(0.0) <= target {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, WIDEST);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if squares(middle) > target { low = middle } else { high = middle }
    }
    high
}

/// Returns the quantile of the chi-squared distribution at a normal deviate (Wilson and Hilferty's approximation).
fn chi_squared_quantile(freedom: f64, deviate: f64) -> f64 {
    let step = 2.0 / (9.0 * freedom);
    freedom * (1.0 - step + deviate * step.sqrt()).max(0.0).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let tail = two_sided_deviate(0.05);
        for (freedom, deviate, expected) in
            [(7.0, tail, 16.01), (7.0, -tail, 1.69), (15.0, tail, 27.49), (15.0, -tail, 6.26)]
        {
            assert!((chi_squared_quantile(freedom, deviate) / expected - 1.0).abs() < 0.02, "{freedom} {deviate}");
        }
    }

    #[test]
    fn nodes_without_noise_have_the_spread_of_their_gains() {
        let gains = NodeGains { nodes: [0.01, 0.02, 0.03, 0.04, 0.05].map(|gain| vec![gain; 4]).to_vec() };
        let spread = gains.estimate_spread(0.05).unwrap();
        assert!((spread.deviation - 0.01 * 2.5_f64.sqrt()).abs() < 1e-6, "{spread:?}");
        assert!(gains.test_equality(1).unwrap() < 0.01);
    }

    #[test]
    fn few_nodes_have_no_spread_and_one_node_no_test() {
        let two = NodeGains { nodes: vec![vec![0.1, 0.2]; 2] };
        assert!(two.estimate_spread(0.05).is_none() && two.test_equality(1).is_some());
        assert!(NodeGains { nodes: vec![vec![0.1, 0.2]] }.test_equality(1).is_none());
    }
}
