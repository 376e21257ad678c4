//! Groups of cpus in the costs: cheap inside, dearer between, with every pair on its side of the line.
//!
//! Average linkage gives nested candidates. A candidate counts if each of its groups costs clearly less inside than to
//! its nearest neighbour, and nearly all pairs lie on the right side of the middle of that step. Distance on a mesh
//! also makes near and far, but the neighbours of a cpu are not near each other there. So many pairs lie on the wrong
//! side, and no candidate counts.

mod hidden;
mod linkage;
mod resemblance;
mod uneven;

use corewise_machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CostMatrix;
use corewise_statistics::order::median;
pub(super) use hidden::{between_cores, hidden_groups};
use linkage::ClusterMerge;
pub use resemblance::lack_pattern;
pub use uneven::uneven_part;

/// Minimum ratio of the cost to the nearest other group to the cost inside, by the number of cpus. The fewer pairs there
/// are, the larger steps their luck makes: of equal cpus with luck of up to 20 % a pair, fewer than 1 % have a larger one.
const fn least_step(cpus: usize) -> f64 {
    match cpus {
        0..=4 => 2.1,
        5..=8 => 1.5,
        9..=16 => 1.35,
        _ => 1.25,
    }
}
/// The same if most cpus are in no group, which also needs two groups: random groups do not differ by a factor of two.
const STEP_OF_FEW: f64 = 2.0;
/// Maximum share of the pairs on the wrong side, inside and between counted separately.
const MISPLACED: f64 = 0.05;
/// Minimum ratio of two successive merge heights of a candidate's dendrogram.
const MERGE_STEP: f64 = 1.1;
/// Minimum ratio of another core's cost to that of SMT siblings, which meet in the first-level cache. In published
/// matrices two cores that share their way onto a mesh have ratios of 1.7 to 2.0 to the nearest others, siblings of 2.1
/// to 9.
const SIBLINGS_STEP: f64 = 2.05;
/// Maximum median difference of two siblings' costs to a third cpu, for which they are one core. In published matrices
/// costs of siblings differ by 1 to 3 %, costs of two cores of a module by 16 %.
const SIBLINGS_ALIKE: f64 = 0.08;
/// Minimum share of groups of two, if they are siblings: some may be disturbed.
const SIBLINGS_SHARE: f64 = 0.8;

/// A division of the cpus in the costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupLevel {
    /// The groups in the order of their lowest cpu; a cpu without a group is a group of its own.
    pub groups: Vec<CpuSet>,
    /// The smallest ratio, over the groups, of the cost to the nearest other group to the cost inside.
    pub step: f64,
    /// The share of pairs that lie on the wrong side of the middle of their step.
    pub misplaced: f64,
}

/// Minimum ratio of the costs inside a dear group to the costs with all others, by the number of cpus, likewise.
const fn least_dear_step(cpus: usize) -> f64 {
    match cpus {
        0..=4 => 1.8,
        5..=6 => 1.5,
        _ => 1.1,
    }
}
/// Minimum size of a dear group: a random pair is no cluster.
const DEAR_LEAST: usize = 3;
/// Minimum ratio of the rest's cost to that of a cheaper part.
const CHEAPER: f64 = 1.25;
/// Minimum number of pairs in either part: one pair of siblings of a small machine, disturbed or not, is no part of it.
const FEWEST_PAIRS: usize = 3;

impl GroupLevel {
    /// Describes the level: "8 groups of 3 cpus", "2 groups of 8 to 12".
    pub fn describe_level(&self, unit: &str) -> String {
        let sizes: Vec<usize> = self.groups.iter().map(CpuSet::len).collect();
        let (least, most) = (sizes.iter().min().unwrap_or(&0), sizes.iter().max().unwrap_or(&0));
        let size = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let plural = if *most == 1 { "" } else { "s" };
        format!("{} groups of {size} {unit}{plural}", self.groups.len())
    }
}

/// The division of a map into groups, on which all statements about groups are based.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupHierarchy {
    /// The levels, innermost first; empty if the costs show one group.
    pub levels: Vec<GroupLevel>,
    /// A part of the machine with clearly smaller costs inside than the rest, comparing pairs on one level. The
    /// location of a line that is used for the whole matrix, the clock, or the kind of core can cause it; it is no
    /// level of the machine.
    pub cheaper_part: Option<CheaperPart>,
}

/// A part of the machine with smaller costs inside than the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct CheaperPart {
    /// The cpus of the part.
    pub cpus: CpuSet,
    /// Its cost inside: the median over the pairs on the level on which the two differ, one way, in nanoseconds.
    pub inside_ns: f64,
    /// The rest's cost inside, likewise.
    pub rest_ns: f64,
    /// True if the costs show no other group of several cpus.
    pub is_only_group: bool,
}

impl GroupHierarchy {
    /// Computes the hierarchy of a matrix. All costs contribute to its groups, but only `measured` ones prove them.
    pub fn from_matrix(matrix: &CostMatrix, measured: &CostMatrix) -> Self {
        if matrix.len() < 3 {
            return Self::default();
        }
        let merges = linkage::average_linkage(matrix);
        let (mut proved, mut levels) = (Vec::new(), Vec::<GroupLevel>::new());
        for groups in candidate_partitions(&merges, matrix.len()) {
            let Some(level) = judge_groups(measured, &groups, levels.last()) else { continue };
            match levels.last() {
                Some(inner) if level.completes_level(inner) => {
                    *levels.last_mut().expect("there is one") = level.clone()
                }
                Some(inner) if level.leaves_out_some_of(inner) => {}
                _ => levels.push(level.clone()),
            }
            proved.push(level);
        }
        let cheaper_part = cheaper_part(measured, &levels, &proved);
        Self { levels, cheaper_part }
    }

    /// Removes the innermost level if it looks like SMT siblings: pairs with clearly smaller costs than any others, and
    /// alike to all others. This is a guess for maps of unknown machines. It needs only ratios, since the machine's
    /// speed is unknown, and does not depend on the number of cpus without a sibling.
    pub fn take_siblings(&mut self, measured: &CostMatrix) -> Option<GroupLevel> {
        let are_siblings = self.levels.first().is_some_and(|level| level.looks_like_siblings(measured));
        are_siblings.then(|| self.levels.remove(0))
    }
}

/// Finds groups of cpus with larger costs among themselves than with any others, such as efficiency cores of one
/// cluster, as their shared part is slow; an average over all pairs hides it. The rest are groups of one each.
pub fn dear_groups(measured: &CostMatrix) -> Option<GroupLevel> {
    let mut turned = measured.clone();
    // Of two costs the cheaper counts: the pair can communicate at that cost.
    let cheaper = |i, j, cost| measured.two_costs(i, j).map_or(cost, |[cheaper, _]| cheaper);
    measured.known_pairs().for_each(|(i, j, cost)| turned.set_both(i, j, 1.0 / cheaper(i, j, cost)));
    let judge = |groups: Vec<Vec<usize>>| {
        let mut several = groups.iter().filter(|group| group.len() > 1).peekable();
        let are_some = several.peek().is_some() && several.all(|group| group.len() >= DEAR_LEAST);
        let sides = GroupSides::from_groups(&turned, &groups, None).filter(|_| are_some)?;
        let is_level = sides.smallest_step() >= least_dear_step(measured.len()) && sides.misplaced_share() <= MISPLACED;
        is_level.then(|| sides.build_level(measured, &groups))
    };
    candidate_partitions(&linkage::average_linkage(&turned), measured.len()).find_map(judge)
}

/// Returns the part that differs on the innermost possible level: its groups differ, or communication between some of
/// them is cheaper than between others.
fn cheaper_part(measured: &CostMatrix, levels: &[GroupLevel], proved: &[GroupLevel]) -> Option<CheaperPart> {
    let inner = levels.first()?;
    let of_level = |(place, level): (usize, &GroupLevel)| {
        let below = place.checked_sub(1).map(|below| &levels[below]);
        cheaper_groups(measured, level, below)
    };
    let lopsided = |inner: &GroupLevel| {
        let level = proved.iter().find(|level| level.leaves_out_some_of(inner) && level.joins_once(inner))?;
        let part = level.groups.iter().max_by_key(|group| group.len())?;
        CheaperPart::from_part(measured, part, Some(inner))
    };
    let alone = || {
        let mut several = inner.groups.iter().filter(|group| group.len() > 1);
        let (part, None) = (several.next()?, several.next()) else { return None };
        // One half can be the node of the line's memory; a larger group beside a few cores is no such part.
        let is_half_at_most = 8 * part.len() <= 5 * measured.len();
        let found = CheaperPart::from_part(measured, part, None).filter(|_| is_half_at_most)?;
        Some(CheaperPart { is_only_group: true, ..found })
    };
    levels.iter().enumerate().find_map(of_level).or_else(|| levels.iter().find_map(lopsided)).or_else(alone)
}

/// Returns the groups of a level that cost clearly less than all the others of it, in pairs that meet on no level
/// below.
fn cheaper_groups(measured: &CostMatrix, level: &GroupLevel, below: Option<&GroupLevel>) -> Option<CheaperPart> {
    let several = level.groups.iter().filter(|group| group.len() > 1);
    let mut costs: Vec<(f64, &CpuSet)> = several.map(|group| (cost_of(measured, group, below), group)).collect();
    costs.retain(|(cost, _)| cost.is_finite());
    costs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let step = |place: &usize| costs[place + 1].0 / costs[*place].0;
    let last = (0..costs.len().saturating_sub(1)).max_by(|one, other| step(one).total_cmp(&step(other)))?;
    let union = |groups: &[(f64, &CpuSet)]| groups.iter().flat_map(|(_, group)| group.iter()).collect::<CpuSet>();
    let (part, rest) = costs.split_at(last + 1);
    let middle = |groups: &[(f64, &CpuSet)]| median(&groups.iter().map(|(cost, _)| *cost).collect::<Vec<_>>());
    let found = CheaperPart { cpus: union(part), inside_ns: middle(part), rest_ns: middle(rest), is_only_group: false };
    let pairs =
        |groups: &[(f64, &CpuSet)]| groups.iter().map(|(_, group)| group.len() * (group.len() - 1) / 2).sum::<usize>();
    let are_several = pairs(part).min(pairs(rest)) >= FEWEST_PAIRS;
    let is_part = is_part(found.cpus.len(), found.cpus.len() + union(rest).len());
    (step(&last) >= CHEAPER && are_several && is_part).then_some(found)
}

/// Returns a group's cost inside. One cpu is in half of the pairs of four: if it alone makes them dear, it is left out.
fn cost_of(measured: &CostMatrix, group: &CpuSet, below: Option<&GroupLevel>) -> f64 {
    let all = cost_inside(measured, group, below);
    if !(3..=4).contains(&group.len()) {
        return all;
    }
    let without = |cpu| cost_inside(measured, &group.iter().filter(|other| *other != cpu).collect(), below);
    let least = group.iter().map(without).fold(f64::NAN, f64::min);
    if all >= CHEAPER * least { least } else { all }
}

/// Returns the median over the measured pairs of some cpus that do not meet on the level below.
fn cost_inside(measured: &CostMatrix, cpus: &CpuSet, below: Option<&GroupLevel>) -> f64 {
    let places: Vec<usize> = cpus.iter().filter_map(|cpu| measured.place_of(cpu)).collect();
    let group = |place: usize| {
        let cpu = measured.cpus()[place];
        below.and_then(|below| below.groups.iter().position(|group| group.contains(cpu)))
    };
    let of: Vec<Option<usize>> = places.iter().map(|&place| group(place)).collect();
    let pairs = (0..places.len()).flat_map(|i| (i + 1..places.len()).map(move |j| (i, j)));
    let apart = pairs.filter(|&(i, j)| of[i].is_none() || of[i] != of[j]);
    median(
        &apart
            .map(|(i, j)| measured.pair_cost(places[i], places[j]))
            .filter(|cost| cost.is_finite())
            .collect::<Vec<_>>(),
    )
}

/// Returns true if both parts are large enough: one disturbed group of many is no part of the machine.
fn is_part(some: usize, all: usize) -> bool {
    8 * some >= all && 8 * (all - some) >= all
}

impl CheaperPart {
    /// Returns true if the part and the rest of `all` cpus have more than a pair or two, which may be siblings.
    pub fn has_enough_pairs(&self, all: usize) -> bool {
        let pairs = |cpus: usize| cpus * cpus.saturating_sub(1) / 2;
        pairs(self.cpus.len()).min(pairs(all - self.cpus.len())) >= FEWEST_PAIRS
    }

    /// Compares cpus with all others, in pairs that meet on no level below; `None` if the rest is not clearly dearer.
    fn from_part(measured: &CostMatrix, part: &CpuSet, below: Option<&GroupLevel>) -> Option<Self> {
        let rest = measured.cpu_set().difference(part);
        let [inside_ns, rest_ns] = [part, &rest].map(|cpus| cost_inside(measured, cpus, below));
        let is_cheaper = rest_ns >= CHEAPER * inside_ns && is_part(part.len(), measured.len());
        is_cheaper.then(|| Self { cpus: part.clone(), inside_ns, rest_ns, is_only_group: false })
    }
}

impl GroupLevel {
    /// Returns the group of each place of a matrix; `usize::MAX` without one.
    pub(super) fn group_of(&self, matrix: &CostMatrix) -> Vec<usize> {
        let mut of = vec![usize::MAX; matrix.len()];
        for (index, group) in self.groups.iter().enumerate() {
            group.iter().filter_map(|cpu| matrix.place_of(cpu)).for_each(|place| of[place] = index);
        }
        of
    }

    /// Returns the sizes of an inner level's groups within each group of this one.
    fn inner_parts<'a>(&'a self, inner: &'a Self) -> impl Iterator<Item = Vec<usize>> + 'a {
        self.groups.iter().map(|group| {
            let parts = inner.groups.iter().filter(|part| !part.is_disjoint(group));
            parts.map(CpuSet::len).collect()
        })
    }

    /// Returns true if this level only adds single cpus to groups of the inner one: one pair of siblings may be dearer
    /// than the rest. No group becomes larger than the largest was: cores without a sibling are near each other, too.
    fn completes_level(&self, inner: &Self) -> bool {
        let largest = |level: &Self| level.groups.iter().map(CpuSet::len).max();
        largest(self) <= largest(inner)
            && self.inner_parts(inner).all(|parts| parts.iter().filter(|&&size| size > 1).count() <= 1)
    }

    /// Returns true if this level joins groups of the inner one into exactly one larger group.
    fn joins_once(&self, inner: &Self) -> bool {
        self.inner_parts(inner).filter(|parts| parts.len() > 1).count() == 1
    }

    fn looks_like_siblings(&self, measured: &CostMatrix) -> bool {
        let several = self.groups.iter().filter(|group| group.len() > 1);
        let twos: Vec<(usize, usize)> = several
            .clone()
            .filter(|group| group.len() == 2)
            .filter_map(|two| Some((measured.place_of(two.lowest()?)?, measured.place_of(two.highest()?)?)))
            .collect();
        if twos.is_empty() || (twos.len() as f64) < SIBLINGS_SHARE * several.count() as f64 {
            return false;
        }
        let (mut steps, mut differences) = (Vec::new(), Vec::new());
        for &(one, other) in &twos {
            let mut nearest = f64::INFINITY;
            for &(third, fourth) in twos.iter().filter(|two| **two != (one, other)) {
                let [a, b, c, d] = [(one, third), (other, third), (one, fourth), (other, fourth)]
                    .map(|(i, j)| measured.pair_cost(i, j));
                differences.extend([(a / b).ln().abs(), (c / d).ln().abs()]);
                nearest = nearest.min(median(&[a, b, c, d]));
            }
            steps.push(nearest / measured.pair_cost(one, other));
        }
        let differ = median(&differences);
        // Two cpus alone, and pairs of which no other pair was measured, cannot be compared with others.
        median(&steps) >= SIBLINGS_STEP && (differ.is_nan() || differ <= SIBLINGS_ALIKE)
    }

    /// Returns true if some groups of the inner level are joined and others stay. This is no level of the machine: a
    /// socket has that shape if its lines all live on the other one. Single cpus do not count: a disturbed one must not
    /// hide the groups of all others.
    fn leaves_out_some_of(&self, inner: &Self) -> bool {
        self.inner_parts(inner).any(|parts| matches!(parts[..], [size] if size > 1))
    }
}

/// Returns the partitions just before a long step of the dendrogram, innermost first, as places by group.
fn candidate_partitions(merges: &[ClusterMerge], places: usize) -> impl Iterator<Item = Vec<Vec<usize>>> + '_ {
    let steps = merges.windows(2).enumerate().filter(|(_, pair)| pair[1].height >= MERGE_STEP * pair[0].height);
    steps.map(move |(done, _)| linkage::partition_places(&merges[..=done], places))
}

/// Returns the groups as a level if the costs prove it above the level `below`.
fn judge_groups(matrix: &CostMatrix, groups: &[Vec<usize>], below: Option<&GroupLevel>) -> Option<GroupLevel> {
    let several = groups.iter().filter(|group| group.len() > 1);
    let grouped: usize = several.clone().map(Vec::len).sum();
    let is_of_most = 2 * grouped >= matrix.len();
    if groups.len() < 2 || !is_of_most && several.count() < 2 {
        return None;
    }
    let sides = GroupSides::from_groups(matrix, groups, below)?;
    let step = sides.smallest_step();
    let least = if is_of_most { least_step(matrix.len()) } else { STEP_OF_FEW };
    if step.is_nan() || step < least {
        return None;
    }
    (sides.misplaced_share() <= MISPLACED).then(|| sides.build_level(matrix, groups))
}

/// Costs of the groups of several cpus.
struct GroupSides {
    groups: Vec<GroupSide>,
}

/// Costs of one group.
struct GroupSide {
    /// The median inside, of the pairs that meet on no level below.
    own: f64,
    /// The median to the nearest other group.
    nearest: f64,
    /// Pairs inside, and with others: their number, and the number on the wrong side of the middle of the step.
    inside: [usize; 2],
    outside: [usize; 2],
}

impl GroupSides {
    /// Computes the costs; `None` if a group has no measurement inside or outside.
    fn from_groups(matrix: &CostMatrix, groups: &[Vec<usize>], below: Option<&GroupLevel>) -> Option<Self> {
        let mut group_of = vec![0; matrix.len()];
        for (group, places) in groups.iter().enumerate() {
            places.iter().for_each(|&place| group_of[place] = group);
        }
        let inner_of: Vec<usize> = match below {
            Some(below) => below.group_of(matrix),
            None => (0..matrix.len()).collect(),
        };
        let several = groups.iter().enumerate().filter(|(_, places)| places.len() > 1);
        let side =
            |(group, places): (usize, &Vec<usize>)| GroupSide::from_group(matrix, group, places, &group_of, &inner_of);
        let groups = several.map(side).collect::<Option<_>>()?;
        Some(Self { groups })
    }

    /// Returns the groups as a level.
    fn build_level(&self, matrix: &CostMatrix, groups: &[Vec<usize>]) -> GroupLevel {
        GroupLevel {
            step: self.smallest_step(),
            misplaced: self.misplaced_share(),
            groups: groups.iter().map(|group| group.iter().map(|&place| matrix.cpus()[place]).collect()).collect(),
        }
    }

    fn smallest_step(&self) -> f64 {
        self.groups.iter().map(|group| group.nearest / group.own).min_by(f64::total_cmp).unwrap_or(f64::NAN)
    }

    /// Returns the larger of two shares: of pairs inside above the middle of their group's step, and of pairs between
    /// below the middle of both their groups' steps.
    fn misplaced_share(&self) -> f64 {
        let share = |of: fn(&GroupSide) -> [usize; 2]| {
            let sum = |part: usize| self.groups.iter().map(|group| of(group)[part]).sum::<usize>();
            sum(1) as f64 / sum(0).max(1) as f64
        };
        share(|group| group.inside).max(share(|group| group.outside))
    }
}

impl GroupSide {
    fn from_group(
        matrix: &CostMatrix,
        group: usize,
        places: &[usize],
        group_of: &[usize],
        inner_of: &[usize],
    ) -> Option<Self> {
        let (mut inside, mut meeting, mut outside) = (Vec::new(), Vec::new(), Vec::new());
        for &i in places {
            for (j, &other) in group_of.iter().enumerate() {
                let cost = if i == j || other == group && j < i { f64::NAN } else { matrix.pair_cost(i, j) };
                match cost.is_finite() {
                    true if other == group => {
                        inside.push(cost);
                        meeting.extend((inner_of[i] != inner_of[j]).then_some(cost));
                    }
                    true => outside.push((other, cost)),
                    false => {}
                }
            }
        }
        outside.sort_unstable_by(|one: &(usize, f64), other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let middle = |costs: &[(usize, f64)]| f64::midpoint(costs[(costs.len() - 1) / 2].1, costs[costs.len() / 2].1);
        let nearest = outside.chunk_by(|one, other| one.0 == other.0).map(middle).min_by(f64::total_cmp)?;
        // If the group is also one on the level below, no pair meets here.
        let own = median(if meeting.is_empty() { &inside } else { &meeting });
        let step = (own * nearest).sqrt();
        let inside = [inside.len(), inside.iter().filter(|cost| **cost > step).count()];
        let outside = [outside.len(), outside.iter().filter(|(_, cost)| *cost < step).count()];
        own.is_finite().then_some(Self { own, nearest, inside, outside })
    }
}

#[cfg(test)]
mod tests;
