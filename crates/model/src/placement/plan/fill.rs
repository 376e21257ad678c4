//! Where the classes of a size are so few that all can be tried, finds one of each that no pattern has proposed.

use std::collections::{HashSet, VecDeque};

use super::class::Classifier;
use super::count::Count;
use super::propose::{Proposal, Sort};
use super::reason;
use super::scene::Scene;
use crate::{CpuSet, Level};

/// Adds the classes that are missing, where all of them fit beside what is not of this size.
///
/// From any set every other is reached by exchanging one cpu at a time, so from the classes that are known the others are
/// found by such exchanges.
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
        for neighbour in neighbours(&cpus, &scene.usable) {
            if Count::from(seen.len()) == classes {
                return;
            }
            if seen.insert(classifier.class(&neighbour)) {
                found.push(between(&neighbour, scene));
                open.push_back(neighbour);
            }
        }
    }
}

/// The sets with one cpu exchanged for another.
fn neighbours<'a>(cpus: &'a CpuSet, usable: &'a CpuSet) -> impl Iterator<Item = CpuSet> + 'a {
    let others = usable.difference(cpus);
    cpus.iter().flat_map(move |out| {
        let exchanged = |into: u32| {
            let mut exchanged = cpus.clone();
            exchanged.remove(out);
            exchanged.insert(into);
            exchanged
        };
        others.iter().map(exchanged).collect::<Vec<_>>()
    })
}

fn between(cpus: &CpuSet, scene: &Scene<'_>) -> Proposal {
    let levels = scene.levels(&scene.usable);
    let level = levels.iter().rev().find(|level| **level < Level::Core).copied().unwrap_or(Level::Core);
    let mut counts: Vec<usize> = scene.objects(level, cpus).iter().map(|(_, cpus)| cpus.len()).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    Proposal {
        sort: Sort::Between,
        expression: Some(cpus.to_string()),
        cpus: cpus.clone(),
        reason: reason::between(level, &counts),
    }
}
