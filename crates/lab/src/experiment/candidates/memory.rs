//! Placements with memory policies, crossed only as far as their effects differ.

use corewise_machine::CpuSet;
use corewise_machine::placement::memory::{MemoryMode, MemoryPolicy, comes_to, policies_to_try};
use corewise_model::trial::{ArmMemory, MEMORY_SIGN, PlacementArm};
use corewise_sys::memory_policy;

use super::{ASKED_FOR, CandidatePlanner};
use crate::experiment::choice::OS_WORD;
use crate::experiment::error::ExperimentError;
use crate::placement::memory_to_try;

impl CandidatePlanner<'_> {
    /// Returns a placement, or the OS default, with a memory policy.
    pub(super) fn arm_with_memory(
        &self,
        placement: Option<&PlacementArm>,
        policy: &MemoryPolicy,
        reason: &str,
    ) -> Result<PlacementArm, ExperimentError> {
        let memory = memory_to_try(policy, self.machine)?;
        let name = placement.map_or(OS_WORD, |arm| &arm.name);
        let cpus = placement.and_then(|arm| arm.cpus.clone());
        Ok(PlacementArm {
            memory: Some(memory),
            ..PlacementArm::new(format!("{name} {MEMORY_SIGN} {policy}"), cpus, reason)
        })
    }

    /// Returns the OS default and each placement without a memory policy, with each of the policies.
    pub(super) fn cross_with_memory(
        &self,
        placements: &[PlacementArm],
        policies: &[MemoryPolicy],
    ) -> Result<Vec<PlacementArm>, ExperimentError> {
        if let Some(arm) = placements.iter().find(|arm| !arm.roles.is_empty() && !policies.is_empty()) {
            return Err(ExperimentError::MemoryOfRoles(arm.name.clone()));
        }
        let plain = || placements.iter().filter(|arm| arm.memory.is_none() && arm.cpus.is_some());
        let pairs = |policy| std::iter::once(None).chain(plain().map(Some)).map(move |placement| (placement, policy));
        let arms = policies.iter().flat_map(pairs);
        arms.map(|(placement, policy)| self.arm_with_memory(placement, policy, ASKED_FOR)).collect()
    }

    /// Returns the policies that are worth trying on several memory nodes, each with the OS default and with the largest placement
    /// within one node. Other placements on several nodes differ from the first in their cpus alone, which are tried without a policy.
    pub(super) fn planned_with_memory(&self, placements: &[PlacementArm]) -> Vec<PlacementArm> {
        let nodes = &self.machine.nodes;
        let is_in_one_node = |arm: &&PlacementArm| {
            arm.cpus.as_ref().is_some_and(|cpus| nodes.iter().any(|node| cpus.is_subset(&node.cpus)))
        };
        let cpus = |arm: &&PlacementArm| arm.cpus.as_ref().map_or(0, CpuSet::len);
        let largest = placements.iter().rev().filter(is_in_one_node).max_by_key(cpus);
        let policies = policies_to_try(self.machine, self.node_weights().as_deref());
        let pairs = |placement| policies.iter().map(move |found| (placement, found));
        let pairs = pairs(None).chain(largest.map(Some).into_iter().flat_map(pairs));
        // Policies that the kernel refuses are not planned.
        pairs
            .filter_map(|(placement, found)| self.arm_with_memory(placement, &found.policy, found.reason).ok())
            .collect()
    }

    /// Returns how nodes are chosen, and among which, for a program on these cpus, or on all if there are none.
    pub(super) fn memory_effect(&self, cpus: Option<&CpuSet>, memory: Option<&ArmMemory>) -> (MemoryMode, CpuSet) {
        let cpus = cpus.unwrap_or(&self.machine.allowed);
        let (mode, nodes) = match memory {
            Some(memory) => (memory.policy_mode(), memory.nodes.clone()),
            None => (None, CpuSet::new()),
        };
        let weights = memory_policy::interleave_weights(&nodes.iter().collect::<Vec<_>>());
        comes_to(self.machine, cpus, mode, &nodes, weights.as_deref())
    }

    /// Returns the kernel's interleave weights of the nodes with memory.
    fn node_weights(&self) -> Option<Vec<u32>> {
        let with_memory = self.machine.nodes.iter().filter(|node| self.machine.has_memory(node));
        memory_policy::interleave_weights(&with_memory.map(|node| node.number).collect::<Vec<_>>())
    }
}
