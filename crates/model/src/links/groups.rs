//! Groups of cpus that the costs themselves show: cheap inside, dearer between, and every pair on its side of the line.
//!
//! Average linkage gives nested candidates. A candidate counts if each of its groups costs clearly less inside than to its
//! nearest neighbour, and nearly all pairs lie on the right side of the middle of that step. Distance on a mesh also makes near and far,
//! but a cpu's near ones are not near each other there, so that many pairs lie on the wrong side and no candidate counts.

mod linkage;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Matrix;
use super::map::Unit;
use crate::CpuSet;
use crate::stats::order::median;
use linkage::Merge;

/// Talking to the nearest other group costs at least this much more than inside.
const STEP: f64 = 1.25;
/// At most this share of the pairs, inside and between apart, may lie on the wrong side.
const MISPLACED: f64 = 0.05;
/// Two successive merges of a candidate's dendrogram lie at least this far apart.
const MERGE_STEP: f64 = 1.1;
/// Costs between SMT siblings lie below this: they meet in the first-level cache.
const SIBLINGS_NS: f64 = 20.0;

/// One way to divide the cpus that the costs show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupLevel {
    /// The groups in the order of their lowest cpu; a cpu that belongs to none is a group of its own.
    pub groups: Vec<CpuSet>,
    /// The median cost inside groups, one way, in nanoseconds.
    pub inside_ns: f64,
    /// The median cost between groups.
    pub between_ns: f64,
    /// The smallest step: what talking to the nearest other group costs against inside, over the groups.
    pub step: f64,
    /// The share of pairs that lie on the wrong side of the middle of their step.
    pub misplaced: f64,
}

impl GroupLevel {
    /// "8 groups of 3 cpus", "2 groups of 8 to 12".
    pub fn words(&self, unit: &str) -> String {
        let sizes: Vec<usize> = self.groups.iter().map(CpuSet::len).collect();
        let (least, most) = (sizes.iter().min().unwrap_or(&0), sizes.iter().max().unwrap_or(&0));
        let size = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let plural = if *most == 1 { "" } else { "s" };
        format!("{} groups of {size} {unit}{plural}", self.groups.len())
    }
}

/// The levels of groups in a matrix, innermost first; empty where the costs show one group. `measured` is what was measured of it: the rest
/// may say who belongs together, but only what was measured proves it.
pub fn levels(matrix: &Matrix, measured: &Matrix) -> Vec<GroupLevel> {
    let places: Vec<usize> = (0..matrix.len()).collect();
    if places.len() < 3 {
        return Vec::new();
    }
    let merges = linkage::average(matrix);
    let mut levels = Vec::<GroupLevel>::new();
    for level in candidates(&merges, places.len()).filter_map(|groups| judged(measured, groups)) {
        match levels.last() {
            Some(inner) if level.completes(inner) => *levels.last_mut().expect("there is one") = level,
            Some(inner) if level.leaves_out_some_of(inner) => {}
            _ => levels.push(level),
        }
    }
    levels
}

/// A half of the machine that looks better than the other: several groups that talk for less among themselves than the groups of the rest do.
/// That is what a line that is used for the whole matrix, and lives on one node, makes of two equal nodes.
pub fn favoured_half(matrix: &Matrix, measured: &Matrix) -> Option<CpuSet> {
    let inner = levels(matrix, measured).into_iter().next_back()?;
    let merges = linkage::average(matrix);
    let lopsided = candidates(&merges, matrix.len()).filter_map(|groups| judged(measured, groups)).find(|level| {
        let joined = level.parts(&inner).filter(|parts| parts.len() > 1).count();
        joined == 1 && level.leaves_out_some_of(&inner)
    })?;
    let largest = lopsided.groups.into_iter().max_by_key(CpuSet::len)?;
    // About half: what is joined otherwise is a part of the machine.
    (3..=5).contains(&(8 * largest.len() / matrix.len().max(1))).then_some(largest)
}

impl GroupLevel {
    /// The groups of an inner level that each group of this one holds, by their sizes.
    fn parts<'a>(&'a self, inner: &'a Self) -> impl Iterator<Item = Vec<usize>> + 'a {
        self.groups.iter().map(|group| {
            let parts = inner.groups.iter().filter(|part| !part.is_disjoint(group));
            parts.map(CpuSet::len).collect()
        })
    }

    /// Whether this is the inner level with cpus taken in that had stood alone there: one pair of siblings may be dearer than the rest.
    fn completes(&self, inner: &Self) -> bool {
        self.parts(inner).all(|parts| parts.iter().filter(|&&size| size > 1).count() <= 1)
    }

    /// Whether some groups of the inner level are joined and others stay as they are. A socket whose lines all live on the other one looks
    /// like that: no level of the machine.
    fn leaves_out_some_of(&self, inner: &Self) -> bool {
        self.parts(inner).any(|parts| parts.len() == 1)
    }
}

/// What the levels of a matrix mean where nothing is known of its cpus: the innermost may be SMT siblings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unnamed {
    /// The level that looks like SMT siblings.
    pub siblings: Option<GroupLevel>,
    /// The levels above.
    pub levels: Vec<GroupLevel>,
}

impl Unnamed {
    /// Twos and fours that talk for less than two cores could are taken for siblings.
    pub fn of(matrix: &Matrix, measured: &Matrix, unit: Unit) -> Self {
        let mut levels = levels(matrix, measured);
        let few = |level: &GroupLevel| {
            let sized = level.groups.iter().filter(|group| matches!(group.len(), 1 | 2 | 4)).count();
            10 * sized >= 8 * level.groups.len() && level.inside_ns < unit.from_ns(SIBLINGS_NS)
        };
        let siblings = levels.first().is_some_and(few).then(|| levels.remove(0));
        Self { siblings, levels }
    }
}

/// The partitions just before a long step of the dendrogram, innermost first, as places by group.
fn candidates(merges: &[Merge], places: usize) -> impl Iterator<Item = Vec<Vec<usize>>> + '_ {
    let steps = merges.windows(2).enumerate().filter(|(_, pair)| pair[1].height >= MERGE_STEP * pair[0].height);
    steps.map(move |(done, _)| linkage::partition(&merges[..=done], places))
}

fn judged(matrix: &Matrix, groups: Vec<Vec<usize>>) -> Option<GroupLevel> {
    let grouped: usize = groups.iter().map(Vec::len).filter(|&size| size > 1).sum();
    if groups.len() < 2 || 2 * grouped < matrix.len() {
        return None;
    }
    let sides = Sides::of(matrix, &groups);
    if groups.iter().enumerate().any(|(group, cores)| cores.len() > 1 && sides.step(group).is_none()) {
        return None;
    }
    let step = sides.smallest_step()?;
    let misplaced = sides.misplaced();
    (step >= STEP && misplaced <= MISPLACED).then(|| GroupLevel {
        inside_ns: median(&sides.inside.concat()),
        between_ns: median(&sides.between.iter().flatten().flatten().copied().collect::<Vec<_>>()),
        step,
        misplaced,
        groups: groups.iter().map(|group| group.iter().map(|&place| matrix.cpus()[place]).collect()).collect(),
    })
}

/// The costs inside each group, and between each two.
struct Sides {
    inside: Vec<Vec<f64>>,
    /// By group and other group, both ways.
    between: Vec<Vec<Vec<f64>>>,
}

impl Sides {
    fn of(matrix: &Matrix, groups: &[Vec<usize>]) -> Self {
        let mut group_of = vec![0; matrix.len()];
        for (group, places) in groups.iter().enumerate() {
            places.iter().for_each(|&place| group_of[place] = group);
        }
        let mut inside = vec![Vec::new(); groups.len()];
        let mut between = vec![vec![Vec::new(); groups.len()]; groups.len()];
        for (i, j, cost) in matrix.known() {
            match (group_of[i], group_of[j]) {
                (a, b) if a == b => inside[a].push(cost),
                (a, b) => {
                    between[a][b].push(cost);
                    between[b][a].push(cost);
                }
            }
        }
        Self { inside, between }
    }

    /// What a group costs inside and to its nearest neighbour; absent for a group of one.
    fn step(&self, group: usize) -> Option<(f64, f64)> {
        let inside = median(&self.inside[group]);
        let medians = self.between[group].iter().filter(|costs| !costs.is_empty()).map(|costs| median(costs));
        let nearest = medians.fold(f64::INFINITY, f64::min);
        (inside.is_finite() && nearest.is_finite()).then_some((inside, nearest))
    }

    fn smallest_step(&self) -> Option<f64> {
        let steps = (0..self.inside.len()).filter_map(|group| self.step(group));
        steps.map(|(inside, nearest)| nearest / inside).min_by(f64::total_cmp)
    }

    /// The larger of two shares: of pairs inside that cost more than the middle of their group's step, and of pairs between that cost
    /// less than that of both their groups.
    fn misplaced(&self) -> f64 {
        let middles: Vec<Option<f64>> = (0..self.inside.len())
            .map(|group| self.step(group).map(|(inside, nearest)| (inside * nearest).sqrt()))
            .collect();
        let (mut inside, mut inside_wrong, mut between, mut between_wrong) = (0, 0, 0, 0);
        for (group, middle) in middles.iter().enumerate() {
            let Some(middle) = middle else { continue };
            inside += self.inside[group].len();
            inside_wrong += self.inside[group].iter().filter(|cost| *cost > middle).count();
            for costs in &self.between[group] {
                between += costs.len();
                between_wrong += costs.iter().filter(|cost| *cost < middle).count();
            }
        }
        let share = |wrong: usize, of: usize| wrong as f64 / of.max(1) as f64;
        share(inside_wrong, inside).max(share(between_wrong, between))
    }
}

#[cfg(test)]
mod tests;
