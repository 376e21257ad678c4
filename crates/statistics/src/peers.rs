//! Evidence that one of many is worse than its peers, such as a node of a fleet: a bet on the rank of each of its visits, multiplied over
//! the visits.
//!
//! Each visit has a conformal p-value `p`: its rank among visits of its peers. A bet pays κ p^(κ − 1) on it, which has a mean of at most 1 if
//! the node is like them (Vovk and Wang, "E-values: calibration, combination and applications", 2021). The product over visits is the node's
//! e-value. The list of nodes controls the rate of false discoveries whatever the dependence (Wang and Ramdas, "False discovery rate control
//! with e-values", 2022).
//!
//! Whether a node's visits differ more among themselves than those of its peers is the same bet on how extreme each visit is on either side of
//! the node's own centre. That centre is not known: the e-value is the smallest over the midpoints of all pairs of the node's visits.

use crate::order::median;

/// Exponent of a bet: a small one bets on small p-values.
const KAPPA: f64 = 0.35;
/// Exponent of a bet on noise, which makes moderate p-values more often than tiny ones.
const KAPPA_OF_NOISE: f64 = 0.5;
/// Share of false discoveries among those listed.
pub const FALSE_SHARE: f64 = 0.05;
/// Minimum number of nodes of a model for any judgement of it.
pub const LEAST_OF_MODEL: usize = 8;
/// Models of fewer nodes are compared visit by visit: the n-th visit of each node with the n-th visit of the others. That is exact for any
/// number of nodes, while the pool of a small model would be the same few visits each time.
pub const LEAST_OF_POOL: usize = 60;
/// Largest logarithm of an e-value: those beyond it would overflow.
const MOST_LOG: f64 = 600.0;
/// Product of p-values that another one might make too small for a number.
const LEAST_PRODUCT: f64 = 1e-200;

/// Side on which a visit is extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerSide {
    /// Worse than its peers.
    Worse,
    /// Better than its peers.
    Better,
    /// Farther from the node's own centre, on either side, than its peers are from theirs.
    Either,
}

/// Visits of nodes, and the models that they are compared within: nodes of one model should be alike.
#[derive(Clone, Copy)]
pub struct ComparedVisits<'a> {
    /// For each node its deviations, below zero if worse.
    pub nodes: &'a [Vec<f64>],
    /// The place of each node's model.
    pub model_of: &'a [Option<usize>],
    /// Number of visits of each node that make up the pool.
    pub pooled: usize,
    /// Smallest typical size of a deviation: values that are all equal have none.
    pub least_scale: f64,
}

/// Visits of peers, sorted, with which visits of nodes are compared.
pub struct PeerEvidence<'a> {
    visits: ComparedVisits<'a>,
    is_peer: &'a [bool],
    /// First visits of the nodes of all large models, each divided by its model's scale.
    pool: Vec<f64>,
    models: Vec<ModelReference>,
}

/// Reference of the visits of one model.
enum ModelReference {
    /// The pool, multiplied by this typical size of a deviation.
    Pool { scale: f64 },
    /// The n-th visits of its nodes.
    Rounds(Vec<Vec<f64>>),
}

impl<'a> PeerEvidence<'a> {
    /// Sorts the visits of the nodes that are examples of healthy ones, given the nodes of each model.
    pub fn new(
        visits: ComparedVisits<'a>,
        nodes_of_models: impl Iterator<Item = &'a [usize]>,
        is_peer: &'a [bool],
    ) -> Self {
        let (mut pool, mut models) = (Vec::new(), Vec::new());
        for nodes in nodes_of_models {
            let peers = nodes.iter().filter(|node| is_peer[**node]);
            let peers: Vec<&[f64]> = peers.map(|node| visits.nodes[*node].as_slice()).collect();
            if nodes.len() < LEAST_OF_POOL {
                models.push(ModelReference::Rounds(sort_rounds(&peers)));
                continue;
            }
            let first: Vec<f64> = peers.iter().flat_map(|values| values.iter().take(visits.pooled)).copied().collect();
            let sizes: Vec<f64> = first.iter().map(|value| value.abs()).collect();
            let scale = median(&sizes).max(visits.least_scale);
            pool.extend(first.iter().map(|value| value / scale));
            models.push(ModelReference::Pool { scale });
        }
        pool.sort_by(f64::total_cmp);
        Self { visits, is_peer, pool, models }
    }

    /// Returns the logarithm of a node's e-value against the hypothesis that it deviates by less than `margin` to that side; zero without
    /// visits.
    pub fn log_evidence(&self, node: usize, margin: f64, side: PeerSide) -> f64 {
        let Some(model) = self.visits.model_of[node].map(|model| &self.models[model]) else { return 0.0 };
        let visits = &self.visits.nodes[node];
        let product = |centre: f64| self.log_product(node, model, centre, margin, side);
        let log = match side {
            PeerSide::Worse | PeerSide::Better => product(0.0),
            PeerSide::Either => {
                let ends =
                    (0..visits.len()).flat_map(|last| visits[..=last].iter().map(move |first| (*first, visits[last])));
                ends.map(|(first, last)| product(f64::midpoint(first, last))).reduce(f64::min).unwrap_or(0.0)
            }
        };
        log.min(MOST_LOG)
    }

    /// Returns the logarithm of the product of the bets on a node's visits, less a centre.
    fn log_product(&self, node: usize, model: &ModelReference, centre: f64, margin: f64, side: PeerSide) -> f64 {
        let probabilities = self.visits.nodes[node].iter().enumerate().filter_map(|(round, own)| {
            let value = own - centre;
            let probability = match model {
                ModelReference::Pool { scale } => self.pool_probability(value / scale, margin / scale, side),
                ModelReference::Rounds(rounds) => {
                    let own = self.is_peer[node].then_some(*own);
                    round_probability(rounds.get(round)?, own, value, margin, side)?
                }
            };
            Some(probability)
        });
        side.log_bets(probabilities)
    }

    /// Returns the p-value of a visit among the pool.
    fn pool_probability(&self, value: f64, margin: f64, side: PeerSide) -> f64 {
        probability_among(&self.pool, None, value, margin, side)
    }

    /// Returns the largest deviation to a side that the node's visits prove at this evidence; `None` if they prove none. It is the end of an
    /// e-value's confidence interval: the margin at which the evidence is just enough.
    pub fn proven_deviation(&self, node: usize, side: PeerSide, log_needed: f64) -> Option<f64> {
        let holds = |margin: f64| self.log_evidence(node, margin, side) >= log_needed;
        let reach = self.visits.nodes[node].iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let reach = 2.0 * reach + self.widest_peer(node);
        let (mut low, mut high) = (-reach, reach);
        if !holds(low) {
            return None;
        }
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if holds(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// Returns the mean logarithm of the bet on a visit of a model's node, if each visit of its peers is moved by `shift`; `None` without
    /// peers.
    pub fn expected_growth(&self, model: usize, shift: f64, margin: f64) -> Option<f64> {
        let bets: Vec<f64> = match self.models.get(model)? {
            ModelReference::Pool { scale } => {
                let bet = |value: &f64| {
                    log_bet(self.pool_probability(value + shift / scale, margin / scale, PeerSide::Worse))
                };
                self.pool.iter().map(bet).collect()
            }
            ModelReference::Rounds(rounds) => {
                let bets = rounds.iter().flat_map(|round| {
                    round.iter().filter_map(|own| {
                        round_probability(round, Some(*own), own + shift, margin, PeerSide::Worse).map(log_bet)
                    })
                });
                bets.collect()
            }
        };
        (!bets.is_empty()).then(|| bets.iter().sum::<f64>() / bets.len() as f64)
    }

    /// Returns how much worse a node's typical visit is than that of its peers; of either side, how much farther from its centre.
    pub fn typical_deviation(&self, node: usize, side: PeerSide) -> f64 {
        let own = &self.visits.nodes[node];
        match side {
            PeerSide::Worse | PeerSide::Better => self.typical_peer(node) - median(own),
            PeerSide::Either => typical_distance(own) - self.typical_distance_of_peers(node),
        }
    }

    fn typical_distance_of_peers(&self, node: usize) -> f64 {
        match self.visits.model_of[node].map(|model| &self.models[model]) {
            Some(ModelReference::Pool { scale }) => scale * typical_distance(&self.pool),
            Some(ModelReference::Rounds(rounds)) => typical_distance(rounds.concat().as_slice()),
            None => 0.0,
        }
    }

    /// Returns the median of the visits that a node is compared with.
    fn typical_peer(&self, node: usize) -> f64 {
        match self.visits.model_of[node].map(|model| &self.models[model]) {
            Some(ModelReference::Pool { scale }) => scale * median(&self.pool),
            Some(ModelReference::Rounds(rounds)) => median(rounds.concat().as_slice()),
            None => 0.0,
        }
    }

    /// Returns the size of the largest deviation among the visits that a node is compared with.
    fn widest_peer(&self, node: usize) -> f64 {
        let ends = |sorted: &[f64]| {
            let ends = [sorted.first(), sorted.last()].into_iter().flatten();
            ends.fold(0.0_f64, |most, value| most.max(value.abs()))
        };
        match self.visits.model_of[node].map(|model| &self.models[model]) {
            Some(ModelReference::Pool { scale }) => scale * ends(&self.pool),
            Some(ModelReference::Rounds(rounds)) => rounds.iter().fold(0.0, |most, round| ends(round).max(most)),
            None => 0.0,
        }
    }
}

/// Returns the p-value of a visit among those of the same round; `None` if these are too few. `own` is the visit's own value if it is among
/// them.
fn round_probability(sorted: &[f64], own: Option<f64>, value: f64, margin: f64, side: PeerSide) -> Option<f64> {
    let others = sorted.len() - own.as_slice().len();
    (others + 1 >= LEAST_OF_MODEL).then(|| probability_among(sorted, own, value, margin, side))
}

/// Returns the rank of a value among sorted ones other than its own, as a share. Of either side it is twice the smaller of the two: each tail
/// is compared with the same one of its peers, since disturbances are on one side.
fn probability_among(sorted: &[f64], own: Option<f64>, value: f64, margin: f64, side: PeerSide) -> f64 {
    let own = own.as_slice();
    let count = |side: PeerSide| count_extreme(sorted, value, margin, side) - count_extreme(own, value, margin, side);
    let others = sorted.len() - own.len();
    let share = |extreme: usize| (1 + extreme) as f64 / (1 + others) as f64;
    match side {
        PeerSide::Worse | PeerSide::Better => share(count(side)),
        PeerSide::Either => {
            let is_below = sorted.get(sorted.len() / 2).is_some_and(|middle| value < *middle);
            let (near, far) =
                if is_below { (PeerSide::Worse, PeerSide::Better) } else { (PeerSide::Better, PeerSide::Worse) };
            let nearer = count(near);
            // Each peer is on one side at least, unless the margin is negative, so a side with half of them or fewer is the smaller.
            let smaller = if margin >= 0.0 && 2 * nearer <= others { nearer } else { nearer.min(count(far)) };
            (2.0 * share(smaller)).min(1.0)
        }
    }
}

/// Returns the median distance of values from their median.
pub fn typical_distance(values: &[f64]) -> f64 {
    let middle = median(values);
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

impl PeerSide {
    /// Returns the logarithm of what bets pay together.
    fn log_bets(self, probabilities: impl Iterator<Item = f64>) -> f64 {
        let kappa = if self == Self::Either { KAPPA_OF_NOISE } else { KAPPA };
        // One logarithm for as many as a product can have.
        let (mut count, mut log, mut product) = (0.0, 0.0, 1.0_f64);
        for probability in probabilities {
            count += 1.0;
            product *= probability;
            if product < LEAST_PRODUCT {
                log += product.ln();
                product = 1.0;
            }
        }
        count * kappa.ln() + (kappa - 1.0) * (log + product.ln())
    }
}

/// Returns the logarithm of what a bet on a worse visit pays.
pub fn log_bet(probability: f64) -> f64 {
    PeerSide::Worse.log_bets([probability].into_iter())
}

/// Counts the sorted values that are as extreme as a value that is moved by the margin towards its peers.
fn count_extreme(sorted: &[f64], value: f64, margin: f64, side: PeerSide) -> usize {
    match side {
        PeerSide::Worse => sorted.partition_point(|peer| *peer <= value + margin),
        PeerSide::Better | PeerSide::Either => sorted.len() - sorted.partition_point(|peer| *peer < value - margin),
    }
}

fn sort_rounds(peers: &[&[f64]]) -> Vec<Vec<f64>> {
    let most = peers.iter().map(|values| values.len()).max().unwrap_or(0);
    let round = |number: usize| {
        let mut round: Vec<f64> = peers.iter().filter_map(|values| values.get(number).copied()).collect();
        round.sort_by(f64::total_cmp);
        round
    };
    (0..most).map(round).collect()
}

/// Returns the logarithm of the mean of e-values, which is an e-value of all of them together.
pub fn log_mean(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if logs.is_empty() || !most.is_finite() {
        return if logs.is_empty() { 0.0 } else { most };
    }
    most + (logs.iter().map(|log| (log - most).exp()).sum::<f64>() / logs.len() as f64).ln()
}

#[cfg(test)]
mod tests {
    use corewise_machine::random::RandomGenerator;

    use super::*;

    #[test]
    fn many_bets_pay_what_they_pay_one_by_one() {
        let probabilities: Vec<f64> = (1..500).map(|place| f64::from(place % 7 + 1) / 3_000.0).collect();
        let sum: f64 = probabilities.iter().map(|probability| log_bet(*probability)).sum();
        let together = PeerSide::Worse.log_bets(probabilities.into_iter());
        assert!((together / sum - 1.0).abs() < 1e-12, "{together} {sum}");
    }

    /// Values of few digits, so that many are equal.
    #[test]
    fn of_either_side_it_is_twice_the_smaller_one() {
        let mut random = RandomGenerator::new(3);
        for _ in 0..2_000 {
            let mut draw = || random.next_below(12) as f64 - 4.0;
            let mut sorted: Vec<f64> = (0..9).map(|_| draw()).collect();
            sorted.sort_by(f64::total_cmp);
            let (value, margin) = (draw(), draw() / 4.0);
            for own in [None, Some(sorted[4])] {
                let probability = |side| probability_among(&sorted, own, value, margin, side);
                let smaller = probability(PeerSide::Worse).min(probability(PeerSide::Better));
                assert_eq!(probability(PeerSide::Either), (2.0 * smaller).min(1.0), "{sorted:?} {value} {margin}");
            }
        }
    }
}
