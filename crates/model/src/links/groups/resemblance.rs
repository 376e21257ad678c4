//! Resemblance of neighbours: whether two cpus that talk cheaply cost the other cpus alike, as they do in any tree of
//! caches, on any mesh, and if some cores are faster than others.

use crate::links::CostMatrix;

/// Minimum number of cpus: of fewer, costs without a pattern resemble each other by chance.
const FEWEST_CPUS: usize = 12;
/// Maximum mean correlation of costs without a pattern. By chance it is 0 with a standard error of about 1.4 divided by
/// the number of cpus; published matrices with a pattern have 0.5 and more.
const NO_RESEMBLANCE: f64 = 0.2;

/// Returns true if the costs of each cpu and of its nearest one to third cpus do not vary together: each pair has a cost
/// of its own, as if the threads had run anywhere.
pub fn lack_pattern(measured: &CostMatrix) -> bool {
    if measured.len() < FEWEST_CPUS {
        return false;
    }
    let known: Vec<f64> = (0..measured.len()).filter_map(|place| correlation_with_nearest(measured, place)).collect();
    2 * known.len() > measured.len() && known.iter().sum::<f64>() < NO_RESEMBLANCE * known.len() as f64
}

/// Returns the correlation of a place's costs with those of its nearest place, over all third ones, in logarithms; `None`
/// if fewer than three are known or they do not vary.
fn correlation_with_nearest(measured: &CostMatrix, place: usize) -> Option<f64> {
    let others = || (0..measured.len()).filter(|&other| other != place);
    let cost = |other: usize| measured.pair_cost(place, other);
    let nearest =
        others().filter(|&other| cost(other) > 0.0).min_by(|&one, &other| cost(one).total_cmp(&cost(other)))?;
    let thirds = others().filter(|&third| third != nearest);
    let costs = thirds.map(|third| (cost(third).ln(), measured.pair_cost(nearest, third).ln()));
    let costs: Vec<(f64, f64)> = costs.filter(|(own, other)| own.is_finite() && other.is_finite()).collect();
    let count = costs.len() as f64;
    let (own, other) = costs.iter().fold((0.0, 0.0), |sum, cost| (sum.0 + cost.0 / count, sum.1 + cost.1 / count));
    let product = |of: fn(f64, f64) -> f64| costs.iter().map(|cost| of(cost.0 - own, cost.1 - other)).sum::<f64>();
    let together = product(|own, other| own * other);
    let correlation = together / (product(|own, _| own * own) * product(|_, other| other * other)).sqrt();
    (costs.len() >= 3 && correlation.is_finite()).then_some(correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::random::RandomGenerator;

    /// Costs of this form between cpus, each with luck of this share.
    fn costs(cpus: usize, luck: f64, seed: u64, cost: impl Fn(usize, usize) -> f64) -> CostMatrix {
        let mut random = RandomGenerator::new(seed);
        let mut matrix = CostMatrix::all_unknown(0..cpus as u32);
        for i in 0..cpus {
            for j in 0..i {
                matrix.set_both(i, j, cost(i, j) * (luck * random.next_normal()).exp());
            }
        }
        matrix
    }

    fn lack(luck: f64, cost: impl Fn(usize, usize) -> f64) -> bool {
        lack_pattern(&costs(16, luck, 3, cost))
    }

    #[test]
    fn trees_meshes_and_fast_cores_have_a_pattern_and_luck_has_none() {
        assert!(lack(0.2, |_, _| 50.0));
        assert!(!lack(0.05, |i, j| if i / 8 == j / 8 { 20.0 } else { 80.0 }));
        assert!(!lack(0.05, |i, j| 30.0
            + 10.0 * (i / 4).abs_diff(j / 4) as f64
            + 10.0 * (i % 4).abs_diff(j % 4) as f64));
        assert!(!lack(0.05, |i, j| 20.0 * (2.0 - f64::from(u8::from(i < 8)) / 2.0 - f64::from(u8::from(j < 8)) / 2.0)));
    }

    #[test]
    fn few_cpus_and_equal_costs_prove_no_lack() {
        for seed in 0..20 {
            assert!(!lack_pattern(&costs(FEWEST_CPUS - 1, 0.5, seed, |_, _| 50.0)));
        }
        for seed in 0..20 {
            let mut sparse = CostMatrix::all_unknown(0..2 * FEWEST_CPUS as u32);
            let known = costs(FEWEST_CPUS, 0.5, seed, |_, _| 50.0);
            (0..FEWEST_CPUS).for_each(|i| (0..i).for_each(|j| sparse.set_both(i, j, known.pair_cost(i, j))));
            assert!(!lack_pattern(&sparse), "half of the cpus have no cost");
        }
        assert!(!lack(0.0, |_, _| 50.0), "nothing varies");
    }
}
