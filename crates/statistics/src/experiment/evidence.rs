//! The e-process: the wealth of a bettor on one candidate against the baseline, block after block.
//!
//! If the candidate is faster by exactly `theta`, then after adding `theta` to its outcome the two outcomes of a block
//! are exchangeable, because their order was drawn. Every bet below then has mean 1, so the wealth reaches `w` with
//! probability at most `1 / w`, under continuous monitoring (Ville's inequality). docs/statistics.md has the formulas
//! and the reasons.

use std::cmp::Ordering;

use super::JudgingPolicy;
use super::bet_shares::{BETS, RANK_STAKES, SMALLEST_TILT, TILTS};
use super::outcome::BlockOutcome;
use super::question::{BoundedBet, BoundedGain, PlacementQuestion, QuestionKind};

/// Outcomes farther than this many scales from the middle of their pair are clamped to it.
const CLAMP: f64 = 3.0;
/// A bet is kept within these bounds, so that no number overflows.
const BOUNDS: (f64, f64) = (1e-300, 1e300);

/// The wealth of one bettor.
#[derive(Clone, Debug, PartialEq)]
pub struct BettorWealth {
    bets: Vec<f64>,
}

impl BettorWealth {
    fn new(question: &PlacementQuestion) -> Self {
        let bets = match question.what {
            QuestionKind::Typical => question.shares.to_vec(),
            QuestionKind::Mean | QuestionKind::Tail => question.bounded_bets().iter().map(|bet| bet.share).collect(),
        };
        Self { bets }
    }

    /// Returns the wealth now: an e-value.
    pub fn current_wealth(&self) -> f64 {
        self.bets.iter().sum()
    }

    fn multiply_bets(&mut self, factors: &[f64]) {
        for (bet, factor) in self.bets.iter_mut().zip(factors) {
            *bet = (*bet * factor).clamp(BOUNDS.0, BOUNDS.1);
        }
    }
}

/// The evidence against "the candidate is better by exactly `theta`", on either side.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectEvidence {
    question: PlacementQuestion,
    theta: f64,
    half_ranges: Vec<f64>,
    above: BettorWealth,
    below: BettorWealth,
}

impl EffectEvidence {
    /// Starts without evidence against a typical gain of `theta`, a difference of logarithms, with the usual shares.
    pub fn new(theta: f64) -> Self {
        Self::for_question(&PlacementQuestion::TYPICAL, theta)
    }

    /// Starts without evidence against a typical gain of `theta`, with the shares of a policy.
    pub fn for_policy(policy: &JudgingPolicy, theta: f64) -> Self {
        Self::for_question(&policy.question_about(QuestionKind::Typical), theta)
    }

    /// Starts without evidence against a gain of `theta` in the scale of a question.
    pub fn for_question(question: &PlacementQuestion, theta: f64) -> Self {
        let wealth = BettorWealth::new(question);
        Self { question: *question, theta, half_ranges: Vec::new(), above: wealth.clone(), below: wealth }
    }

    /// Returns the evidence that the gain is larger than `theta`.
    pub fn above(&self) -> &BettorWealth {
        &self.above
    }

    /// Returns the evidence that the gain is smaller than `theta`.
    pub fn below(&self) -> &BettorWealth {
        &self.below
    }

    /// Takes a block's outcome into account; returns true if the distance of the two runs was clamped.
    pub fn add_outcome(&mut self, outcome: &BlockOutcome) -> bool {
        if self.question.what != QuestionKind::Typical {
            if let Some(block) = self.question.bound_gain(outcome, self.theta) {
                let (above, below) = bounded_factors(self.question.bounded_bets(), &block);
                self.above.multiply_bets(&above);
                self.below.multiply_bets(&below);
            }
            return false;
        }
        let [candidate, baseline] = outcome.shift_candidate(self.theta);
        let distance = self.clamped_distance(candidate, baseline);
        let (above, below) = bet_factors(distance, candidate.partial_cmp(&baseline).unwrap_or(Ordering::Equal));
        self.above.multiply_bets(&above);
        self.below.multiply_bets(&below);
        distance.abs() >= CLAMP
    }

    /// Returns the candidate's distance from the middle of the two, in scales, clamped. The scale is the median, over
    /// all blocks up to this one, of the block's half range: past blocks are known before the order is drawn, and this
    /// block's half range is the same for either order.
    fn clamped_distance(&mut self, candidate: f64, baseline: f64) -> f64 {
        let half = (candidate - baseline) / 2.0;
        let scale = self.update_scale(half.abs());
        if half == 0.0 { 0.0 } else { (half / scale).clamp(-CLAMP, CLAMP) }
    }

    /// Adds a half range and returns the median of all.
    fn update_scale(&mut self, half_range: f64) -> f64 {
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

/// Returns the factors of all bets on "better" and on "worse". Inputs are the candidate's distance from the middle (the
/// baseline is as far on the other side) and the order of the two.
fn bet_factors(distance: f64, order: Ordering) -> ([f64; BETS], [f64; BETS]) {
    let (mut above, mut below) = ([1.0; BETS], [1.0; BETS]);
    let mut weight = (-2.0 * SMALLEST_TILT * distance).exp();
    for bet in 0..TILTS {
        above[bet] = 2.0 * weight / (1.0 + weight);
        below[bet] = 2.0 / (1.0 + weight);
        weight *= weight;
    }
    let lead = f64::from(Ordering::Equal.cmp(&order) as i8);
    for (bet, stake) in RANK_STAKES.iter().enumerate() {
        above[TILTS + bet] = 1.0 + stake * lead;
        below[TILTS + bet] = 1.0 - stake * lead;
    }
    (above, below)
}

/// Returns the factors of the bets on a mean: the whole stake is lost if the block loses the most possible.
fn bounded_factors(bets: &[BoundedBet], block: &BoundedGain) -> (Vec<f64>, Vec<f64>) {
    let above = bets.iter().map(|bet| 1.0 + bet.stake * block.gain / block.most_lost);
    let below = bets.iter().map(|bet| 1.0 - bet.stake * block.gain / block.most_gained);
    (above.collect(), below.collect())
}
