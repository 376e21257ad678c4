//! Costs of all pairs of some cpus, as far as known.

use std::sync::Arc;

use corewise_machine::CpuSet;

use super::LinkFindings;
use super::pair::two_costs;

/// Difference below which two costs are the same, in nanoseconds: published costs are rounded.
const SAME_COST_NS: f64 = 0.5;
/// Minimum pairs for each different cost of a coarse clock.
const PAIRS_OF_A_STEP: usize = 8;

/// A square of costs in nanoseconds between cpus; unknown cells and the diagonal are NaN.
///
/// A copy takes no memory until it is changed: one of 4,096 cpus has 128 MiB.
///
/// Row `i`, column `j` is the cost with `i` as the first cpu, which owns the memory, begins, and takes the time.
#[derive(Clone, Debug)]
pub struct CostMatrix {
    cpus: Vec<u32>,
    costs: Arc<Vec<f64>>,
}

impl CostMatrix {
    /// Creates a matrix of unknown costs over cpus (by the system's numbers, rising).
    pub fn all_unknown(cpus: impl IntoIterator<Item = u32>) -> Self {
        let cpus: Vec<u32> = cpus.into_iter().collect();
        let costs = Arc::new(vec![f64::NAN; cpus.len() * cpus.len()]);
        Self { cpus, costs }
    }

    /// Creates the matrix of measured pairs.
    pub fn from_links(links: &LinkFindings) -> Self {
        let cpus = super::measured_cpus(links);
        let mut matrix = Self::all_unknown(cpus.iter());
        for pair in &links.pairs {
            let (Some(a), Some(b)) = (matrix.place_of(pair.a), matrix.place_of(pair.b)) else { continue };
            let both = pair.one_way_ns();
            let or_both = |cost: f64| if cost.is_finite() { cost } else { both };
            matrix.set_cost(a, b, or_both(pair.from_a_ns()));
            matrix.set_cost(b, a, or_both(pair.from_b_ns()));
        }
        matrix
    }

    /// Returns the number of cpus.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Returns true without cpus.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Returns the cpus, by the system's numbers, in the order of rows and columns.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Returns the cpus as a set.
    pub fn cpu_set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// Returns the row of a cpu.
    pub fn place_of(&self, cpu: u32) -> Option<usize> {
        // Fast path for cpus numbered 0, 1, 2, …
        match self.cpus.get(cpu as usize) {
            Some(&own) if own == cpu => Some(cpu as usize),
            _ => self.cpus.binary_search(&cpu).ok(),
        }
    }

    /// Returns the cost with the cpu of row `first` as the first and that of column `second` as the second; NaN if
    /// unknown.
    pub fn one_way_cost(&self, first: usize, second: usize) -> f64 {
        self.costs[first * self.cpus.len() + second]
    }

    /// Returns the cheaper and the dearer way of a pair, if these are two costs, for which a mean is meaningless.
    pub fn two_costs(&self, i: usize, j: usize) -> Option<[f64; 2]> {
        two_costs(self.one_way_cost(i, j), self.one_way_cost(j, i))
    }

    /// Returns the cost of a pair: the mean of both ways, or the known one. Groups and predictions use it; summaries
    /// check [`Self::two_costs`] first.
    pub fn pair_cost(&self, i: usize, j: usize) -> f64 {
        match (self.one_way_cost(i, j), self.one_way_cost(j, i)) {
            (there, back) if back.is_nan() => there,
            (there, back) if there.is_nan() => back,
            (there, back) => f64::midpoint(there, back),
        }
    }

    /// Sets one way.
    pub fn set_cost(&mut self, first: usize, second: usize, cost: f64) {
        let width = self.cpus.len();
        Arc::make_mut(&mut self.costs)[first * width + second] = cost;
    }

    /// Sets both ways.
    pub fn set_both(&mut self, i: usize, j: usize, cost: f64) {
        self.set_cost(i, j, cost);
        self.set_cost(j, i, cost);
    }

    /// Returns the step of a coarse clock: the median difference of neighbouring costs, if few different costs occur; `None` otherwise.
    pub fn clock_step(&self) -> Option<f64> {
        let mut costs: Vec<f64> = self.known_pairs().map(|(_, _, cost)| cost).collect();
        let count = costs.len();
        costs.sort_by(f64::total_cmp);
        costs.dedup_by(|one, other| (*one - *other).abs() < SAME_COST_NS);
        let steps: Vec<f64> = costs.windows(2).map(|pair| pair[1] - pair[0]).collect();
        (!steps.is_empty() && costs.len() * PAIRS_OF_A_STEP <= count)
            .then(|| corewise_statistics::order::median(&steps))
    }

    /// Iterates over all pairs `i < j` of known cost: their places, and the cost.
    pub fn known_pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let all = (0..self.len()).flat_map(move |i| (i + 1..self.len()).map(move |j| (i, j)));
        all.map(|(i, j)| (i, j, self.pair_cost(i, j))).filter(|(_, _, cost)| cost.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_clock_has_a_step() {
        let matrix = |cost: fn(usize, usize) -> f64| {
            let mut matrix = CostMatrix::all_unknown(0..16);
            (0..16).for_each(|i| (0..i).for_each(|j| matrix.set_both(i, j, cost(i, j))));
            matrix.clock_step()
        };
        assert_eq!(matrix(|i, j| 5.0 * (1 + (i + j) % 4) as f64), Some(5.0));
        assert_eq!(matrix(|i, j| 20.0 + (17 * i + 5 * j) as f64), None, "a fine clock");
        assert_eq!(matrix(|_, _| 20.0), None);
    }
}
