//! Completes the classes of a size: if there are few enough to try all, finds one of each that no pattern has proposed.

use std::collections::{HashSet, VecDeque};

use super::class::Classifier;
use super::count::Count;
use super::propose::{Proposal, Sort};
use super::reason;
use super::scene::Scene;
use crate::{CpuSet, Level};

/// Adds the missing classes if all of them fit beside the proposals of other sizes.
///
/// Every set is reached from any other by exchanging one cpu at a time, so such exchanges lead from the known classes to the others.
pub fn fill(
    found: &mut Vec<Proposal>,
    size: usize,
    classes: Count,
    most: usize,
    scene: &Scene<'_>,
    classifier: &mut Classifier<'_>,
) {
    let mut open: VecDeque<CpuSet> =
        found.iter().map(|proposal| &proposal.cpus).filter(|cpus| cpus.len() == size).cloned().collect();
    let others = found.len() - open.len();
    let all_fit = classes.exact().is_some_and(|classes| classes <= most.saturating_sub(others) as u128);
    if !all_fit {
        return;
    }
    let mut seen: HashSet<usize> = open.iter().map(|cpus| classifier.class(cpus)).collect();
    while let Some(cpus) = open.pop_front() {
        for neighbour in neighbours(&cpus, classifier) {
            if Count::from(seen.len()) == classes {
                return;
            }
            if seen.insert(classifier.class(&neighbour)) {
                found.push(other(&neighbour, scene));
                open.push_back(neighbour);
            }
        }
    }
}

/// Returns the sets with one cpu exchanged for another: one of each class.
fn neighbours(cpus: &CpuSet, classifier: &mut Classifier<'_>) -> Vec<CpuSet> {
    let mut neighbours = Vec::new();
    // Any cpu of a sort may go or come: a symmetry takes one to the other and leaves the rest.
    for out in classifier.sorts(cpus).into_iter().filter(|cpu| cpus.contains(*cpu)) {
        let mut rest = cpus.clone();
        rest.remove(out);
        for into in classifier.sorts(&rest).into_iter().filter(|cpu| !rest.contains(*cpu)) {
            let mut exchanged = rest.clone();
            exchanged.insert(into);
            neighbours.push(exchanged);
        }
    }
    neighbours
}

/// Builds the proposal for a set without a name.
fn other(cpus: &CpuSet, scene: &Scene<'_>) -> Proposal {
    let machine = scene.machine();
    let mut levels = scene.levels(&scene.usable);
    levels.reverse();
    let shares = |level: Level| scene.objects(level, cpus).iter().map(|(_, cpus)| cpus.len()).collect::<Vec<usize>>();
    let touched: Vec<(Level, usize)> = levels.iter().map(|level| (*level, shares(*level).len())).collect();
    let mut of_innermost = levels.iter().find(|level| **level < Level::Core).map_or(Vec::new(), |level| shares(*level));
    of_innermost.sort_unstable_by(|a, b| b.cmp(a));
    let kinds: Vec<_> = machine.kinds.iter().map(|kind| (kind.core_type, kind.cpus.intersection(cpus).len())).collect();
    let bare = cpus.iter().filter(|cpu| scene.lacks_memory(&CpuSet::of(*cpu))).count();
    Proposal {
        sort: Sort::Other,
        expression: Some(cpus.to_string()),
        cpus: cpus.clone(),
        reason: reason::other(&touched, &of_innermost, &kinds, bare),
    }
}
