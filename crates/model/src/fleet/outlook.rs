//! Visits that a proof needs if no node is proven to be worse: of all nodes, and more of the node that is closest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deviations::FleetDeviations;
use super::outliers::ListedEvidence;
use super::visit_policy::VisitPolicy;
use super::{Fleet, FleetNode};
use corewise_statistics::discoveries::log_needed;
use corewise_statistics::peers::{FALSE_SHARE, LEAST_OF_POOL, log_bet};

/// How much slower a node is that surely matters: 0.05 is 5 %.
pub const CLEARLY_SLOW: f64 = 0.05;

/// The visits that a proof would take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofOutlook {
    /// Number of visits of the node with the most.
    pub visits: usize,
    /// Fewest visits in which one node can be proven, if it is worse than all of its peers in each of them.
    pub least_visits: usize,
    /// Number of visits in which a node that is 5 % slower would about be proven; absent if it takes more than the most of a node, or speed
    /// was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enough_visits: Option<usize>,
    /// The node with the most evidence; absent if none has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closest: Option<ClosestNode>,
}

/// The node that is closest to a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosestNode {
    /// Its name.
    pub node: String,
    /// Number of visits that would about prove it, if they are like those so far; absent if it takes more than the most of a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_visits: Option<usize>,
}

impl ProofOutlook {
    /// Computes it; `None` if a node is proven, or none can be judged.
    pub(super) fn new(
        nodes: &[FleetNode],
        deviations: &FleetDeviations,
        evidence: &ListedEvidence<'_>,
        policy: &VisitPolicy,
    ) -> Option<Self> {
        let count = evidence.count_judged();
        if count == 0 || !evidence.listed.is_empty() {
            return None;
        }
        let needed = log_needed(count, 1, FALSE_SHARE);
        let count_visits =
            |node: usize| deviations.quantities.iter().map(|values| values.nodes[node].len()).max().unwrap_or(0);
        let judged: Vec<(usize, f64)> =
            evidence.nodes.iter().enumerate().filter_map(|(node, log)| Some((node, (*log)?))).collect();
        let (node, log) = judged.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let shared = (deviations.quantities.len() as f64).ln();
        // Its evidence is the mean of its e-values in all quantities, one of which grows by the same factor with each visit.
        let count_all = |growth: f64| {
            let all = ((needed + shared) / growth).ceil();
            (growth > 0.0 && all <= policy.most_visits as f64).then_some(all as usize)
        };
        let visits = count_visits(node);
        let more_visits = count_all((log + shared) / visits.max(1) as f64).map(|all| all.saturating_sub(visits).max(1));
        let is_near = log > 0.0 || more_visits.is_some();
        Some(Self {
            visits: judged.iter().map(|(node, _)| count_visits(*node)).max()?,
            least_visits: (needed / largest_bet(deviations, policy)?).ceil() as usize,
            enough_visits: evidence.growth_of_slow(CLEARLY_SLOW.ln_1p()).and_then(count_all),
            closest: is_near.then(|| ClosestNode { node: nodes[node].name.clone(), more_visits }),
        })
    }

    /// Returns true if no node has visits enough to be proven.
    pub const fn is_out_of_reach(&self) -> bool {
        self.visits < self.least_visits
    }

    /// Returns true if more visits may prove a node.
    pub fn needs_visits(&self) -> bool {
        self.is_out_of_reach() || self.closest.as_ref().is_some_and(|closest| closest.more_visits.is_some())
    }
}

/// Returns the logarithm of the most that one visit pays: that of a node which is worse than all of the largest set of peers.
fn largest_bet(deviations: &FleetDeviations, policy: &VisitPolicy) -> Option<f64> {
    let compared = deviations.models.iter().filter(|model| model.is_comparable()).map(|model| model.nodes.len());
    let (small, large): (Vec<usize>, Vec<usize>) = compared.partition(|nodes| *nodes < LEAST_OF_POOL);
    // Large models share one pool of first visits.
    let pooled = policy.first_visits * large.iter().sum::<usize>() + 1;
    let most = small.into_iter().chain([pooled].into_iter().filter(|_| !large.is_empty())).max()?;
    Some(log_bet(1.0 / most as f64)).filter(|log| *log > 0.0)
}

impl Fleet {
    /// Returns the places of the nodes that are compared with peers.
    pub fn list_judged_nodes(&self) -> Vec<usize> {
        let deviations = FleetDeviations::new(self, &VisitPolicy::default());
        let is_judged = |node: &usize| deviations.quantities.iter().any(|values| !values.nodes[*node].is_empty());
        (0..self.nodes.len()).filter(is_judged).collect()
    }
}
