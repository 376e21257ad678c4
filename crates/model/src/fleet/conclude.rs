//! Conclusions from a fleet: which nodes answered, how even each model is, which nodes deviate, which settings differ.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::causes::{NodeCause, UsualSettings};
use super::deviations::{FleetDeviations, last_configuration};
use super::drift::{SettingDrift, find_drift};
use super::evenness::{ModelSummary, summarize_model};
use super::mixed_names::describe_mixed_names;
use super::outliers::{ListedEvidence, ProvenDeviation};
use super::outlook::ProofOutlook;
use super::visit_policy::VisitPolicy;
use super::{Fleet, FleetQuantity, ProblemKind};
use crate::artifact::format_count;
use corewise_statistics::discoveries::log_needed;
use corewise_statistics::peers::{FALSE_SHARE, LEAST_OF_MODEL, LEAST_OF_POOL, log_bet};

/// Unproven nodes are named from this evidence on, the logarithm of an e-value.
const LEAST_LOG_SUSPECT: f64 = 1.0;
/// Maximum number of unproven nodes that are named.
const MOST_SUSPECTS: usize = 5;

/// Conclusions from a fleet's visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetConclusions {
    /// Number of nodes that were asked.
    pub asked: usize,
    /// Number of nodes with at least one visit.
    pub answered: usize,
    /// Number of visits of all nodes.
    pub visits: usize,
    /// Number of nodes that were judged.
    pub judged: usize,
    /// Nodes whose last visit gave no result, by reason, the most common one first.
    pub problems: Vec<ProblemGroup>,
    /// The models of machine, the most common one first.
    pub models: Vec<ModelSummary>,
    /// Nodes that are worse than their peers in some quantity, the strongest evidence first. At most 5 % of them are there by chance.
    pub outliers: Vec<DeviatingNode>,
    /// Nodes that differ more from visit to visit than their peers. At most 5 % of them are there by chance.
    pub noisy: Vec<DeviatingNode>,
    /// The nodes closest to proof, without it.
    pub suspects: Vec<DeviatingNode>,
    /// Visits that a proof would need; absent if a node is proven to be worse than its peers, or none is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlook: Option<ProofOutlook>,
    /// Settings that differ between nodes of one model, the ones of the fewest nodes first.
    pub drift: Vec<SettingDrift>,
    /// Facts that limit the conclusions, one sentence each.
    pub caveats: Vec<String>,
}

/// Nodes with the same problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemGroup {
    /// Its kind.
    pub kind: ProblemKind,
    /// The reason.
    pub reason: String,
    /// Names of the nodes.
    pub nodes: Vec<String>,
}

/// A node that deviates from its peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviatingNode {
    /// Its name.
    pub node: String,
    /// Its rack, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// The processor's name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// The quantity in which it deviates most surely.
    pub quantity: FleetQuantity,
    /// The median of its visits minus its peers': a share of the peers' value (0.05 is 5 % more), or a difference in the quantity's unit if
    /// differences are judged. Of a noisy node the typical distance of a visit from its median, minus the same of its peers.
    pub change: f64,
    /// The smallest such change that its visits prove; absent if they prove none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The largest such change that they do not exclude; absent if they exclude none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Number of its visits.
    pub visits: usize,
    /// Natural logarithm of its e-value: a node like its peers reaches it with a chance of exp(-log_evidence) at most.
    pub log_evidence: f64,
    /// Facts about it that differ from its peers, and may be the cause.
    pub causes: Vec<NodeCause>,
}

impl FleetConclusions {
    /// Computes them.
    pub fn new(fleet: &Fleet) -> Self {
        let policy = VisitPolicy::default();
        let deviations = FleetDeviations::new(fleet, &policy);
        let slow = ListedEvidence::of_slow(&deviations, &policy);
        let noisy = ListedEvidence::of_noisy(&slow);
        let usual: Vec<UsualSettings<'_>> = deviations
            .models
            .iter()
            .map(|model| UsualSettings::new(fleet, &model.nodes, deviations.additions))
            .collect();
        let describe = |evidence: &ListedEvidence<'_>, nodes: &[usize]| {
            let described = evidence.measure_deviations(nodes).into_iter();
            described.map(|proven| describe_node(fleet, &deviations, &usual, evidence, &proven)).collect()
        };
        Self {
            asked: fleet.nodes.len(),
            answered: fleet.nodes.iter().filter(|node| !node.visits.is_empty()).count(),
            visits: fleet.nodes.iter().map(|node| node.visits.len()).sum(),
            judged: slow.count_judged(),
            problems: group_problems(fleet),
            models: deviations.models.iter().map(|model| summarize_model(fleet, model, deviations.additions)).collect(),
            outliers: describe(&slow, &slow.listed),
            noisy: describe(&noisy, &noisy.listed),
            suspects: describe(&slow, &find_suspects(&slow, &noisy)),
            outlook: ProofOutlook::new(&fleet.nodes, &deviations, &slow, &policy),
            drift: find_drift(fleet, &deviations),
            caveats: list_caveats(fleet, &deviations, slow.count_judged(), &policy),
        }
    }
}

/// Returns the unlisted nodes with the most evidence.
fn find_suspects(slow: &ListedEvidence<'_>, noisy: &ListedEvidence<'_>) -> Vec<usize> {
    let is_open = |node: &usize| {
        let is_strong = slow.nodes[*node].is_some_and(|log| log >= LEAST_LOG_SUSPECT);
        is_strong && !slow.is_listed(*node) && !noisy.is_listed(*node)
    };
    let mut suspects: Vec<usize> = (0..slow.nodes.len()).filter(is_open).collect();
    suspects.sort_by(|one, other| slow.nodes[*other].unwrap_or(0.0).total_cmp(&slow.nodes[*one].unwrap_or(0.0)));
    suspects.truncate(MOST_SUSPECTS);
    suspects
}

fn describe_node(
    fleet: &Fleet,
    deviations: &FleetDeviations,
    usual: &[UsualSettings<'_>],
    evidence: &ListedEvidence<'_>,
    proven: &ProvenDeviation,
) -> DeviatingNode {
    let (place, quantity) = (proven.node, proven.quantity);
    let node = &fleet.nodes[place];
    let configuration = last_configuration(fleet, node, deviations.additions);
    let causes = deviations.model_of[place].map(|model| usual[model].find_causes(fleet, node, deviations.additions));
    let convert = |worse: f64| evidence.change_of(quantity, worse);
    DeviatingNode {
        node: node.name.clone(),
        rack: node.rack.clone(),
        processor: configuration.and_then(|configuration| configuration.processor.clone()),
        quantity,
        change: convert(proven.estimate),
        at_least: proven.at_least.map(convert),
        at_most: proven.at_most.map(convert),
        visits: node.visits.len(),
        log_evidence: evidence.nodes[place].unwrap_or(0.0),
        causes: causes.unwrap_or_default(),
    }
}

fn group_problems(fleet: &Fleet) -> Vec<ProblemGroup> {
    let mut groups = BTreeMap::<(ProblemKind, &str), Vec<String>>::new();
    for node in &fleet.nodes {
        if let Some(problem) = &node.problem {
            groups.entry((problem.kind, &problem.reason)).or_default().push(node.name.clone());
        }
    }
    let group = |((kind, reason), nodes): ((ProblemKind, &str), Vec<String>)| ProblemGroup {
        kind,
        reason: reason.to_owned(),
        nodes,
    };
    let mut groups: Vec<ProblemGroup> = groups.into_iter().map(group).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.nodes.len()));
    groups
}

fn list_caveats(fleet: &Fleet, deviations: &FleetDeviations, judged: usize, policy: &VisitPolicy) -> Vec<String> {
    let mut caveats = describe_mixed_names(fleet);
    let few = deviations.models.iter().filter(|model| !model.is_comparable());
    let few: usize = few.map(|model| model.nodes.len()).sum();
    if few > 0 {
        let nodes = format_count(few, "node");
        caveats.push(format!(
            "{nodes} cannot be compared: there are fewer than {LEAST_OF_MODEL} machines of their model."
        ));
    }
    for model in deviations.models.iter().filter(|model| model.is_comparable() && model.nodes.len() < LEAST_OF_POOL) {
        let most = policy.most_visits as f64 * log_bet(1.0 / model.nodes.len() as f64);
        if most < log_needed(judged, 1, FALSE_SHARE) {
            let processor = model.processor.as_deref().unwrap_or("one model");
            let nodes = format_count(model.nodes.len(), "node");
            caveats.push(format!(
                "{nodes} of {processor} are too few to prove one slow in {} visits.",
                policy.most_visits
            ));
        }
    }
    let is_other =
        |visit: &super::NodeVisit| Some(fleet.configurations[visit.configuration].additions) != deviations.additions;
    let other = fleet.nodes.iter().flat_map(|node| &node.visits).filter(|visit| is_other(visit)).count();
    if other > 0 {
        let visits = format_count(other, "visit");
        caveats.push(format!("{visits} timed another amount of work, by another version of corewise: left out."));
    }
    if fleet.provenance.partial {
        caveats.push("It was ended before its plan was complete.".to_owned());
    }
    caveats
}
