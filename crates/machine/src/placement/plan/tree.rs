//! The machine's labelled tree: nested sets of cpus, with equal subtrees identified by shape.
//!
//! A symmetry of the machine is a permutation of its cpus that takes every part to a part with the same label. For nested parts these are
//! exactly the exchanges of equal subtrees. A part that cuts through others (a node over two packages, say) is no subtree. It is kept as a
//! whole, and every symmetry that would move it is left out.

use std::collections::{BTreeMap, HashMap};

use super::parts::{LabelledPart, PartLabel};
use crate::CpuSet;

/// A set in the tree.
#[derive(Debug)]
pub struct MachineBranch {
    /// Indices of the sets inside.
    pub children: Vec<usize>,
    /// Its cpu, if it is a single usable cpu.
    pub cpu: Option<u32>,
    /// Number of its shape; equal subtrees have the same.
    pub shape: usize,
    parent: usize,
    labels: Vec<PartLabel>,
}

/// The tree, children before parents; the last branch is the whole machine.
#[derive(Debug)]
pub struct MachineTree {
    pub branches: Vec<MachineBranch>,
}

/// For each usable cpu the shapes of its branches, from its own up to the whole machine. A symmetry takes one cpu to another exactly if these
/// are equal.
pub type ShapePaths = BTreeMap<u32, Vec<usize>>;

impl MachineTree {
    /// Builds the tree of some parts.
    pub fn from_parts(parts: Vec<LabelledPart>) -> Self {
        let sets = nested_sets(parts);
        let parents = find_parents(&sets);
        // Larger sets come first, and inner sets after outer ones: in reverse order, children come first.
        let turned = |index: usize| sets.len() - 1 - index;
        let branch = |labels: &[PartLabel], cpu| MachineBranch {
            children: Vec::new(),
            cpu,
            shape: 0,
            parent: sets.len(),
            labels: labels.to_vec(),
        };
        let of_set = |(points, labels): &(CpuSet, Vec<PartLabel>)| {
            let is_usable = labels.iter().any(|label| matches!(label, PartLabel::Cpu(mark) if mark.usable));
            branch(labels, points.lowest().filter(|_| is_usable))
        };
        let mut branches: Vec<MachineBranch> = sets.iter().rev().map(of_set).collect();
        let root = branches.len();
        branches.push(branch(&[], None));
        for (index, parent) in parents.iter().enumerate() {
            let parent = parent.map_or(root, turned);
            branches[turned(index)].parent = parent;
            branches[parent].children.push(turned(index));
        }
        let mut tree = Self { branches };
        tree.find_shapes();
        tree
    }

    /// Numbers the shapes: equal labels over equal children are equal shapes.
    fn find_shapes(&mut self) {
        let mut shapes: HashMap<(Vec<PartLabel>, Vec<usize>), usize> = HashMap::new();
        for index in 0..self.branches.len() {
            let branch = &self.branches[index];
            let mut children: Vec<usize> = branch.children.iter().map(|child| self.branches[*child].shape).collect();
            children.sort_unstable();
            let next = shapes.len();
            let shape = *shapes.entry((branch.labels.clone(), children)).or_insert(next);
            self.branches[index].shape = shape;
        }
    }

    /// Returns the index of the whole machine.
    pub fn root_index(&self) -> usize {
        self.branches.len() - 1
    }

    /// Returns each usable cpu with the branches that hold it, from its own up to the whole machine.
    pub fn holders_of_cpus(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = usize> + '_)> + '_ {
        let up = |index: &usize| (*index != self.root_index()).then(|| self.branches[*index].parent);
        let leaves = self.branches.iter().enumerate();
        leaves.filter_map(move |(leaf, branch)| Some((branch.cpu?, std::iter::successors(Some(leaf), up))))
    }

    /// Returns the shapes of the branches of each usable cpu.
    pub fn shape_paths(&self) -> ShapePaths {
        let shapes =
            |holders: &mut dyn Iterator<Item = usize>| holders.map(|branch| self.branches[branch].shape).collect();
        self.holders_of_cpus().map(|(cpu, mut holders)| (cpu, shapes(&mut holders))).collect()
    }

    /// Returns the number of cpus that a placement may use.
    pub fn usable_count(&self) -> usize {
        self.branches.iter().filter(|branch| branch.cpu.is_some()).count()
    }
}

/// Returns the different sets that nest, the largest first, with their sorted labels. Sets that do not nest become labels of their points.
fn nested_sets(parts: Vec<LabelledPart>) -> Vec<(CpuSet, Vec<PartLabel>)> {
    let mut by_set: BTreeMap<CpuSet, Vec<PartLabel>> = BTreeMap::new();
    for (points, label) in parts {
        // Every point is a set too, so that it can carry the labels of crossing sets.
        points.iter().for_each(|point| _ = by_set.entry(CpuSet::from_cpu(point)).or_default());
        by_set.entry(points).or_default().push(label);
    }
    let mut sets: Vec<(CpuSet, Vec<PartLabel>)> = by_set.into_iter().collect();
    sets.sort_by_key(|(points, _)| std::cmp::Reverse(points.len()));
    let (mut inside, mut crossing) = (SmallestSets::default(), Vec::new());
    sets.retain(|(points, _)| {
        let is_nested = inside.enter_set(points).is_some();
        if !is_nested {
            crossing.push(points.clone());
        }
        is_nested
    });
    for (points, labels) in sets.iter_mut().filter(|(points, _)| points.len() == 1) {
        let through = crossing.iter().enumerate().filter(|(_, set)| points.is_subset(set));
        labels.extend(through.map(|(index, _)| PartLabel::Crossing(index)));
    }
    sets.iter_mut().for_each(|(_, labels)| labels.sort_unstable());
    sets
}

/// Returns for each nested set, the largest first, the smallest set that holds it.
fn find_parents(sets: &[(CpuSet, Vec<PartLabel>)]) -> Vec<Option<usize>> {
    let mut inside = SmallestSets::default();
    sets.iter().map(|(points, _)| inside.enter_set(points).flatten()).collect()
}

/// The smallest set that holds each point; sets are entered from the largest.
#[derive(Default)]
struct SmallestSets {
    of: Vec<Option<usize>>,
    entered: usize,
}

impl SmallestSets {
    /// Enters a set and returns the set that holds it; `None` if it cuts through an earlier one.
    fn enter_set(&mut self, points: &CpuSet) -> Option<Option<usize>> {
        let needed = points.highest().map_or(0, |highest| highest as usize + 1);
        if self.of.len() < needed {
            self.of.resize(needed, None);
        }
        // Earlier sets are no smaller: it nests if all its points lie in the same one, or in none.
        let holder = self.of[points.lowest()? as usize];
        if points.iter().any(|point| self.of[point as usize] != holder) {
            return None;
        }
        points.iter().for_each(|point| self.of[point as usize] = Some(self.entered));
        self.entered += 1;
        Some(holder)
    }
}
