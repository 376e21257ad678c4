//! The law's two parameters from ratios of throughputs within blocks: robust means, then least squares.

use crate::order::median;

/// Throughputs of a block: their logarithms, for each of the counts; `None` without a run.
pub type ThroughputRow = Vec<Option<f64>>;

/// Differences are clamped at this many median absolute deviations (three robust standard deviations) from their
/// median.
const CLAMP: f64 = 3.0 * 1.4826;
/// Upper limit of both parameters.
pub(super) const LARGEST: f64 = 100.0;
/// Starting points of the search, each with the free parameters: both, or one with the other fixed at 0.
const STARTS: [([f64; 2], [bool; 2]); 4] = [
    ([0.05, 0.001], [true, true]),
    ([0.5, 0.05], [true, true]),
    ([0.05, 0.0], [true, false]),
    ([0.0, 0.001], [false, true]),
];
const MOST_STEPS: u32 = 100;

/// The two parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawParameters {
    pub contention: f64,
    pub coherency: f64,
}

impl LawParameters {
    /// Returns the speed-up of `threads` over one thread, as a logarithm.
    pub fn speed_up_ln(&self, threads: f64) -> f64 {
        threads.ln() - (1.0 + self.contention * (threads - 1.0) + self.coherency * threads * (threads - 1.0)).ln()
    }

    /// Returns the number of threads with the highest throughput; infinite if it always grows.
    pub fn peak_threads(&self) -> f64 {
        let gain = 1.0 - self.contention;
        if gain <= 0.0 { 1.0 } else { (gain / self.coherency).sqrt().max(1.0) }
    }

    /// Returns the speed-up at the peak, or its limit.
    pub fn best_speed_up(&self) -> f64 {
        let peak = self.peak_threads();
        if peak.is_finite() { self.speed_up_ln(peak).exp() } else { 1.0 / self.contention }
    }
}

/// The law that fits best, and its misfit.
pub struct BestFit {
    pub parameters: LawParameters,
    /// The root of the weighted mean square of the residuals.
    pub misfit: f64,
}

/// Two counts, and the difference of the logarithms of their throughputs in each block that has both.
struct CountPair {
    counts: [usize; 2],
    threads: [f64; 2],
    differences: Vec<Option<f64>>,
}

/// A data point of the fit: the difference between two counts, weighted with its number of blocks.
pub(super) struct FitPoint {
    threads: [f64; 2],
    difference: f64,
    weight: f64,
}

/// All pairs of counts.
pub struct CountPairs(Vec<CountPair>);

impl CountPairs {
    /// Builds the pairs of these counts of threads in these blocks.
    pub fn new(counts: &[u32], rows: &[&ThroughputRow]) -> Self {
        let mut pairs = Vec::new();
        for more in 1..counts.len() {
            for fewer in 0..more {
                let difference = |row: &&ThroughputRow| Some(row[more]? - row[fewer]?);
                pairs.push(CountPair {
                    counts: [fewer, more],
                    threads: [f64::from(counts[fewer]), f64::from(counts[more])],
                    differences: rows.iter().map(difference).collect(),
                });
            }
        }
        Self(pairs)
    }

    /// Returns the counts that have a pair in some block.
    pub fn with_runs(&self, counts: &[u32]) -> Vec<u32> {
        let has_runs = |count: usize| {
            self.0.iter().any(|pair| pair.counts.contains(&count) && pair.differences.iter().any(Option::is_some))
        };
        (0..counts.len()).filter(|&count| has_runs(count)).map(|count| counts[count]).collect()
    }

    /// Returns the number of counts with a pair in these blocks.
    pub fn counts_in(&self, blocks: &[usize]) -> usize {
        let in_blocks = |pair: &&CountPair| blocks.iter().any(|&block| pair.differences[block].is_some());
        let mut counts: Vec<usize> = self.0.iter().filter(in_blocks).flat_map(|pair| pair.counts).collect();
        counts.sort_unstable();
        counts.dedup();
        counts.len()
    }

    /// Fits the law to these blocks; a block may be named several times.
    pub fn fit_blocks(&self, blocks: &[usize]) -> BestFit {
        let points = self.points_of_blocks(blocks);
        let found = STARTS.iter().map(|(start, free)| descend_along(&points, *start, *free));
        let (values, squares) = found.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default();
        let weights: f64 = points.iter().map(|point| point.weight).sum();
        BestFit { parameters: from_logarithms(values), misfit: (squares / weights).sqrt() }
    }

    /// Returns the data points of these blocks.
    pub(super) fn points_of_blocks(&self, blocks: &[usize]) -> Vec<FitPoint> {
        let point = |pair: &CountPair| {
            let differences: Vec<f64> = blocks.iter().filter_map(|&block| pair.differences[block]).collect();
            let difference = clamped_mean(&differences)?;
            Some(FitPoint { threads: pair.threads, difference, weight: differences.len() as f64 })
        };
        self.0.iter().filter_map(point).collect()
    }
}

/// Returns the mean of values that are clamped to within three robust standard deviations of their median.
fn clamped_mean(values: &[f64]) -> Option<f64> {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let bound = CLAMP * median(&deviations);
    let sum: f64 = values.iter().map(|value| value.clamp(middle - bound, middle + bound)).sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

fn from_logarithms([contention, coherency]: [f64; 2]) -> LawParameters {
    LawParameters { contention, coherency }
}

/// Returns the weighted sum of squared residuals.
pub(super) fn sum_of_squares(points: &[FitPoint], values: [f64; 2]) -> f64 {
    points.iter().map(|point| point.weight * point_residual(point, values).powi(2)).sum()
}

fn point_residual(point: &FitPoint, values: [f64; 2]) -> f64 {
    let [fewer, more] = point.threads.map(|threads| from_logarithms(values).speed_up_ln(threads));
    point.difference - (more - fewer)
}

/// Runs Levenberg's and Marquardt's descent along the free parameters, which stay at 0 or above.
fn descend_along(points: &[FitPoint], start: [f64; 2], free: [bool; 2]) -> ([f64; 2], f64) {
    let (mut values, mut damping) = (start, 1e-3);
    let mut least = sum_of_squares(points, values);
    for _ in 0..MOST_STEPS {
        let next = descent_step(points, values, free, damping);
        let now = sum_of_squares(points, next);
        if now < least {
            let gained = least - now;
            (values, least, damping) = (next, now, damping * 0.2);
            if gained < 1e-14 * (1e-12 + least) {
                break;
            }
        } else if damping > 1e9 {
            break;
        } else {
            damping *= 5.0;
        }
    }
    (values, least)
}

fn descent_step(points: &[FitPoint], values: [f64; 2], free: [bool; 2], damping: f64) -> [f64; 2] {
    let [first, both, second] = normal_matrix(points, values, free);
    let mut gradient = [0.0; 2];
    for point in points {
        let (slope, residual) = (point_slope(point, values, free), point_residual(point, values));
        gradient = [0, 1].map(|index| gradient[index] + point.weight * slope[index] * residual);
    }
    // A parameter that is fixed, or that no point depends on, keeps its value.
    let [first, second] = [first, second].map(|sum| sum * (1.0 + damping) + f64::MIN_POSITIVE.sqrt());
    let determinant = first * second - both * both;
    let change = [
        (gradient[0] * second - gradient[1] * both) / determinant,
        (gradient[1] * first - gradient[0] * both) / determinant,
    ];
    let moved = |index: usize| (values[index] + change[index]).clamp(0.0, LARGEST);
    [0, 1].map(|index| if free[index] && change[index].is_finite() { moved(index) } else { values[index] })
}

/// Returns the normal equations' matrix: the first diagonal element, the off-diagonal one, the second diagonal one.
pub(super) fn normal_matrix(points: &[FitPoint], values: [f64; 2], free: [bool; 2]) -> [f64; 3] {
    points.iter().fold([0.0; 3], |[first, both, second], point| {
        let slope = point_slope(point, values, free);
        let weight = point.weight;
        [
            first + weight * slope[0] * slope[0],
            both + weight * slope[0] * slope[1],
            second + weight * slope[1] * slope[1],
        ]
    })
}

/// Returns the derivative of a point's fitted difference by each parameter.
fn point_slope(point: &FitPoint, values: [f64; 2], free: [bool; 2]) -> [f64; 2] {
    let of = |threads: f64| {
        let (once, pairs) = (threads - 1.0, threads * (threads - 1.0));
        let whole = 1.0 + values[0] * once + values[1] * pairs;
        [-once / whole, -pairs / whole]
    };
    let [fewer, more] = point.threads.map(of);
    [0, 1].map(|index| if free[index] { more[index] - fewer[index] } else { 0.0 })
}
