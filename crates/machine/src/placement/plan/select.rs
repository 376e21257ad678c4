//! Selects the proposals that differ most, in order from the least to the most restrictive.

use super::planner_machine::PlannerMachine;
use super::proposals::{PlacementProposal, ProposalKind};
use crate::facts::CoreType;
use crate::{CpuSet, Level};

/// Selects at most `most` proposals. The operating system's choice and the proposals without a core come first, then the placements in one
/// package, which users of several sockets try first. After that it repeatedly adds the proposal with the largest minimum difference from
/// the selected ones, the earlier of equals.
///
/// The difference is the sum of differences in shares: objects touched at each level, and cpus on each kind of core, stacked cache and
/// memory.
pub fn select_proposals(
    mut found: Vec<PlacementProposal>,
    most: usize,
    scene: &PlannerMachine<'_>,
) -> Vec<PlacementProposal> {
    found.sort_by_key(|proposal| {
        (proposal.sort > ProposalKind::Without, std::cmp::Reverse(proposal.cpus.len()), proposal.sort)
    });
    let shapes: Vec<Vec<f64>> = found.iter().map(|proposal| shape_of(&proposal.cpus, scene)).collect();
    let difference = |a: usize, b: usize| -> f64 { shapes[a].iter().zip(&shapes[b]).map(|(a, b)| (a - b).abs()).sum() };
    let mut kept: Vec<usize> = (0..found.len()).filter(|index| found[*index].sort <= ProposalKind::Without).collect();
    let of_package =
        |sort: ProposalKind| matches!(sort, ProposalKind::Object(Level::Package) | ProposalKind::SpreadInPackage);
    let room = most.saturating_sub(kept.len());
    kept.extend((0..found.len()).filter(|index| of_package(found[*index].sort)).take(room));
    while kept.len() < most.min(found.len()) {
        let least = |index: usize| kept.iter().map(|other| difference(index, *other)).fold(f64::INFINITY, f64::min);
        let left = (0..found.len()).filter(|index| !kept.contains(index)).map(|index| (least(index), index));
        // `max_by` returns the last of equal maxima, so the order is reversed.
        let Some((_, farthest)) = left.rev().max_by(|(a, _), (b, _)| a.total_cmp(b)) else { break };
        kept.push(farthest);
    }
    let mut index = 0..;
    found.retain(|_| index.next().is_some_and(|index| kept.contains(&index)));
    found
}

/// Returns the shares of some cpus in each level, each kind of core, stacked cache and memory.
fn shape_of(cpus: &CpuSet, scene: &PlannerMachine<'_>) -> Vec<f64> {
    let machine = scene.machine();
    let mut shape: Vec<f64> = Vec::new();
    for level in machine.levels_present().filter(|level| *level != Level::Cpu) {
        let all = scene.objects_in_pool(level, &scene.usable).len();
        shape.push(scene.objects_in_pool(level, cpus).len() as f64 / all.max(1) as f64);
    }
    shape.push(cpus.len() as f64 / scene.usable.len().max(1) as f64);
    let share = |of: CpuSet| cpus.intersection(&of).len() as f64 / cpus.len().max(1) as f64;
    for kind in [CoreType::Performance, CoreType::Efficiency, CoreType::LowPower] {
        let kinds = machine.kinds.iter().filter(|other| other.core_type == kind);
        shape.push(share(kinds.flat_map(|kind| kind.cpus.iter()).collect()));
    }
    shape.push(share(machine.llcs.iter().filter(|llc| llc.vcache).flat_map(|llc| llc.cpus.iter()).collect()));
    let bare = machine.nodes.iter().filter(|node| !machine.has_memory(node));
    shape.push(share(bare.flat_map(|node| node.cpus.iter()).collect()));
    shape
}
