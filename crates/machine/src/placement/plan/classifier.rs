//! Equivalence classes of one or several sets of cpus: a number that equal sets share, and the size of each class.

use std::collections::{BTreeMap, HashMap};

use super::count::ExactCount;
use super::tree::MachineTree;
use crate::CpuSet;

/// Numbers the classes of sets of cpus of one machine.
#[derive(Debug)]
pub struct SetClassifier<'a> {
    tree: &'a MachineTree,
    /// Numbers of shapes with a choice of cpus, in order of appearance. Two subtrees have the same number if an exchange takes the choice
    /// in one to the choice in the other.
    choices: HashMap<(usize, u64, Vec<usize>), usize>,
}

impl<'a> SetClassifier<'a> {
    /// Creates the classifier of a machine's tree.
    pub fn new(tree: &'a MachineTree) -> Self {
        Self { tree, choices: HashMap::new() }
    }

    /// Returns the number of a set's class: equal for two sets exactly if a symmetry of the machine takes one to the other.
    pub fn class_of(&mut self, cpus: &CpuSet) -> usize {
        self.class_of_all(&[cpus])
    }

    /// Returns the class of several sets, each with its own role: a symmetry must map the sets of each role to each other. There may be 64.
    pub fn class_of_all(&mut self, sets: &[&CpuSet]) -> usize {
        let choices = self.walk_tree(sets, |_, _| ());
        choices[self.tree.root_index()]
    }

    /// Returns the lowest cpu of each sort, given a chosen set. Two cpus are of one sort if a symmetry that maps the set to itself takes
    /// one to the other.
    pub fn distinct_cpus(&mut self, cpus: &CpuSet) -> Vec<u32> {
        let choices = self.walk_tree(&[cpus], |_, _| ());
        let mut lowest: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for (cpu, holders) in self.tree.holders_of_cpus() {
            let path = holders.map(|branch| choices[branch]).collect();
            lowest.entry(path).and_modify(|lowest| *lowest = cpu.min(*lowest)).or_insert(cpu);
        }
        lowest.into_values().collect()
    }

    /// Returns the number of sets in a set's class.
    pub fn class_size(&mut self, cpus: &CpuSet) -> ExactCount {
        self.size_of_all(&[cpus])
    }

    /// Returns the number of choices in the class of several sets.
    pub fn size_of_all(&mut self, sets: &[&CpuSet]) -> ExactCount {
        let mut sizes = ExactCount::ONE;
        self.walk_tree(sets, |shapes, choices| sizes = sizes.times(count_arrangements(shapes, choices)));
        sizes
    }

    /// Walks up the tree and returns the choice in every branch. Calls the closure with the shapes and choices of every branch's children.
    fn walk_tree(&mut self, sets: &[&CpuSet], mut tell: impl FnMut(&[usize], &[usize])) -> Vec<usize> {
        let branches = &self.tree.branches;
        let mut of_branch: Vec<usize> = Vec::with_capacity(branches.len());
        for branch in branches {
            let choices: Vec<usize> = branch.children.iter().map(|child| of_branch[*child]).collect();
            if choices.len() > 1 {
                let shapes: Vec<usize> = branch.children.iter().map(|child| branches[*child].shape).collect();
                tell(&shapes, &choices);
            }
            let mut sorted = choices;
            sorted.sort_unstable();
            // One bit for each set that contains the cpu.
            let of_cpu = |cpu| sets.iter().rev().fold(0, |bits, set| bits << 1 | u64::from(set.contains(cpu)));
            let chosen = branch.cpu.map_or(0, of_cpu);
            let next = self.choices.len();
            of_branch.push(*self.choices.entry((branch.shape, chosen, sorted)).or_insert(next));
        }
        of_branch
    }
}

/// Returns the number of ways to assign the choices to children of the same shapes: the product of a multinomial coefficient for each
/// shape.
fn count_arrangements(shapes: &[usize], choices: &[usize]) -> ExactCount {
    // A choice implies its shape, so each choice belongs to one shape.
    let mut by_shape: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for (shape, choice) in shapes.iter().zip(choices) {
        *by_shape.entry(*shape).or_default().entry(*choice).or_default() += 1;
    }
    let of_shape = |often: &BTreeMap<usize, usize>| {
        let mut left: usize = often.values().sum();
        often.values().fold(ExactCount::ONE, |ways, times| {
            let ways = ways.times(ExactCount::combinations(left, *times));
            left -= times;
            ways
        })
    };
    by_shape.values().map(of_shape).fold(ExactCount::ONE, ExactCount::times)
}
