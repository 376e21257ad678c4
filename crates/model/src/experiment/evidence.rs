//! The e-process: what a bettor would own who bets on one candidate against the baseline, block after block.
//!
//! If the candidate is faster by exactly `theta`, then after adding `theta` to its outcome the block's outcomes are
//! exchangeable, because we drew their order. Every bet below then has mean 1, so the wealth reaches `w` with probability
//! `1 / w` at most, however often one looks (Ville's inequality). docs/statistics.md has the formulas and the reasons.

/// The smallest tilt; the others are twice the one before, so that one exponential serves all.
const TILT: f64 = 0.35;
/// The shares of the wealth on the tilts 0.35, 0.7, 1.4, 2.8 and 5.6.
const TILT_SHARES: [f64; 5] = [0.05, 0.10, 0.15, 0.15, 0.20];
/// The bets on ranks alone: how much of the wealth is at stake, and the share of the wealth.
const RANK_BETS: [(f64, f64); 3] = [(0.35, 0.10), (0.7, 0.15), (0.97, 0.10)];
const BETS: usize = TILT_SHARES.len() + RANK_BETS.len();
/// An outcome farther than this many scales from its block's median counts as this far.
pub(super) const CLAMP: f64 = 3.0;
/// What a failed run counts as: slower than anything that ended.
pub(super) const FAILED: f64 = 1e6;
/// A bet is kept within these bounds, so that no number overflows.
const BOUNDS: (f64, f64) = (1e-300, 1e300);

/// What a block says about one candidate: its outcome and those of the baseline's one or two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    values: [f64; 3],
    count: usize,
}

impl Outcome {
    /// The candidate's and the baseline's outcomes, each as [`super::Run::x`]; of more than two runs of the baseline the
    /// first two count.
    pub fn new(candidate: Option<f64>, baselines: &[Option<f64>]) -> Self {
        let mut values = [FAILED; 3];
        let runs = std::iter::once(&candidate).chain(baselines);
        for (value, x) in values.iter_mut().zip(runs) {
            *value = x.unwrap_or(FAILED);
        }
        Self { values, count: (1 + baselines.len()).min(values.len()) }
    }

    /// By how much the candidate was better than the mean of the baseline's runs.
    pub(super) fn gain(&self) -> f64 {
        let baselines = &self.values[1..self.count];
        baselines.iter().sum::<f64>() / baselines.len() as f64 - self.values[0]
    }

    /// By how much the candidate was better than one run of the baseline, the first or the second, where there are two.
    pub(super) fn gain_over(&self, baseline: usize) -> f64 {
        self.values[1 + baseline.min(self.count - 2)] - self.values[0]
    }

    /// The logarithm of the candidate's metric; absent where it failed.
    pub(super) fn candidate(&self) -> Option<f64> {
        Some(self.values[0]).filter(|value| *value < FAILED)
    }

    /// The logarithms of the baseline's metric, without its failed runs.
    pub(super) fn baselines(&self) -> impl Iterator<Item = f64> + '_ {
        self.values[1..self.count].iter().copied().filter(|value| *value < FAILED)
    }

    /// The outcomes with the candidate's first, shifted by `theta` unless it failed.
    fn shifted(&self, theta: f64) -> [f64; 3] {
        let [candidate, first, second] = self.values;
        [if candidate < FAILED { candidate + theta } else { candidate }, first, second]
    }
}

/// The wealth of one bettor.
#[derive(Clone, Debug, PartialEq)]
pub struct Wealth {
    bets: [f64; BETS],
}

impl Wealth {
    fn new() -> Self {
        let mut bets = [0.0; BETS];
        let shares = TILT_SHARES.iter().chain(RANK_BETS.iter().map(|(_, share)| share));
        for (bet, share) in bets.iter_mut().zip(shares) {
            *bet = *share;
        }
        Self { bets }
    }

    /// The wealth now: an e-value.
    pub fn now(&self) -> f64 {
        self.bets.iter().sum()
    }

    fn multiply(&mut self, factors: &[f64; BETS]) {
        for (bet, factor) in self.bets.iter_mut().zip(factors) {
            *bet = (*bet * factor).clamp(BOUNDS.0, BOUNDS.1);
        }
    }
}

/// The evidence against "the candidate is faster by exactly `theta`", on either side.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    theta: f64,
    half_ranges: Vec<f64>,
    above: Wealth,
    below: Wealth,
}

impl Evidence {
    /// No evidence yet against a gain of `theta`, a difference of logarithms.
    pub fn new(theta: f64) -> Self {
        Self { theta, half_ranges: Vec::new(), above: Wealth::new(), below: Wealth::new() }
    }

    /// The evidence that the gain is larger than `theta`.
    pub fn above(&self) -> &Wealth {
        &self.above
    }

    /// The evidence that the gain is smaller than `theta`.
    pub fn below(&self) -> &Wealth {
        &self.below
    }

    /// Takes a block's outcome into account; says which of its runs were clamped: the candidate's, the baseline's first
    /// and second.
    pub fn add(&mut self, outcome: &Outcome) -> [bool; 3] {
        let (values, count) = (outcome.shifted(self.theta), outcome.count);
        let deviations = self.deviations(&values[..count]);
        let (mut above, mut below) = ([1.0; BETS], [1.0; BETS]);
        tilted(&deviations[..count], &mut above, &mut below);
        ranked(&values[..count], &mut above, &mut below);
        self.above.multiply(&above);
        self.below.multiply(&below);
        deviations.map(|deviation| deviation.abs() >= CLAMP)
    }

    /// Each outcome's distance from the block's median, in scales, clamped. The scale is the median, over all blocks up to
    /// this one, of the block's half range: past blocks are known before the order is drawn, and this block's half range
    /// is the same for every order of its outcomes.
    fn deviations(&mut self, values: &[f64]) -> [f64; 3] {
        let mut sorted = [f64::INFINITY; 3];
        sorted[..values.len()].copy_from_slice(values);
        sorted.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let middle = if last == 1 { (sorted[0] + sorted[1]) / 2.0 } else { sorted[1] };
        let scale = self.scale((sorted[last] - sorted[0]) / 2.0);
        let mut deviations = [0.0; 3];
        for (deviation, value) in deviations.iter_mut().zip(values) {
            let distance = value - middle;
            *deviation = if distance == 0.0 { 0.0 } else { (distance / scale).clamp(-CLAMP, CLAMP) };
        }
        deviations
    }

    /// The median of all half ranges with this one.
    fn scale(&mut self, half_range: f64) -> f64 {
        let place = self.half_ranges.partition_point(|other| *other < half_range);
        self.half_ranges.insert(place, half_range);
        let (count, middle) = (self.half_ranges.len(), self.half_ranges.len() / 2);
        if count % 2 == 1 {
            self.half_ranges[middle]
        } else {
            (self.half_ranges[middle - 1] + self.half_ranges[middle]) / 2.0
        }
    }
}

/// The factors of the tilted bets: the candidate's share of the outcomes' exponential weights, times their number.
fn tilted(deviations: &[f64], above: &mut [f64; BETS], below: &mut [f64; BETS]) {
    let mut weights = [0.0; 3];
    for (weight, deviation) in weights.iter_mut().zip(deviations) {
        *weight = (-TILT * deviation).exp();
    }
    let weights = &mut weights[..deviations.len()];
    let count = weights.len() as f64;
    for bet in 0..TILT_SHARES.len() {
        above[bet] = count * weights[0] / weights.iter().sum::<f64>();
        below[bet] = count / (weights[0] * weights.iter().map(|weight| 1.0 / weight).sum::<f64>());
        weights.iter_mut().for_each(|weight| *weight *= *weight);
    }
}

/// The factors of the bets on ranks: how many more of the baseline's runs were slower than faster.
fn ranked(values: &[f64], above: &mut [f64; BETS], below: &mut [f64; BETS]) {
    let (candidate, baselines) = (values[0], &values[1..]);
    let count = |holds: &dyn Fn(&f64) -> bool| baselines.iter().filter(|value| holds(value)).count() as f64;
    let lead = (count(&|value| *value > candidate) - count(&|value| *value < candidate)) / baselines.len() as f64;
    for (bet, (stake, _)) in RANK_BETS.iter().enumerate() {
        above[TILT_SHARES.len() + bet] = 1.0 + stake * lead;
        below[TILT_SHARES.len() + bet] = 1.0 - stake * lead;
    }
}
