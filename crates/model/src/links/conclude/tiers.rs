//! Tiers: the level of the hierarchy (siblings, groups and levels above them) at which two cpus meet. Cost classes,
//! sentences and comparisons are all by tier.

use std::collections::BTreeSet;

use corewise_machine::{CpuSet, Level, Machine};

use super::{FilledSeries, LinkConclusions};
use crate::links::groups::GroupLevel;
use crate::links::{CpuRelation, LinkMap};

/// The tier of every pair of cpus of a map.
pub struct PairTiers {
    /// The core of each place.
    core_of: Vec<usize>,
    /// The group of each place, by level, innermost first.
    group_of: Vec<Vec<usize>>,
    /// The group of each place among cores that are dear among themselves.
    dear_of: Vec<usize>,
    words: Vec<String>,
}

/// The tier of SMT siblings.
pub(super) const SAME_CORE: usize = 0;
/// The tier of cores with higher communication costs among themselves than with any others.
pub(super) const DEAR: usize = 1;
/// The tier of cores of one group, or of all cores if there are no groups.
pub(super) const INSIDE: usize = 2;

impl PairTiers {
    /// Builds the tiers of a series from the conclusions about its map.
    pub fn from_series(filled: &FilledSeries, conclusions: &LinkConclusions, map: &LinkMap) -> Self {
        let levels: Vec<&GroupLevel> = conclusions.group_levels().collect();
        let group_of = levels.iter().map(|level| level.group_of(&filled.measured)).collect();
        let dear_of = conclusions.dear.as_ref().map_or_else(Vec::new, |level| level.group_of(&filled.measured));
        let mut tiers = Self { core_of: conclusions.cores_of_places(filled), group_of, dear_of, words: Vec::new() };
        tiers.words = name_tiers(&levels, conclusions.dear.as_ref(), filled, map, &tiers);
        tiers
    }

    /// Returns the number of tiers.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the tier of two places: [`SAME_CORE`], [`DEAR`], [`INSIDE`], and one more for each further level.
    pub fn tier_of(&self, i: usize, j: usize) -> usize {
        if self.core_of[i] == self.core_of[j] {
            return SAME_CORE;
        }
        if self.dear_of.get(i).is_some_and(|&group| group != usize::MAX && group == self.dear_of[j]) {
            return DEAR;
        }
        let level = self.group_of.iter().position(|of| of[i] == of[j]);
        INSIDE + level.unwrap_or(self.group_of.len())
    }

    /// Returns a tier's name.
    pub fn tier_name(&self, tier: usize) -> &str {
        &self.words[tier]
    }
}

fn name_tiers(
    levels: &[&GroupLevel],
    dear: Option<&GroupLevel>,
    filled: &FilledSeries,
    map: &LinkMap,
    tiers: &PairTiers,
) -> Vec<String> {
    let mut words = vec![CpuRelation::SameCore.relation_name().to_owned(), dear_words(dear, map)];
    let Some((_, outer)) = levels.split_first() else {
        words.push(any_two(filled, map, tiers));
        return words;
    };
    words.push("same group".into());
    let named =
        |level: &GroupLevel| map.machine.as_ref().and_then(|machine| reported_level(&level.groups, machine, &map.cpus));
    let name = |level: &GroupLevel| match named(level) {
        Some(reported) => reported.to_string(),
        None if outer.len() == 1 => "larger group".into(),
        None => format!("group of {}", level.groups.iter().map(CpuSet::len).max().unwrap_or(0)),
    };
    words.extend(outer.iter().map(|level| format!("other group, same {}", name(level))));
    let outermost = levels[levels.len() - 1];
    words.push(match named(outermost) {
        Some(reported @ (Level::Package | Level::Node | Level::Die)) => format!("other {reported}"),
        _ if outer.is_empty() => "other group".into(),
        _ => format!("other {}", name(outermost)),
    });
    words
}

/// Returns the outermost level that has these groups as objects.
fn reported_level(groups: &[CpuSet], machine: &Machine, cpus: &CpuSet) -> Option<Level> {
    let wanted: BTreeSet<&CpuSet> = groups.iter().collect();
    [Level::Package, Level::Node, Level::Die, Level::Llc, Level::Cluster].into_iter().find(|&level| {
        let objects = machine.objects_of(level).into_iter().map(|object| object.intersection(cpus));
        let objects: BTreeSet<CpuSet> = objects.filter(|object| !object.is_empty()).collect();
        objects.len() == wanted.len() && objects.iter().all(|object| wanted.contains(object))
    })
}

/// Names cores that are dear among themselves.
fn dear_words(dear: Option<&GroupLevel>, map: &LinkMap) -> String {
    let clusters = |machine: &Machine| machine.objects_of(Level::Cluster);
    let are_clusters = dear.zip(map.machine.as_ref()).is_some_and(|(dear, machine)| {
        let mut several = dear.groups.iter().filter(|group| group.len() > 1);
        several.all(|group| clusters(machine).into_iter().any(|cluster| cluster == *group))
    });
    if are_clusters { "same cluster".into() } else { "same dear group".into() }
}

/// Names pairs of cores if there are no groups: by their relations in the topology, if it is known.
fn any_two(filled: &FilledSeries, map: &LinkMap, tiers: &PairTiers) -> String {
    if map.machine.is_none() {
        return "any two".into();
    }
    let structure = &filled.structure;
    let firsts = structure.first_of_cores();
    let pairs = firsts.iter().enumerate().flat_map(|(a, &i)| firsts[a + 1..].iter().map(move |&j| (i, j)));
    let relations: BTreeSet<CpuRelation> =
        pairs.filter(|&(i, j)| tiers.tier_of(i, j) != DEAR).map(|(i, j)| structure.relation_between(i, j)).collect();
    let words: Vec<&str> = relations.iter().map(|relation| relation.relation_name()).collect();
    if words.is_empty() { "any two".into() } else { words.join(" and ") }
}
