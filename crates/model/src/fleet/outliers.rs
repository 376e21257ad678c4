//! Slow and noisy nodes: evidence of each node, and the lists.

use super::FleetQuantity;
use super::deviations::{FleetDeviations, QuantityDeviations};
use super::peer_evidence::{ComparedVisits, FALSE_SHARE, PeerEvidence, PeerSide, log_mean};
use super::visit_policy::VisitPolicy;
use crate::stats::discoveries::{count_discoveries, log_needed};
use crate::stats::order::{median, quantile};

/// Share of the margin that scales of deviations never fall below: values that are all equal have no scale.
const LEAST_SCALE: f64 = 0.05;

/// Share of a listed node's visits that deviate by the margin: fewer of them are the noise of the node.
const MOST_VISITS: f64 = 0.75;
/// Maximum number of times that the list is made anew without the listed nodes as peers.
const MOST_CLEANINGS: usize = 10;

/// Evidence about all nodes, of one question.
pub(super) struct ListedEvidence<'a> {
    quantities: &'a [QuantityDeviations],
    deviations: &'a FleetDeviations,
    policy: VisitPolicy,
    pooled: usize,
    is_of_spreads: bool,
    /// Logarithm of the e-value of each node over all quantities; `None` if the node is not judged.
    pub nodes: Vec<Option<f64>>,
    /// Places of the listed nodes, the strongest evidence first.
    pub listed: Vec<usize>,
    /// Logarithm of each node's e-value in each quantity.
    by_quantity: Vec<Vec<f64>>,
    is_listed: Vec<bool>,
}

/// Deviation of a node with the ends of its interval, on the scale of the quantity: above zero is worse.
pub(super) struct ProvenDeviation {
    pub node: usize,
    pub quantity: FleetQuantity,
    pub estimate: f64,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

impl<'a> ListedEvidence<'a> {
    /// Judges which nodes are worse than their peers.
    pub fn of_slow(deviations: &'a FleetDeviations, policy: &VisitPolicy) -> Self {
        Self::new(deviations, &deviations.quantities, policy, policy.first_visits, false)
    }

    /// Judges which nodes differ more from visit to visit than their peers. `spreads` are [`pair_spreads`].
    pub fn of_noisy(deviations: &'a FleetDeviations, spreads: &'a [QuantityDeviations], policy: &VisitPolicy) -> Self {
        Self::new(deviations, spreads, policy, policy.first_visits / 2, true)
    }

    /// Judges all nodes, then again without the listed ones among the peers, until the list stays the same.
    fn new(
        deviations: &'a FleetDeviations,
        quantities: &'a [QuantityDeviations],
        policy: &VisitPolicy,
        pooled: usize,
        is_of_spreads: bool,
    ) -> Self {
        let count = deviations.model_of.len();
        let (nodes, is_listed) = (vec![None; count], vec![false; count]);
        let (listed, by_quantity, policy) = (Vec::new(), Vec::new(), *policy);
        let mut judged =
            Self { quantities, deviations, policy, pooled, is_of_spreads, nodes, listed, by_quantity, is_listed };
        for _ in 0..MOST_CLEANINGS {
            judged.judge_nodes();
            let new = judged.listed.iter().filter(|node| !judged.is_listed[**node]).count();
            if new == 0 {
                break;
            }
            judged.listed.iter().for_each(|node| judged.is_listed[*node] = true);
        }
        judged
    }

    fn judge_nodes(&mut self) {
        self.by_quantity = self.quantities.iter().map(|values| self.judge_quantity(values)).collect();
        let (mut nodes, mut proofs) = (Vec::new(), Vec::new());
        for node in 0..self.nodes.len() {
            let measured = self.quantities.iter().zip(&self.by_quantity);
            let measured = measured.filter(|(values, _)| !values.nodes[node].is_empty());
            let logs: Vec<(f64, bool)> =
                measured.map(|(values, logs)| (logs[node], self.is_beyond_margin(values, node))).collect();
            let all: Vec<f64> = logs.iter().map(|(log, _)| *log).collect();
            // A node of wild visits is noisy, not slow. Evidence that is left out keeps an e-value valid.
            let beyond: Vec<f64> =
                logs.iter().map(|(log, is_beyond)| if *is_beyond { *log } else { f64::NEG_INFINITY }).collect();
            nodes.push((!all.is_empty()).then(|| log_mean(&all)));
            proofs.extend((!all.is_empty()).then(|| (log_mean(&beyond), node)));
        }
        self.nodes = nodes;
        proofs.sort_by(|one, other| other.0.total_cmp(&one.0));
        let logs: Vec<f64> = proofs.iter().map(|(log, _)| *log).collect();
        self.listed = proofs[..count_discoveries(&logs, FALSE_SHARE)].iter().map(|(_, node)| *node).collect();
    }

    /// Returns true if three in four visits of the node deviate by the margin or more.
    fn is_beyond_margin(&self, values: &QuantityDeviations, node: usize) -> bool {
        quantile(&values.nodes[node], MOST_VISITS) <= -values.quantity.least_deviation(self.policy.margin)
    }

    /// Returns the logarithm of each node's e-value in a quantity. A spread needs no margin beyond its peers' spread.
    fn judge_quantity(&self, values: &QuantityDeviations) -> Vec<f64> {
        let margin = if self.is_of_spreads { 0.0 } else { values.quantity.least_deviation(self.policy.margin) };
        let evidence = self.compare_peers(values);
        (0..values.nodes.len()).map(|node| evidence.log_evidence(node, margin, PeerSide::Worse)).collect()
    }

    fn compare_peers(&self, values: &'a QuantityDeviations) -> PeerEvidence<'_> {
        let visits = ComparedVisits {
            nodes: &values.nodes,
            models: &self.deviations.models,
            model_of: &self.deviations.model_of,
            pooled: self.pooled,
            least_scale: LEAST_SCALE * values.quantity.least_deviation(self.policy.margin),
        };
        PeerEvidence::new(visits, &self.is_listed)
    }

    /// Returns the number of judged nodes.
    pub fn count_judged(&self) -> usize {
        self.nodes.iter().flatten().count()
    }

    /// Returns true if a node is listed.
    pub fn is_listed(&self, node: usize) -> bool {
        self.is_listed[node]
    }

    /// Returns for some nodes the quantity in which each deviates most surely, and by how much. Each end of an interval is wrong for at most
    /// 5 % of the listed nodes: it inverts the e-value that lists them (Xu, Wang and Ramdas, "Post-selection inference for e-value based
    /// confidence intervals", 2022).
    pub fn measure_deviations(&self, nodes: &[usize]) -> Vec<ProvenDeviation> {
        let evidence: Vec<PeerEvidence<'_>> = self.quantities.iter().map(|values| self.compare_peers(values)).collect();
        let needed = log_needed(self.count_judged(), self.listed.len(), FALSE_SHARE);
        let measure = |node: &usize| {
            let number = self.find_surest(*node)?;
            let (values, evidence) = (&self.quantities[number], &evidence[number]);
            let bound = |side: PeerSide| evidence.proven_deviation(*node, side, needed);
            Some(ProvenDeviation {
                node: *node,
                quantity: values.quantity,
                estimate: evidence.typical_peer(*node) - median(&values.nodes[*node]),
                at_least: bound(PeerSide::Worse),
                at_most: bound(PeerSide::Better).map(|proven| -proven),
            })
        };
        nodes.iter().filter_map(measure).collect()
    }

    /// Returns the number of the quantity in which a node deviates most surely; `None` if it deviates by the margin in none.
    fn find_surest(&self, node: usize) -> Option<usize> {
        let is_beyond = |number: &usize| {
            let values = &self.quantities[*number];
            !values.nodes[node].is_empty() && self.is_beyond_margin(values, node)
        };
        let log = |number: &usize| self.by_quantity[*number][node];
        (0..self.quantities.len()).filter(is_beyond).max_by(|one, other| log(one).total_cmp(&log(other)))
    }
}

/// Returns how far apart each node's visits are, two by two in their order, as deviations below zero: farther apart is worse. Pairs share no
/// visit, so that they are independent of each other and of the node's level.
pub(super) fn pair_spreads(quantities: &[QuantityDeviations]) -> Vec<QuantityDeviations> {
    let spread = |pair: &[f64]| -(pair[0] - pair[1]).abs();
    let of_quantity = |values: &QuantityDeviations| QuantityDeviations {
        quantity: values.quantity,
        nodes: values.nodes.iter().map(|visits| visits.chunks_exact(2).map(spread).collect()).collect(),
    };
    quantities.iter().map(of_quantity).collect()
}
