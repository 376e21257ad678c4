//! One experiment over many machines: the same command and the same placement expressions on each node of a fleet.
//!
//! [`FleetExperiment`] holds what was observed; [`conclude_fleet_experiment`] says what it proves, and for which machines.
//! docs/fleets.md explains the method.

mod artifact;
mod conclude;
mod plan;
mod proofs;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NodeProblem;
use crate::artifact::ArtifactProvenance;
use crate::experiment_record::ExperimentRecord;
use crate::trial::{Experiment, PlacementArm, TriedWorkload, experiment_standing, trial_blocks};
pub use conclude::{
    FIRST_BLOCKS, FleetArmConclusion, FleetExperimentConclusions, FleetVerdict, NodeArmConclusion, NodeConclusion,
    conclude_fleet_experiment,
};
use corewise_statistics::experiment::{BlockRun, GuardVerdict, JudgingPolicy, RunBlock};
pub use plan::PlannedVisit;
pub use settings::{SettingGroup, SettingSplit};

/// One experiment over many machines, as observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetExperiment {
    /// Its origin.
    pub provenance: ArtifactProvenance,
    /// The command and its metrics, as on the first node that answered.
    pub workload: TriedWorkload,
    /// The placements by name, the baseline first; absent ones of a node were not tried there.
    pub arms: Vec<FleetArm>,
    /// Rules by which it is judged. The error rate is that of each kind of claim: about this kind of machine, about these nodes, and about
    /// single nodes.
    pub policy: JudgingPolicy,
    /// Number of blocks of a node with which it counts for its kind; absent before the first wave is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_per_node: Option<u32>,
    /// Number of times that its results were looked at.
    pub looks: u32,
    /// The nodes, in the random order in which they count.
    pub nodes: Vec<TriedNode>,
    /// The options of `corewise fleet try` that made it, except for the number of nodes and the budget; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by: Vec<String>,
}

/// A placement that is tried on all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetArm {
    /// Its name: "OS default", or the placement as it was typed.
    pub name: String,
    /// Reason to try it.
    pub reason: String,
}

/// A node and its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedNode {
    /// Its name, as Slurm or ssh knows it.
    pub name: String,
    /// The fingerprint of its machine; equal for machines of one model, and empty before it answered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// Its processor and settings by name: kernel, microcode, governors, SMT.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The cpus of each placement there; absent for the OS default, and for a placement that was not tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<Option<CpuSet>>,
    /// The blocks of all its visits, in order; arms are places in [`FleetExperiment::arms`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<RunBlock>,
    /// Guards that its own runs prove to be worse, by their name, with the arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worse_guards: Vec<WorseGuard>,
    /// The reason why its last visit gave no result; absent if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<NodeProblem>,
}

/// A guard that is worse on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorseGuard {
    /// Name of its metric.
    pub guard: String,
    /// Place of the placement in [`FleetExperiment::arms`].
    pub arm: usize,
}

/// Reason why a node's experiment is not one of the fleet's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignRecord {
    /// Its command, its metric or its policy is another.
    OtherWorkload,
    /// It has no placement in common with the first one but the baseline.
    OtherPlacements,
}

impl FleetArm {
    /// Returns its name in a sentence: "cpu 3" and "cpus 0-3" if the name consists of numbers.
    pub fn spoken_name(&self) -> String {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self.name.split([',', '-']).all(is_number) {
            true if is_number(&self.name) => format!("cpu {}", self.name),
            true => format!("cpus {}", self.name),
            false => self.name.clone(),
        }
    }
}

impl FleetExperiment {
    /// Returns true if another one has the same observations: both were made of the same runs.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        let provenance = ArtifactProvenance { elapsed_s: 0.0, budget_s: 0.0, ..self.provenance.clone() };
        let of_other = ArtifactProvenance { elapsed_s: 0.0, budget_s: 0.0, ..other.provenance.clone() };
        provenance == of_other
            && self.workload == other.workload
            && self.arms == other.arms
            && self.nodes == other.nodes
    }

    /// Creates an experiment over these nodes, before any of them answered. `first` is an experiment as each node will make it.
    pub fn new(provenance: ArtifactProvenance, first: &Experiment, nodes: &[String]) -> Self {
        let arm = |arm: &PlacementArm| FleetArm { name: arm.name.clone(), reason: arm.reason.clone() };
        let node = |name: &String| TriedNode { name: name.clone(), ..TriedNode::default() };
        Self {
            provenance,
            workload: first.workload.clone(),
            arms: first.arms.iter().map(arm).collect(),
            policy: policy_of_fleet(&first.policy),
            blocks_per_node: None,
            looks: 0,
            nodes: nodes.iter().map(node).collect(),
            made_by: Vec::new(),
        }
    }

    /// Returns the number of candidates.
    pub fn candidates(&self) -> usize {
        self.arms.len().saturating_sub(1)
    }

    /// Adds the blocks that a visit of a node made, and takes back the node's problem. The node is added if it is new.
    ///
    /// # Errors
    /// If it is another experiment.
    pub fn add_record(&mut self, node: &str, record: &ExperimentRecord) -> Result<(), ForeignRecord> {
        let places = self.match_arms(&record.experiment)?;
        let blocks = trial_blocks(&record.trials, &record.experiment.workload.metric);
        let worse = self.find_worse_guards(record, &places);
        let cpus = self.place_cpus(&record.experiment, &places);
        let node = self.find_or_add_node(node);
        node.fingerprint = record.experiment.machine.fingerprint();
        node.settings = describe_settings(&record.experiment.machine);
        node.cpus = cpus;
        node.worse_guards = worse;
        node.problem = None;
        let is_run = |block: &RunBlock| !block.runs.is_empty();
        node.blocks.extend(blocks.into_iter().filter(is_run).map(|block| renumber_arms(block, &places)));
        Ok(())
    }

    /// Notes that a visit of a node gave no result.
    pub fn add_problem(&mut self, node: &str, problem: NodeProblem) {
        self.find_or_add_node(node).problem = Some(problem);
    }

    /// Returns the fleet's place of each of a node's arms; `None` for a placement that only this node tried.
    fn match_arms(&self, experiment: &Experiment) -> Result<Vec<Option<usize>>, ForeignRecord> {
        let workload = TriedWorkload { folder: self.workload.folder.clone(), ..experiment.workload.clone() };
        if !workload.is_measured_like(&self.workload)
            || policy_of_fleet(&experiment.policy) != self.policy
            || experiment.arms.first().map(|arm| &arm.name) != self.arms.first().map(|arm| &arm.name)
        {
            return Err(ForeignRecord::OtherWorkload);
        }
        let place = |name: &str| self.arms.iter().position(|arm| arm.name == name);
        let places: Vec<Option<usize>> = experiment.arms.iter().map(|arm| place(&arm.name)).collect();
        if places.iter().flatten().count() < 2 { Err(ForeignRecord::OtherPlacements) } else { Ok(places) }
    }

    fn place_cpus(&self, experiment: &Experiment, places: &[Option<usize>]) -> Vec<Option<CpuSet>> {
        let mut cpus = vec![None; self.arms.len()];
        for (arm, place) in experiment.arms.iter().zip(places) {
            if let Some(place) = place {
                cpus[*place].clone_from(&arm.cpus);
            }
        }
        cpus
    }

    fn find_worse_guards(&self, record: &ExperimentRecord, places: &[Option<usize>]) -> Vec<WorseGuard> {
        if self.workload.guards.is_empty() {
            return Vec::new();
        }
        let standing = experiment_standing(&record.experiment, &record.trials);
        let worse = standing.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Worse);
        worse
            .filter_map(|guard| {
                let name = self.workload.guards.get(guard.guard)?.name.clone();
                Some(WorseGuard { guard: name, arm: (*places.get(guard.arm)?)? })
            })
            .collect()
    }

    fn find_or_add_node(&mut self, name: &str) -> &mut TriedNode {
        let place = self.nodes.iter().position(|node| node.name == name).unwrap_or_else(|| {
            self.nodes.push(TriedNode { name: name.to_owned(), ..TriedNode::default() });
            self.nodes.len() - 1
        });
        &mut self.nodes[place]
    }
}

impl TriedNode {
    /// Returns the arms that were run there, in order; the baseline is the first.
    pub(crate) fn run_arms(&self) -> Vec<usize> {
        let mut arms: Vec<usize> = self.blocks.iter().flat_map(|block| &block.runs).map(|run| run.arm).collect();
        arms.sort_unstable();
        arms.dedup();
        arms
    }

    /// Returns its blocks with the arms that were run there numbered from 0.
    pub(crate) fn numbered_blocks(&self, arms: &[usize]) -> Vec<RunBlock> {
        let places = |arm: usize| arms.binary_search(&arm).ok();
        let of_block = |block: &RunBlock| {
            let runs = block.runs.iter().filter_map(|run| Some(BlockRun { arm: places(run.arm)?, ..*run }));
            RunBlock { runs: runs.collect() }
        };
        self.blocks.iter().map(of_block).collect()
    }

    /// Returns the name of its processor, or its fingerprint.
    pub fn model_name(&self) -> &str {
        self.settings.get(PROCESSOR).unwrap_or(&self.fingerprint)
    }
}

/// Setting that names the processor.
pub const PROCESSOR: &str = "processor";
/// Setting that holds the fingerprint.
pub const MODEL: &str = "model of machine";

/// Returns what a policy says about runs: how a node's session ends is the fleet's plan.
fn policy_of_fleet(policy: &JudgingPolicy) -> JudgingPolicy {
    JudgingPolicy { most_runs: None, least_blocks: 0, expected_noise: None, boots: None, ..policy.clone() }
}

fn renumber_arms(block: RunBlock, places: &[Option<usize>]) -> RunBlock {
    let runs = block.runs.into_iter().filter_map(|run| Some(BlockRun { arm: (*places.get(run.arm)?)?, ..run }));
    RunBlock { runs: runs.collect() }
}

/// Returns the settings in which nodes may differ.
fn describe_settings(machine: &Machine) -> BTreeMap<String, String> {
    let system = &machine.system;
    let named = [
        (PROCESSOR, machine.processor.model_name.clone()),
        (MODEL, Some(machine.fingerprint())),
        ("microcode", machine.processor.microcode.clone()),
        ("kernel", system.kernel.clone()),
        ("hypervisor", system.hypervisor.clone()),
        ("governors", (!system.governors.is_empty()).then(|| system.governors.join(", "))),
        ("cpus", Some(machine.allowed.len().to_string())),
        ("memory nodes", Some(machine.nodes.len().to_string())),
    ];
    let mut settings: BTreeMap<String, String> =
        named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    settings.extend(system.scheduling.clone());
    settings
}
