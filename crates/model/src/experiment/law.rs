//! The Universal Scalability Law, fitted to the runs of a program with several numbers of threads.
//!
//! Gunther's law ("A general theory of computational scalability based on rational functions", 2008) says that `n` threads do
//! `X(n) = g n / (1 + s (n - 1) + k n (n - 1))`: `s` is contention, the share of the work that one after the other has to
//! do; `k` is coherency, what each pair of threads costs. docs/statistics.md says how it is fitted.

mod fit;
mod region;
#[cfg(test)]
mod tests;

use corewise_machine::random::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::normal::expanded_tail_95;
use crate::stats::order::quantile;
pub(super) use fit::Row;
use fit::{Pairs, Parameters};

/// Fewer counts tell nothing about two parameters, a level, and how far counts are off the law by themselves.
pub const FEWEST_COUNTS: usize = 4;
/// Fewer blocks tell too little about chance.
pub const FEWEST_BLOCKS: usize = 8;
/// How often the blocks are drawn again.
const DRAWS: usize = 1_000;
const SEED: u64 = 1;

/// What became of fitting the law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fit {
    /// The law.
    Fitted(Law),
    /// It takes four counts that are no larger than the number of cpus and have runs: beyond that, threads wait for cpus,
    /// which the law does not describe.
    TooFewCounts {
        /// How many there are.
        counts: usize,
    },
    /// It takes eight whole blocks.
    TooFewBlocks {
        /// How many there are.
        blocks: usize,
    },
}

/// The law, fitted. Intervals hold the truth with 95 %, if the law does but for what each count has of luck: where its memory lies, how its code is
/// aligned, which is the same in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Law {
    /// The counts that it is fitted to, in ascending order.
    pub counts: Vec<u32>,
    /// How many blocks it is fitted to.
    pub blocks: usize,
    /// `s`, contention: 0.03 is 3 % of the work of one thread.
    pub contention: Interval,
    /// `k`, coherency: what each pair of threads costs, as a share of the work of one thread.
    pub coherency: Interval,
    /// The number of threads with the highest throughput, `sqrt((1 - s) / k)`; where the law goes beyond the counts that were
    /// measured, it is an extrapolation.
    pub peak_threads: OpenInterval,
    /// The throughput there, or the limit of it where there is no peak, as a multiple of that of one thread.
    pub peak_speed_up: OpenInterval,
    /// By how much the law misses the measured ratios of throughputs: the root of the weighted mean square, a difference of
    /// logarithms.
    pub misfit: f64,
}

impl Law {
    /// By how much so many threads do more than one.
    pub fn speed_up(&self, threads: f64) -> f64 {
        let parameters = Parameters { contention: self.contention.estimate, coherency: self.coherency.estimate };
        parameters.speed_up_ln(threads).exp()
    }
}

/// A value and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A value and its interval, each absent where it is beyond all bounds.
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
pub(super) fn law(counts: &[u32], rows: &[Row]) -> Fit {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.iter().flatten().count() > 1).collect();
    let with_runs = (0..counts.len()).filter(|&count| rows.iter().any(|row| row[count].is_some())).count();
    match () {
        () if counts.len() < FEWEST_COUNTS => return Fit::TooFewCounts { counts: counts.len() },
        () if rows.len() < FEWEST_BLOCKS => return Fit::TooFewBlocks { blocks: rows.len() },
        () if with_runs < FEWEST_COUNTS => return Fit::TooFewCounts { counts: with_runs },
        () => {}
    }
    let pairs = Pairs::new(counts, &rows);
    let all: Vec<usize> = (0..rows.len()).collect();
    let best = pairs.fit(&all);
    let drawn = drawn(&pairs, rows.len());
    let tail = expanded_tail_95(rows.len());
    let region = pairs.region(&all, &best.parameters);
    // The blocks show what chance does in a run, the counts what luck does to each of them: the wider ends count.
    let of = |what: &dyn Fn(&Parameters) -> f64| {
        let mut values: Vec<f64> = drawn.iter().map(what).collect();
        values.sort_by(f64::total_cmp);
        let of_region = || region.iter().map(what);
        let low = of_region().fold(percentile(&values, tail), f64::min);
        let high = of_region().fold(percentile(&values, 1.0 - tail), f64::max);
        (what(&best.parameters), low, high)
    };
    Fit::Fitted(Law {
        counts: pairs.with_runs(counts),
        blocks: rows.len(),
        contention: Interval::of(of(&|found| found.contention)),
        coherency: Interval::of(of(&|found| found.coherency)),
        peak_threads: OpenInterval::of(of(&Parameters::peak)),
        peak_speed_up: OpenInterval::of(of(&Parameters::best_speed_up)),
        misfit: best.misfit,
    })
}

/// The law of blocks that were drawn again from all, with replacement, many times. What is drawn has to have as many counts as are needed.
fn drawn(pairs: &Pairs, blocks: usize) -> Vec<Parameters> {
    let mut random = Random::new(SEED);
    let mut drawn = Vec::with_capacity(DRAWS);
    while drawn.len() < DRAWS {
        let chosen: Vec<usize> = (0..blocks).map(|_| random.below(blocks)).collect();
        if pairs.counts_in(&chosen) >= FEWEST_COUNTS {
            drawn.push(pairs.fit(&chosen).parameters);
        }
    }
    drawn
}

/// A quantile of sorted values of which some may be infinite.
fn percentile(sorted: &[f64], at: f64) -> f64 {
    let place = at * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if low.is_finite() && high.is_finite() { quantile(&[low, high], place.fract()) } else { high }
}

impl Interval {
    fn of((estimate, low, high): (f64, f64, f64)) -> Self {
        Self { estimate, low, high }
    }
}

impl OpenInterval {
    fn of((estimate, low, high): (f64, f64, f64)) -> Self {
        let known = |value: f64| value.is_finite().then_some(value);
        Self { estimate: known(estimate), low: known(low), high: known(high) }
    }
}
