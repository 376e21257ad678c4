//! Slow and noisy nodes: evidence of each node, and the lists.

use super::FleetQuantity;
use super::deviations::{FleetDeviations, QuantityDeviations};
use super::visit_policy::VisitPolicy;
use corewise_statistics::discoveries::{count_discoveries, log_needed};
use corewise_statistics::order::quantile;
use corewise_statistics::peers::{ComparedVisits, FALSE_SHARE, PeerEvidence, PeerSide, log_mean, typical_distance};

/// Share of the margin that scales of deviations never fall below: values that are all equal have no scale.
const LEAST_SCALE: f64 = 0.05;

/// Share of a listed node's visits that deviate by the margin: fewer of them are the noise of the node.
const MOST_VISITS: f64 = 0.75;
/// Maximum number of times that the list is made anew without the listed nodes as peers.
const MOST_CLEANINGS: usize = 10;

/// Evidence about all nodes, of one question.
pub(super) struct ListedEvidence<'a> {
    deviations: &'a FleetDeviations,
    policy: VisitPolicy,
    /// Side on which nodes deviate: [`PeerSide::Worse`] for slow ones, [`PeerSide::Either`] for noisy ones.
    side: PeerSide,
    /// Logarithm of the e-value of each node over all quantities; `None` if the node is not judged.
    pub nodes: Vec<Option<f64>>,
    /// Places of the listed nodes, the strongest evidence first.
    pub listed: Vec<usize>,
    /// Logarithm of each node's e-value in each quantity.
    by_quantity: Vec<Vec<f64>>,
    is_listed: Vec<bool>,
    /// Whether each node is an example of a healthy one.
    is_peer: Vec<bool>,
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
        Self::new(deviations, policy, PeerSide::Worse, vec![true; deviations.model_of.len()])
    }

    /// Judges which nodes differ more from visit to visit than their peers, of which the slow ones are none.
    pub fn of_noisy(slow: &Self) -> Self {
        let is_peer = slow.is_listed.iter().map(|is_slow| !is_slow).collect();
        Self::new(slow.deviations, &slow.policy, PeerSide::Either, is_peer)
    }

    /// Judges all nodes, then again without the listed ones among the peers, until the list stays the same.
    fn new(deviations: &'a FleetDeviations, policy: &VisitPolicy, side: PeerSide, is_peer: Vec<bool>) -> Self {
        let count = deviations.model_of.len();
        let (nodes, is_listed) = (vec![None; count], vec![false; count]);
        let (listed, by_quantity, policy) = (Vec::new(), Vec::new(), *policy);
        let mut judged = Self { deviations, policy, side, nodes, listed, by_quantity, is_listed, is_peer };
        for _ in 0..MOST_CLEANINGS {
            judged.judge_nodes();
            let new = judged.listed.iter().filter(|node| !judged.is_listed[**node]).count();
            if new == 0 {
                break;
            }
            for node in &judged.listed {
                judged.is_listed[*node] = true;
                judged.is_peer[*node] = false;
            }
        }
        judged
    }

    fn judge_nodes(&mut self) {
        let quantities = &self.deviations.quantities;
        self.by_quantity = quantities.iter().map(|values| self.judge_quantity(values)).collect();
        let (mut nodes, mut proofs) = (Vec::new(), Vec::new());
        for node in 0..self.nodes.len() {
            let measured = quantities.iter().zip(&self.by_quantity);
            let measured = measured.filter(|(values, _)| !values.nodes[node].is_empty());
            let logs: Vec<(f64, bool)> =
                measured.map(|(values, logs)| (logs[node], self.is_material(values, node))).collect();
            let all: Vec<f64> = logs.iter().map(|(log, _)| *log).collect();
            // Evidence that is left out keeps an e-value valid.
            let material: Vec<f64> =
                logs.iter().map(|(log, is_material)| if *is_material { *log } else { f64::NEG_INFINITY }).collect();
            nodes.push((!all.is_empty()).then(|| log_mean(&all)));
            proofs.extend((!all.is_empty()).then(|| (log_mean(&material), node)));
        }
        self.nodes = nodes;
        proofs.sort_by(|one, other| other.0.total_cmp(&one.0));
        let logs: Vec<f64> = proofs.iter().map(|(log, _)| *log).collect();
        self.listed = proofs[..count_discoveries(&logs, FALSE_SHARE)].iter().map(|(_, node)| *node).collect();
    }

    /// Returns true if three in four visits of the node deviate by the margin or more: a node of wild visits is noisy, not slow. The visits of
    /// a noisy node matter if the middle half of them spans the margin.
    fn is_material(&self, values: &QuantityDeviations, node: usize) -> bool {
        let (visits, least) = (&values.nodes[node], values.quantity.least_deviation(self.policy.margin));
        match self.side {
            PeerSide::Either => 2.0 * typical_distance(visits) >= least,
            PeerSide::Worse | PeerSide::Better => quantile(visits, MOST_VISITS) <= -least,
        }
    }

    /// Returns the logarithm of each node's e-value in a quantity. A spread needs no margin beyond its peers'.
    fn judge_quantity(&self, values: &QuantityDeviations) -> Vec<f64> {
        let margin = match self.side {
            PeerSide::Either => 0.0,
            PeerSide::Worse | PeerSide::Better => values.quantity.least_deviation(self.policy.margin),
        };
        let evidence = self.compare_peers(values);
        (0..values.nodes.len()).map(|node| evidence.log_evidence(node, margin, self.side)).collect()
    }

    fn compare_peers(&self, values: &'a QuantityDeviations) -> PeerEvidence<'_> {
        let visits = ComparedVisits {
            nodes: &values.nodes,
            model_of: &self.deviations.model_of,
            pooled: self.policy.first_visits,
            least_scale: LEAST_SCALE * values.quantity.least_deviation(self.policy.margin),
        };
        let nodes_of_models = self.deviations.models.iter().map(|model| model.nodes.as_slice());
        PeerEvidence::new(visits, nodes_of_models, &self.is_peer)
    }

    /// Returns the logarithm of the mean factor by which a visit raises the e-value of a node that is slower by this, in the largest model;
    /// `None` if speed was not measured.
    pub fn growth_of_slow(&self, slower: f64) -> Option<f64> {
        let values = self.deviations.quantities.iter().find(|values| values.quantity == FleetQuantity::Speed)?;
        self.compare_peers(values).expected_growth(0, -slower, values.quantity.least_deviation(self.policy.margin))
    }

    /// Returns a deviation as a change: a share of the peers' value, or a difference in the quantity's unit. More spread is above zero.
    pub fn change_of(&self, quantity: FleetQuantity, worse: f64) -> f64 {
        let is_share_of_spread = self.side == PeerSide::Either && !quantity.is_difference_judged();
        if is_share_of_spread { worse.exp_m1() } else { quantity.change_of(worse) }
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
        let quantities = &self.deviations.quantities;
        let evidence: Vec<PeerEvidence<'_>> = quantities.iter().map(|values| self.compare_peers(values)).collect();
        let needed = log_needed(self.count_judged(), self.listed.len(), FALSE_SHARE);
        let measure = |node: &usize| {
            let number = self.find_surest(*node)?;
            let (values, evidence) = (&quantities[number], &evidence[number]);
            let bound = |side: PeerSide| evidence.proven_deviation(*node, side, needed);
            Some(ProvenDeviation {
                node: *node,
                quantity: values.quantity,
                estimate: evidence.typical_deviation(*node, self.side),
                at_least: bound(self.side),
                // That a node is not noisier is not asked.
                at_most: (self.side != PeerSide::Either)
                    .then(|| bound(PeerSide::Better))
                    .flatten()
                    .map(|proven| -proven),
            })
        };
        nodes.iter().filter_map(measure).collect()
    }

    /// Returns the number of the quantity in which a node deviates most surely; `None` if it does so materially in none.
    fn find_surest(&self, node: usize) -> Option<usize> {
        let quantities = &self.deviations.quantities;
        let is_material = |number: &usize| {
            let values = &quantities[*number];
            !values.nodes[node].is_empty() && self.is_material(values, node)
        };
        let log = |number: &usize| self.by_quantity[*number][node];
        (0..quantities.len()).filter(is_material).max_by(|one, other| log(one).total_cmp(&log(other)))
    }
}
