//! The Universal Scalability Law, fitted to the runs of a program with several numbers of threads.
//!
//! Gunther's law ("A general theory of computational scalability based on rational functions", 2008) gives the
//! throughput of `n` threads: `X(n) = g n / (1 + s (n - 1) + k n (n - 1))`. `s` is contention, the share of serial
//! work; `k` is coherency, the cost of each pair of threads. docs/statistics.md describes the fit.

mod fit;
mod region;
#[cfg(test)]
mod tests;

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::normal::expanded_tail_95;
use crate::order::quantile;
pub(super) use fit::ThroughputRow;
use fit::{CountPairs, LawParameters};

/// Minimum number of counts: for two parameters, a level, and each count's own deviation from the law.
pub const FEWEST_COUNTS: usize = 4;
/// Minimum number of blocks for an estimate of random error.
pub const FEWEST_BLOCKS: usize = 8;
/// Number of bootstrap draws.
const DRAWS: usize = 1_000;
const SEED: u64 = 1;

/// Result of fitting the law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LawFit {
    /// The law.
    Fitted(ScalingLaw),
    /// It needs four counts with runs that are at most the number of cpus: beyond that, threads wait for cpus, which
    /// the law does not describe.
    TooFewCounts {
        /// Number of such counts.
        counts: usize,
    },
    /// It needs eight whole blocks.
    TooFewBlocks {
        /// Number of whole blocks.
        blocks: usize,
    },
}

/// The fitted law, with 95 % intervals. They assume that the law holds except for an error of each count that is the
/// same in every run: memory layout, code alignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingLaw {
    /// The counts that it is fitted to, in ascending order.
    pub counts: Vec<u32>,
    /// Number of blocks that it is fitted to.
    pub blocks: usize,
    /// `s`, contention: 0.03 is 3 % of the work of one thread.
    pub contention: ValueInterval,
    /// `k`, coherency: the cost of each pair of threads, as a share of the work of one thread.
    pub coherency: ValueInterval,
    /// The number of threads with the highest throughput, `sqrt((1 - s) / k)`; an extrapolation if it lies beyond the
    /// measured counts.
    pub peak_threads: OpenInterval,
    /// The throughput there, or its limit if there is no peak, as a multiple of that of one thread.
    pub peak_speed_up: OpenInterval,
    /// Deviation of the law from the measured ratios of throughputs: the root of the weighted mean square, a difference
    /// of logarithms.
    pub misfit: f64,
}

impl ScalingLaw {
    /// Returns the throughput of a number of threads as a multiple of that of one thread.
    pub fn speed_up(&self, threads: f64) -> f64 {
        let parameters = LawParameters { contention: self.contention.estimate, coherency: self.coherency.estimate };
        parameters.speed_up_ln(threads).exp()
    }
}

/// A value and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueInterval {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A value and its interval, each `None` if it is unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenInterval {
    /// The estimate.
    pub estimate: Option<f64>,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Fits the law to blocks of throughputs with these counts of threads, in ascending order.
pub(super) fn fit_scaling_law(counts: &[u32], rows: &[ThroughputRow]) -> LawFit {
    let rows: Vec<&ThroughputRow> = rows.iter().filter(|row| row.iter().flatten().count() > 1).collect();
    let with_runs = (0..counts.len()).filter(|&count| rows.iter().any(|row| row[count].is_some())).count();
    match () {
        () if counts.len() < FEWEST_COUNTS => return LawFit::TooFewCounts { counts: counts.len() },
        () if rows.len() < FEWEST_BLOCKS => return LawFit::TooFewBlocks { blocks: rows.len() },
        () if with_runs < FEWEST_COUNTS => return LawFit::TooFewCounts { counts: with_runs },
        () => {}
    }
    let pairs = CountPairs::new(counts, &rows);
    let all: Vec<usize> = (0..rows.len()).collect();
    let best = pairs.fit_blocks(&all);
    let drawn = resample_laws(&pairs, rows.len());
    let tail = expanded_tail_95(rows.len());
    let region = pairs.confidence_region(&all, &best.parameters);
    // The blocks show the random error of a run, the counts the error of each count: the wider ends apply.
    let of = |what: &dyn Fn(&LawParameters) -> f64| {
        let mut values: Vec<f64> = drawn.iter().map(what).collect();
        values.sort_by(f64::total_cmp);
        let of_region = || region.iter().map(what);
        let low = of_region().fold(percentile_of(&values, tail), f64::min);
        let high = of_region().fold(percentile_of(&values, 1.0 - tail), f64::max);
        (what(&best.parameters), low, high)
    };
    LawFit::Fitted(ScalingLaw {
        counts: pairs.with_runs(counts),
        blocks: rows.len(),
        contention: ValueInterval::from_ends(of(&|found| found.contention)),
        coherency: ValueInterval::from_ends(of(&|found| found.coherency)),
        peak_threads: OpenInterval::from_ends(of(&LawParameters::peak_threads)),
        peak_speed_up: OpenInterval::from_ends(of(&LawParameters::best_speed_up)),
        misfit: best.misfit,
    })
}

/// Fits the law to bootstrap samples of the blocks (drawn with replacement). Samples with too few counts are rejected.
fn resample_laws(pairs: &CountPairs, blocks: usize) -> Vec<LawParameters> {
    let mut random = RandomGenerator::new(SEED);
    let mut drawn = Vec::with_capacity(DRAWS);
    while drawn.len() < DRAWS {
        let chosen: Vec<usize> = (0..blocks).map(|_| random.next_below(blocks)).collect();
        if pairs.counts_in(&chosen) >= FEWEST_COUNTS {
            drawn.push(pairs.fit_blocks(&chosen).parameters);
        }
    }
    drawn
}

/// Returns a quantile of sorted values, some of which may be infinite.
fn percentile_of(sorted: &[f64], at: f64) -> f64 {
    let place = at * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if low.is_finite() && high.is_finite() { quantile(&[low, high], place.fract()) } else { high }
}

impl ValueInterval {
    fn from_ends((estimate, low, high): (f64, f64, f64)) -> Self {
        Self { estimate, low, high }
    }
}

impl OpenInterval {
    fn from_ends((estimate, low, high): (f64, f64, f64)) -> Self {
        let known = |value: f64| value.is_finite().then_some(value);
        Self { estimate: known(estimate), low: known(low), high: known(high) }
    }
}
