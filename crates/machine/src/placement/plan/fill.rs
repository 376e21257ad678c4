//! Completes the classes of a size: if there are few enough to try all, finds one of each that no pattern has proposed.

use std::collections::{HashSet, VecDeque};

use super::classifier::SetClassifier;
use super::count::ExactCount;
use super::planner_machine::PlannerMachine;
use super::proposals::{PlacementProposal, ProposalKind};
use super::reason;
use crate::{CpuSet, Level};

/// Adds the missing classes if all of them fit beside the proposals of other sizes.
///
/// Every set is reached from any other by exchanging one cpu at a time, so such exchanges lead from the known classes to the others.
pub fn fill_missing_classes(
    found: &mut Vec<PlacementProposal>,
    size: usize,
    classes: ExactCount,
    most: usize,
    scene: &PlannerMachine<'_>,
    classifier: &mut SetClassifier<'_>,
) {
    let mut open: VecDeque<CpuSet> =
        found.iter().map(|proposal| &proposal.cpus).filter(|cpus| cpus.len() == size).cloned().collect();
    let others = found.len() - open.len();
    let all_fit = classes.exact().is_some_and(|classes| classes <= most.saturating_sub(others) as u128);
    if !all_fit {
        return;
    }
    let mut seen: HashSet<usize> = open.iter().map(|cpus| classifier.class_of(cpus)).collect();
    while let Some(cpus) = open.pop_front() {
        for neighbour in neighbour_sets(&cpus, classifier) {
            if ExactCount::from(seen.len()) == classes {
                return;
            }
            if seen.insert(classifier.class_of(&neighbour)) {
                found.push(unnamed_proposal(&neighbour, scene));
                open.push_back(neighbour);
            }
        }
    }
}

/// Returns the sets with one cpu exchanged for another: one of each class.
fn neighbour_sets(cpus: &CpuSet, classifier: &mut SetClassifier<'_>) -> Vec<CpuSet> {
    let mut neighbours = Vec::new();
    // Any cpu of a sort may go or come: a symmetry takes one to the other and leaves the rest.
    for out in classifier.distinct_cpus(cpus).into_iter().filter(|cpu| cpus.contains(*cpu)) {
        let mut rest = cpus.clone();
        rest.remove(out);
        for into in classifier.distinct_cpus(&rest).into_iter().filter(|cpu| !rest.contains(*cpu)) {
            let mut exchanged = rest.clone();
            exchanged.insert(into);
            neighbours.push(exchanged);
        }
    }
    neighbours
}

/// Builds the proposal for a set without a name.
fn unnamed_proposal(cpus: &CpuSet, scene: &PlannerMachine<'_>) -> PlacementProposal {
    let machine = scene.machine();
    let mut levels = scene.distinct_levels(&scene.usable);
    levels.reverse();
    let shares =
        |level: Level| scene.objects_in_pool(level, cpus).iter().map(|(_, cpus)| cpus.len()).collect::<Vec<usize>>();
    let touched: Vec<(Level, usize)> = levels.iter().map(|level| (*level, shares(*level).len())).collect();
    let mut of_innermost = levels.iter().find(|level| **level < Level::Core).map_or(Vec::new(), |level| shares(*level));
    of_innermost.sort_unstable_by(|a, b| b.cmp(a));
    let kinds: Vec<_> = machine.kinds.iter().map(|kind| (kind.core_type, kind.cpus.intersection(cpus).len())).collect();
    let bare = cpus.iter().filter(|cpu| scene.lacks_memory(&CpuSet::from_cpu(*cpu))).count();
    PlacementProposal {
        sort: ProposalKind::Other,
        expression: Some(cpus.to_string()),
        cpus: cpus.clone(),
        reason: reason::reason_of_other(&touched, &of_innermost, &kinds, bare),
    }
}
