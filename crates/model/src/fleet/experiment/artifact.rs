//! An experiment over many machines as a stored result.

use super::{FleetExperiment, FleetExperimentConclusions, TriedNode, conclude_fleet_experiment};
use crate::Artifact;
use crate::artifact::{ArtifactCircumstances, ArtifactOrigin, ArtifactSummary, check_numbers, format_count};
use crate::credentials::join_words;
use crate::fleet::visit_report::{check_node_name, check_text};
use crate::trend::TrendValue;

/// Maximum number of nodes, of placements, and of blocks of all nodes, of an experiment that comes from a file.
const MOST_NODES: usize = 10_000;
const MOST_ARMS: usize = 64;
const MOST_BLOCKS: usize = 200_000;

impl Artifact for FleetExperiment {
    const KIND: &'static str = "fleet-experiment";
    const SCHEMA: &'static str = "corewise/fleet-experiment/1";
    const OF_ONE_MACHINE: bool = false;
    type Conclusions = FleetExperimentConclusions;

    fn check_loaded(&self) -> Result<(), String> {
        check_numbers(self)?;
        self.policy.check_loaded()?;
        if self.arms.len() < 2 || self.arms.len() > MOST_ARMS {
            return Err("it has no placements, or too many".to_owned());
        }
        let blocks: usize = self.nodes.iter().map(|node| node.blocks.len()).sum();
        if self.nodes.len() > MOST_NODES || blocks > MOST_BLOCKS {
            return Err(format!("it has more than {MOST_NODES} nodes or {MOST_BLOCKS} blocks"));
        }
        self.arms.iter().flat_map(|arm| [&arm.name, &arm.reason]).try_for_each(|text| check_text("placement", text))?;
        self.nodes.iter().try_for_each(|node| self.check_node(node))
    }

    fn circumstances(&self) -> ArtifactCircumstances<'_> {
        ArtifactCircumstances {
            machine: None,
            started_unix_ms: self.provenance.started_unix_ms,
            corewise: &self.provenance.corewise,
            seed: self.provenance.seed,
            partial: self.provenance.partial,
        }
    }

    fn origin(&self) -> &ArtifactOrigin {
        &self.provenance.origin
    }

    fn origin_mut(&mut self) -> &mut ArtifactOrigin {
        &mut self.provenance.origin
    }

    fn describe_contents(&self) -> String {
        format!("{} on {}", join_words(&self.workload.command), format_count(self.nodes.len(), "node"))
    }

    fn draw_conclusions(&self) -> FleetExperimentConclusions {
        conclude_fleet_experiment(self)
    }

    /// Returns the effect of each placement on the typical node.
    fn trend_values(&self) -> Vec<TrendValue> {
        let quantity = format!("{}: better on the typical node, %", self.workload.metric.name);
        let percent = |effect: f64| 100.0 * effect.exp_m1();
        let of_arm = |arm: corewise_statistics::experiment::UnitArmStanding| {
            let effect = arm.effect?;
            Some(TrendValue {
                quantity: quantity.clone(),
                of: self.arms.get(arm.arm)?.name.clone(),
                value: percent(effect.estimate),
                interval: Some([effect.low, effect.high].map(|end| end.map(percent))),
            })
        };
        conclude_fleet_experiment(self).this_kind.arms.into_iter().filter_map(of_arm).collect()
    }

    fn is_followed_with(&self, other: &ArtifactSummary) -> bool {
        other.what == self.describe_contents()
    }
}

impl FleetExperiment {
    fn check_node(&self, node: &TriedNode) -> Result<(), String> {
        check_node_name(&node.name)?;
        let reason = node.problem.iter().map(|problem| &problem.reason);
        let settings = node.settings.iter().flat_map(|(name, value)| [name, value]);
        let guards = node.worse_guards.iter().map(|guard| &guard.guard);
        reason
            .chain(settings)
            .chain(guards)
            .chain([&node.fingerprint])
            .try_for_each(|text| check_text("text", text))?;
        let mut runs = node.blocks.iter().flat_map(|block| &block.runs);
        let has_cpus = node.cpus.is_empty() || node.cpus.len() == self.arms.len();
        let guards_fit = node.worse_guards.iter().all(|guard| guard.arm < self.arms.len());
        if !has_cpus || !guards_fit || !runs.all(|run| run.arm < self.arms.len()) {
            return Err(format!("a run of {} is none of its placements", node.name));
        }
        let is_twice = |block: &corewise_statistics::experiment::RunBlock| {
            let mut arms: Vec<usize> = block.runs.iter().map(|run| run.arm).collect();
            arms.sort_unstable();
            arms.windows(2).any(|pair| pair[0] == pair[1])
        };
        if node.blocks.iter().any(is_twice) {
            Err(format!("a block of {} has a placement twice", node.name))
        } else {
            Ok(())
        }
    }
}
