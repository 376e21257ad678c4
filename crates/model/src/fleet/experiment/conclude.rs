//! Conclusions of an experiment over many machines: of their kind, of these nodes, and of single nodes.

use schemars::JsonSchema;
use serde::Serialize;

use super::proofs::{judge_node, node_evidence, smallest_proof};
use super::settings::{SettingSplit, find_splits};
use super::{FleetExperiment, TriedNode, WorseGuard};
use corewise_statistics::experiment::{
    ArmVerdict, BaselineEffect, EffectSpread, ExperimentDoubt, JudgingPolicy, NodeGains, NodeRuns, QuestionKind,
    UnitGain, UnitJudgement, Verdict, find_pooled_carry_over, judge_runs, judge_units,
};

/// Number of blocks of a node's first visit: enough to see the noise.
pub const FIRST_BLOCKS: u32 = 4;

/// Share of the proven nodes from which on an effect is that of a part of the nodes.
const PART_OF_NODES: f64 = 0.2;
/// Separates the draws of the two tests.
const SEED_OF_SETTINGS: u64 = 0x5e77_1465;

/// Conclusions of an experiment over many machines.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FleetExperimentConclusions {
    /// The answer that comes first.
    pub verdict: FleetVerdict,
    /// The answer for this kind of machine. The unit is the node, as if it were drawn from all nodes of its kind: effects may differ.
    pub this_kind: UnitJudgement,
    /// The answer for the mean over exactly these nodes. The unit is the round: the nodes' first blocks, their second, and so on. Absent if
    /// the typical run does not decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub these_nodes: Option<UnitJudgement>,
    /// Each candidate over the nodes.
    pub arms: Vec<FleetArmConclusion>,
    /// Each node, in the order in which they count.
    pub nodes: Vec<NodeConclusion>,
    /// Number of nodes that count.
    pub counted: usize,
    /// Blocks with which each of them counts.
    pub blocks_per_node: u32,
}

/// The answer that comes first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FleetVerdict {
    /// A part of the nodes has the effect, and another part is proven not to have it.
    PartOfNodes {
        /// The candidate.
        arm: usize,
        /// Number of nodes on which it is proven better.
        better: usize,
        /// Number of nodes on which it is proven not to be better by the margin.
        not_better: usize,
        /// Number of nodes on which neither is proven.
        open: usize,
    },
    /// The answer for this kind of machine.
    ThisKind {
        /// The answer.
        verdict: Verdict,
    },
    /// For this kind of machine nothing is proven; this is the answer for these nodes alone.
    TheseNodes {
        /// The answer.
        verdict: Verdict,
    },
    /// The experiment cannot be trusted.
    Unsound {
        /// The reasons.
        why: Vec<ExperimentDoubt>,
    },
}

/// A candidate over the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FleetArmConclusion {
    /// Number of the arm, from 1.
    pub arm: usize,
    /// The probability that equal effects on all nodes differ as much by chance; absent for fewer than two nodes.
    pub equal_probability: Option<f64>,
    /// True if the nodes are proven to differ: the probability is small enough for the number of looks and candidates.
    pub differs: bool,
    /// Spread of the true effects; absent for fewer than three nodes.
    pub spread: Option<EffectSpread>,
    /// Number of nodes on which it is proven better.
    pub better: usize,
    /// Number of nodes on which it is proven not to be better by the margin, or failed. Both may be proven: better by less than the margin.
    pub not_better: usize,
    /// Number of nodes on which neither is proven.
    pub open: usize,
    /// The settings that go with the effect, strongest first; empty unless the nodes differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SettingSplit>,
}

/// A node's part in the answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeConclusion {
    /// Its name.
    pub name: String,
    /// Its model: the processor's name.
    pub model: String,
    /// Number of its blocks.
    pub blocks: usize,
    /// The candidates that were tried there.
    pub arms: Vec<NodeArmConclusion>,
    /// Guards that are proven to be worse there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worse_guards: Vec<WorseGuard>,
    /// The reason why it does not count; absent if it does, and before its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A candidate on one node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeArmConclusion {
    /// Number of the arm, from 1.
    pub arm: usize,
    /// Its effect there, from all blocks; absent if it failed.
    pub effect: Option<BaselineEffect>,
    /// The e-value for "better" there.
    pub e_better: f64,
    /// The e-value against "better by the margin or more" there.
    pub e_not_better_by_margin: f64,
    /// Proofs by one error rate over all nodes and candidates: the expected share of false ones among the proven.
    pub verdict: ArmVerdict,
}

/// A node that has runs, judged by itself.
pub(super) struct JudgedNode<'a> {
    node: &'a TriedNode,
    /// The candidates of the fleet; `None` if it was not tried there.
    pub(super) arms: Vec<Option<NodeRuns>>,
}

impl JudgedNode<'_> {
    fn arm(&self, arm: usize) -> Option<&NodeRuns> {
        self.arms.get(arm - 1)?.as_ref()
    }

    /// Returns the gains with which it counts; a placement that makes a guard worse counts as failed. `None` with too few blocks.
    fn unit_gains(&self, blocks: usize) -> Option<Vec<UnitGain>> {
        let gain = |arm: usize| match self.arm(arm) {
            Some(_) if self.node.worse_guards.iter().any(|guard| guard.arm == arm) => UnitGain::Failed,
            Some(runs) => runs.gain_of_first(blocks).unwrap_or(UnitGain::Absent),
            None => UnitGain::Absent,
        };
        let gains: Vec<UnitGain> = (1..=self.arms.len()).map(gain).collect();
        gains.iter().any(|gain| *gain != UnitGain::Absent).then_some(gains)
    }
}

/// Judges each node by itself, in their order: `None` for nodes without runs, or on which the baseline keeps failing.
pub(super) fn judge_nodes(experiment: &FleetExperiment) -> Vec<Option<JudgedNode<'_>>> {
    experiment.nodes.iter().map(|node| judge_one(experiment, node)).collect()
}

fn judge_one<'a>(experiment: &FleetExperiment, node: &'a TriedNode) -> Option<JudgedNode<'a>> {
    let run = node.run_arms();
    let candidates = run.len().checked_sub(1)?;
    let judged = judge_runs(&experiment.policy, candidates, &node.numbered_blocks(&run))?;
    let mut arms = vec![None; experiment.candidates()];
    for (arm, runs) in run[1..].iter().zip(judged) {
        *arms.get_mut(arm - 1)? = Some(runs);
    }
    Some(JudgedNode { node, arms })
}

/// Draws the conclusions of an experiment over many machines.
pub fn conclude_fleet_experiment(experiment: &FleetExperiment) -> FleetExperimentConclusions {
    let judged = judge_nodes(experiment);
    let blocks = experiment.blocks_per_node.unwrap_or(FIRST_BLOCKS);
    let units = units_of_nodes(experiment, &judged, blocks as usize);
    let this_kind = judge_units(&experiment.policy, experiment.candidates(), &units);
    let known: Vec<&JudgedNode> = judged.iter().flatten().collect();
    let these_nodes = judge_these_nodes(experiment, &known, blocks as usize);
    let proof = proof_over_nodes(experiment, &known);
    let arms: Vec<FleetArmConclusion> =
        (1..=experiment.candidates()).map(|arm| conclude_arm(experiment, &known, arm, proof)).collect();
    let nodes = experiment.nodes.iter().zip(&judged).map(|(node, judged)| conclude_node(node, judged.as_ref(), proof));
    FleetExperimentConclusions {
        verdict: first_verdict(experiment, &arms, &this_kind, these_nodes.as_ref()),
        counted: units.len(),
        blocks_per_node: blocks,
        nodes: nodes.collect(),
        this_kind,
        these_nodes,
        arms,
    }
}

/// Returns the gains of the nodes that count. Nodes count in their order, which was drawn: a fast node does not overtake another that is still
/// at work.
fn units_of_nodes(experiment: &FleetExperiment, judged: &[Option<JudgedNode>], blocks: usize) -> Vec<Vec<UnitGain>> {
    let is_at_work = |node: &TriedNode| node.problem.is_none() && node.blocks.len() < blocks;
    let ready = experiment.nodes.iter().zip(judged).take_while(|(node, _)| !is_at_work(node));
    ready.filter_map(|(_, judged)| judged.as_ref()?.unit_gains(blocks)).collect()
}

/// Judges the mean over these nodes. In a round both orders of the two runs were equally likely on each node. So under "better by theta_n on
/// node n", the mean of the gains is equally likely above and below the mean of the thetas, for any thetas.
fn judge_these_nodes(experiment: &FleetExperiment, judged: &[&JudgedNode], blocks: usize) -> Option<UnitJudgement> {
    if experiment.policy.what != QuestionKind::Typical {
        return None;
    }
    let rounds: Vec<Vec<f64>> = (1..=experiment.candidates()).map(|arm| mean_rounds(judged, arm, blocks)).collect();
    let longest = rounds.iter().map(Vec::len).max().unwrap_or_default();
    let unit = |round: usize| -> Vec<UnitGain> {
        rounds.iter().map(|gains| gains.get(round).map_or(UnitGain::Absent, |gain| UnitGain::Known(*gain))).collect()
    };
    let units: Vec<Vec<UnitGain>> = (0..longest).map(unit).collect();
    Some(judge_units(&experiment.policy, experiment.candidates(), &units))
}

/// Returns the mean gain over the nodes in each round that all of them have.
fn mean_rounds(judged: &[&JudgedNode], arm: usize, blocks: usize) -> Vec<f64> {
    let nodes: Vec<Vec<f64>> = judged
        .iter()
        .filter_map(|node| node.arm(arm).filter(|runs| !runs.has_failed))
        .map(NodeRuns::block_gains)
        .filter(|gains| gains.len() >= blocks)
        .collect();
    let rounds = nodes.iter().map(Vec::len).min().unwrap_or_default();
    (0..rounds).map(|round| nodes.iter().map(|gains| gains[round]).sum::<f64>() / nodes.len() as f64).collect()
}

/// Returns the e-value that is proof on single nodes, over all nodes and candidates.
fn proof_over_nodes(experiment: &FleetExperiment, judged: &[&JudgedNode]) -> f64 {
    let evidence: Vec<f64> =
        judged.iter().flat_map(|node| node.arms.iter().flatten()).flat_map(node_evidence).collect();
    smallest_proof(&evidence, experiment.policy.error_rate)
}

fn conclude_arm(experiment: &FleetExperiment, judged: &[&JudgedNode], arm: usize, proof: f64) -> FleetArmConclusion {
    let tried: Vec<(&TriedNode, &NodeRuns)> =
        judged.iter().filter_map(|node| Some((node.node, node.arm(arm)?))).collect();
    let gains = NodeGains::new(tried.iter().map(|(_, runs)| *runs).filter(|runs| !runs.has_failed));
    let seed = experiment.provenance.seed.wrapping_add(arm as u64);
    let equal_probability = gains.test_equality(seed);
    let error_rate = rate_of_look(&experiment.policy, experiment.looks, experiment.candidates());
    let differs = equal_probability.is_some_and(|probability| probability <= error_rate);
    let verdicts: Vec<ArmVerdict> = tried.iter().map(|(_, runs)| judge_node(runs, proof)).collect();
    let count = |is: fn(ArmVerdict) -> bool| verdicts.iter().filter(|verdict| is(**verdict)).count();
    let effects = tried.iter().filter_map(|(node, runs)| Some((&node.settings, runs.effect?.estimate)));
    FleetArmConclusion {
        arm,
        equal_probability,
        differs,
        spread: gains.estimate_spread(experiment.policy.error_rate),
        better: count(is_better),
        not_better: count(is_not_better),
        open: count(|verdict| !verdict.is_proven()),
        splits: if differs {
            find_splits(&effects.collect::<Vec<_>>(), error_rate, seed ^ SEED_OF_SETTINGS)
        } else {
            Vec::new()
        },
    }
}

/// Returns the part of the error rate for a test at this look: of the n-th look 1 / (n (n + 1)), which add up to 1, divided among the
/// candidates.
fn rate_of_look(policy: &JudgingPolicy, looks: u32, candidates: usize) -> f64 {
    let look = f64::from(looks.max(1));
    policy.error_rate / (look * (look + 1.0)) / candidates.max(1) as f64
}

pub(super) fn is_better(verdict: ArmVerdict) -> bool {
    matches!(verdict, ArmVerdict::Better | ArmVerdict::RealButBelowMargin)
}

pub(super) fn is_not_better(verdict: ArmVerdict) -> bool {
    matches!(verdict, ArmVerdict::NotBetterByMargin | ArmVerdict::Worse | ArmVerdict::Failed)
}

fn conclude_node(node: &TriedNode, judged: Option<&JudgedNode>, proof: f64) -> NodeConclusion {
    let arms = judged.map_or_else(Vec::new, |judged| {
        let tried = (1..).zip(&judged.arms).filter_map(|(arm, runs)| Some((arm, runs.as_ref()?)));
        let of_arm = |(arm, runs): (usize, &NodeRuns)| NodeArmConclusion {
            arm,
            effect: runs.effect,
            e_better: runs.e_better,
            e_not_better_by_margin: runs.e_not_better,
            verdict: judge_node(runs, proof),
        };
        tried.map(of_arm).collect()
    });
    let fails = || "the baseline keeps failing there".to_owned();
    let problem = match (&node.problem, judged) {
        (Some(problem), _) => Some(problem.reason.clone()),
        (None, None) if !node.blocks.is_empty() => Some(fails()),
        _ => None,
    };
    NodeConclusion {
        name: node.name.clone(),
        model: node.model_name().to_owned(),
        blocks: node.blocks.len(),
        arms,
        worse_guards: node.worse_guards.clone(),
        problem,
    }
}

fn first_verdict(
    experiment: &FleetExperiment,
    arms: &[FleetArmConclusion],
    this_kind: &UnitJudgement,
    these_nodes: Option<&UnitJudgement>,
) -> FleetVerdict {
    let blocks = experiment.nodes.iter().map(|node| node.blocks.as_slice());
    if let Some(doubt) = find_pooled_carry_over(&experiment.policy, experiment.candidates(), blocks) {
        return FleetVerdict::Unsound { why: vec![ExperimentDoubt::CarryOver(doubt)] };
    }
    let parted = arms.iter().filter(|arm| is_parted(arm)).max_by_key(|arm| arm.better);
    if let Some(FleetArmConclusion { arm, better, not_better, open, .. }) = parted.cloned() {
        return FleetVerdict::PartOfNodes { arm, better, not_better, open };
    }
    let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Undecided { .. });
    match these_nodes {
        Some(these) if is_open(&this_kind.verdict) && !is_open(&these.verdict) => {
            FleetVerdict::TheseNodes { verdict: these.verdict.clone() }
        }
        _ => FleetVerdict::ThisKind { verdict: this_kind.verdict.clone() },
    }
}

fn is_parted(arm: &FleetArmConclusion) -> bool {
    let least = PART_OF_NODES * (arm.better + arm.not_better) as f64;
    arm.differs && arm.better.min(arm.not_better) > 0 && arm.better.min(arm.not_better) as f64 >= least
}
