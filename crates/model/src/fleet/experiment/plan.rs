//! The plan of visits: how many blocks each node makes in the next wave.
//!
//! A node counts for its kind once, with its first [`FleetExperiment::blocks_per_node`] blocks. That number is chosen from the noise of the
//! first wave, and noise is the same if all gains change their signs; so whichever way the effects are, the choice does not favour one.

use serde::{Deserialize, Serialize};

use super::conclude::{FleetExperimentConclusions, conclude_fleet_experiment, judge_nodes};
use super::{FIRST_BLOCKS, FleetExperiment, FleetVerdict, NodeArmConclusion, NodeConclusion, TriedNode};
use corewise_statistics::experiment::{JudgingPolicy, NodeRuns, Verdict, fewest_units, robust_noise};
use corewise_statistics::order::median;

/// Maximum number of blocks of a node.
const MOST_BLOCKS: u32 = 64;
/// Probability from which on nodes are suspected to differ, so that each gets blocks of its own.
const SUSPECTED: f64 = 0.05;
/// Spread of effects that matters, as a share of the margin.
const MATERIAL_SPREAD: f64 = 0.5;
/// The logarithm of the wealth that the bets on other effects cost.
const COST_OF_MIXTURE: f64 = 2.0;
/// Evidence that is about proof on a node if most nodes are proven.
const PROOF_OF_A_NODE: f64 = 40.0;
/// Number of blocks from which a node's evidence shows whether it will ever be enough.
const FORESEEABLE: usize = 8;

/// A visit of a node in the next wave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedVisit {
    /// Name of the node.
    pub node: String,
    /// Number of blocks to make there.
    pub blocks: u32,
}

impl FleetExperiment {
    /// Returns the visits of the next wave, in the order in which the nodes count; empty if nothing more can be gained. A node with a
    /// problem is not visited again.
    pub fn plan_wave(&mut self) -> Vec<PlannedVisit> {
        let first = self.blocks_per_node.unwrap_or(FIRST_BLOCKS);
        let unseen = self.visit_up_to(first, |node| node.blocks.is_empty());
        if !unseen.is_empty() {
            return unseen;
        }
        let per_node = match self.blocks_per_node {
            Some(known) => known,
            None => self.choose_blocks(),
        };
        self.blocks_per_node = Some(per_node);
        let short = self.visit_up_to(per_node, |_| true);
        if !short.is_empty() {
            return short;
        }
        self.looks += 1;
        let found = conclude_fleet_experiment(self);
        let open = open_nodes(self, &found);
        self.nodes
            .iter()
            .filter(|node| node.problem.is_none() && open.contains(&node.name.as_str()))
            .map(|node| PlannedVisit { node: node.name.clone(), blocks: more_blocks(node) })
            .filter(|visit| visit.blocks > 0)
            .collect()
    }

    fn visit_up_to(&self, blocks: u32, is_meant: impl Fn(&TriedNode) -> bool) -> Vec<PlannedVisit> {
        let missing = |node: &TriedNode| blocks.saturating_sub(node.blocks.len() as u32);
        let meant = self.nodes.iter().filter(|node| node.problem.is_none() && missing(node) > 0 && is_meant(node));
        meant.map(|node| PlannedVisit { node: node.name.clone(), blocks: missing(node) }).collect()
    }

    /// Chooses the blocks with which an effect of the margin is proven on as many nodes as answered, from the noise of their first blocks.
    fn choose_blocks(&self) -> u32 {
        let noises: Vec<f64> = judge_nodes(self)
            .iter()
            .flatten()
            .flat_map(|judged| judged.arms.iter().flatten())
            .map(NodeRuns::finished_gains)
            .filter(|gains| gains.len() > 1)
            .map(|gains| robust_noise(&gains[..gains.len().min(FIRST_BLOCKS as usize)]))
            .collect();
        if noises.is_empty() {
            return FIRST_BLOCKS;
        }
        blocks_for_noise(&self.policy, self.candidates(), self.nodes.len(), median(&noises))
    }
}

/// Returns the blocks of a node by which an effect of the margin is proven with this noise of a gain.
fn blocks_for_noise(policy: &JudgingPolicy, candidates: usize, nodes: usize, noise: f64) -> u32 {
    let margin = policy.margin_of(policy.what);
    let needed = (candidates as f64 / policy.error_rate).ln() + COST_OF_MIXTURE;
    let signal = if nodes >= fewest_units(policy, candidates) {
        signal_for_proof(nodes as f64, needed)
    } else {
        signal_for_proof(f64::from(MOST_BLOCKS), needed)
    };
    let blocks = (signal * noise / margin.max(f64::MIN_POSITIVE)).powi(2).ceil();
    blocks.clamp(f64::from(FIRST_BLOCKS), f64::from(MOST_BLOCKS)) as u32
}

/// Returns the effect, in standard deviations of a unit's gain, at which a number of units bring the needed logarithm of the wealth.
fn signal_for_proof(units: f64, needed: f64) -> f64 {
    const LARGEST: f64 = 4.0;
    const HALVINGS: u32 = 30;
    let (mut low, mut high) = (0.0, LARGEST);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if units * growth_of_wealth(middle) < needed { low = middle } else { high = middle }
    }
    high
}

/// Returns the expected logarithm of the best bet's factor for a normal gain around `signal`: `ln(2 / (1 + exp(-2 signal gain)))`.
fn growth_of_wealth(signal: f64) -> f64 {
    const STEPS: i32 = 60;
    let points = (-STEPS..=STEPS).map(|step| f64::from(step) / 10.0);
    let (mut sum, mut total) = (0.0, 0.0);
    for deviation in points {
        let weight = (-deviation * deviation / 2.0).exp();
        sum += weight * (2.0_f64.ln() - (-2.0 * signal * (signal + deviation)).exp().ln_1p());
        total += weight;
    }
    sum / total
}

/// Returns the nodes with answers that further blocks may change.
fn open_nodes<'a>(experiment: &'a FleetExperiment, found: &'a FleetExperimentConclusions) -> Vec<&'a str> {
    if matches!(found.verdict, FleetVerdict::Unsound { .. }) {
        return Vec::new();
    }
    if is_open(&found.this_kind.verdict) && found.these_nodes.as_ref().is_some_and(|these| is_open(&these.verdict)) {
        return experiment.nodes.iter().map(|node| node.name.as_str()).collect();
    }
    let matters = MATERIAL_SPREAD * experiment.policy.margin_of(experiment.policy.what);
    let differs = |arm: usize| {
        let arm = &found.arms[arm - 1];
        arm.equal_probability.is_some_and(|probability| probability <= SUSPECTED)
            && arm.spread.is_some_and(|spread| spread.deviation >= matters)
    };
    let is_open_there = |node: &&NodeConclusion| {
        node.arms.iter().any(|arm| !arm.verdict.is_proven() && differs(arm.arm) && may_be_proven(node.blocks, arm))
    };
    found.nodes.iter().filter(is_open_there).map(|node| node.name.as_str()).collect()
}

/// Returns true if a node's evidence, should it keep growing at its rate, is proof within the limit of blocks.
fn may_be_proven(blocks: usize, arm: &NodeArmConclusion) -> bool {
    let growth = arm.e_better.max(arm.e_not_better_by_margin).ln() / blocks as f64;
    blocks < FORESEEABLE || growth * f64::from(MOST_BLOCKS) >= PROOF_OF_A_NODE.ln()
}

fn is_open(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Undecided { .. })
}

/// Doubles a node's blocks, up to the limit.
fn more_blocks(node: &TriedNode) -> u32 {
    let now = node.blocks.len() as u32;
    (2 * now).min(MOST_BLOCKS).saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_nodes_need_fewer_blocks_each() {
        let policy = JudgingPolicy::default();
        let blocks = [8, 16, 32, 64].map(|nodes| blocks_for_noise(&policy, 1, nodes, 0.2));
        assert!(blocks.windows(2).all(|pair| pair[1] < pair[0]), "{blocks:?}");
        assert_eq!(blocks_for_noise(&policy, 1, 16, 0.005), FIRST_BLOCKS);
        assert_eq!(blocks_for_noise(&policy, 1, 16, 10.0), MOST_BLOCKS);
    }

    #[test]
    fn the_growth_of_wealth_is_between_nothing_and_doubling() {
        let growths = [0.0, 0.5, 1.0, 2.0, 4.0].map(growth_of_wealth);
        assert!(growths[0].abs() < 1e-12 && growths[4] < 2.0_f64.ln() && growths[4] > 0.99 * 2.0_f64.ln());
        assert!(growths.windows(2).all(|pair| pair[0] < pair[1]), "{growths:?}");
    }
}
