//! The machine's labelled tree: sets of cpus in sets of cpus, with equal subtrees told as such.
//!
//! A symmetry of the machine is a permutation of its cpus that takes every part to a part with the same label. Where the
//! parts nest these are exactly the exchanges of equal subtrees. A part that cuts through others (a node over two
//! packages, say) is no subtree: it is kept as a whole, with every symmetry that would move it left out.

use std::collections::{BTreeMap, HashMap};

use super::parts::{Label, Part};
use crate::CpuSet;

/// A set of the tree.
#[derive(Debug)]
pub struct Branch {
    /// The sets in it, by index.
    pub children: Vec<usize>,
    /// Its cpu, where it is one that a placement may use.
    pub cpu: Option<u32>,
    /// Which subtrees it equals: those of the same shape.
    pub shape: usize,
    parent: usize,
    labels: Vec<Label>,
}

/// The tree, children before what holds them; the last branch is the whole machine.
#[derive(Debug)]
pub struct Tree {
    pub branches: Vec<Branch>,
}

impl Tree {
    /// The tree of some parts.
    pub fn of(parts: Vec<Part>) -> Self {
        let sets = nested(parts);
        let parents = parents(&sets);
        // Larger sets come first, and what is in a set after it: turned round, children come first.
        let turned = |index: usize| sets.len() - 1 - index;
        let branch = |labels: &[Label], cpu| Branch {
            children: Vec::new(),
            cpu,
            shape: 0,
            parent: sets.len(),
            labels: labels.to_vec(),
        };
        let of_set = |(points, labels): &(CpuSet, Vec<Label>)| {
            let is_usable = labels.iter().any(|label| matches!(label, Label::Cpu(mark) if mark.usable));
            branch(labels, points.lowest().filter(|_| is_usable))
        };
        let mut branches: Vec<Branch> = sets.iter().rev().map(of_set).collect();
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

    /// Equal labels over equal children are equal shapes.
    fn find_shapes(&mut self) {
        let mut shapes: HashMap<(Vec<Label>, Vec<usize>), usize> = HashMap::new();
        for index in 0..self.branches.len() {
            let branch = &self.branches[index];
            let mut children: Vec<usize> = branch.children.iter().map(|child| self.branches[*child].shape).collect();
            children.sort_unstable();
            let next = shapes.len();
            let shape = *shapes.entry((branch.labels.clone(), children)).or_insert(next);
            self.branches[index].shape = shape;
        }
    }

    /// The whole machine.
    pub fn root(&self) -> usize {
        self.branches.len() - 1
    }

    /// Each usable cpu, with the branches that hold it from its own up to the whole machine.
    pub fn holders(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = usize> + '_)> + '_ {
        let up = |index: &usize| (*index != self.root()).then(|| self.branches[*index].parent);
        let leaves = self.branches.iter().enumerate();
        leaves.filter_map(move |(leaf, branch)| Some((branch.cpu?, std::iter::successors(Some(leaf), up))))
    }

    /// The shapes of what holds each usable cpu, from the cpu itself up to the whole machine. A symmetry takes one cpu to
    /// another where these are equal, and only then.
    pub fn paths(&self) -> BTreeMap<u32, Vec<usize>> {
        let shapes =
            |holders: &mut dyn Iterator<Item = usize>| holders.map(|branch| self.branches[branch].shape).collect();
        self.holders().map(|(cpu, mut holders)| (cpu, shapes(&mut holders))).collect()
    }

    /// How many cpus a placement may use.
    pub fn usable(&self) -> usize {
        self.branches.iter().filter(|branch| branch.cpu.is_some()).count()
    }
}

/// The different sets that nest, the largest first, with their sorted labels; of those that do not nest each point is told.
fn nested(parts: Vec<Part>) -> Vec<(CpuSet, Vec<Label>)> {
    let mut by_set: BTreeMap<CpuSet, Vec<Label>> = BTreeMap::new();
    for (points, label) in parts {
        // Every point is a set, too, so that it can be told what cuts through.
        points.iter().for_each(|point| _ = by_set.entry(CpuSet::of(point)).or_default());
        by_set.entry(points).or_default().push(label);
    }
    let mut sets: Vec<(CpuSet, Vec<Label>)> = by_set.into_iter().collect();
    sets.sort_by_key(|(points, _)| std::cmp::Reverse(points.len()));
    let (mut inside, mut crossing) = (Inside::default(), Vec::new());
    sets.retain(|(points, _)| {
        let is_nested = inside.enter(points).is_some();
        if !is_nested {
            crossing.push(points.clone());
        }
        is_nested
    });
    for (points, labels) in sets.iter_mut().filter(|(points, _)| points.len() == 1) {
        let through = crossing.iter().enumerate().filter(|(_, set)| points.is_subset(set));
        labels.extend(through.map(|(index, _)| Label::Crossing(index)));
    }
    sets.iter_mut().for_each(|(_, labels)| labels.sort_unstable());
    sets
}

/// For each of some nested sets, the largest first, the smallest that holds it.
fn parents(sets: &[(CpuSet, Vec<Label>)]) -> Vec<Option<usize>> {
    let mut inside = Inside::default();
    sets.iter().map(|(points, _)| inside.enter(points).flatten()).collect()
}

/// The smallest set that holds each point, while sets come in, the largest first.
#[derive(Default)]
struct Inside {
    of: Vec<Option<usize>>,
    entered: usize,
}

impl Inside {
    /// Takes a set in, and says in which it lies; nothing where it cuts through one that came before.
    fn enter(&mut self, points: &CpuSet) -> Option<Option<usize>> {
        let needed = points.highest().map_or(0, |highest| highest as usize + 1);
        if self.of.len() < needed {
            self.of.resize(needed, None);
        }
        // Those before are no smaller: it lies in each of them, or beside it, where all its points lie in the same.
        let holder = self.of[points.lowest()? as usize];
        if points.iter().any(|point| self.of[point as usize] != holder) {
            return None;
        }
        points.iter().for_each(|point| self.of[point as usize] = Some(self.entered));
        self.entered += 1;
        Some(holder)
    }
}
