//! The class of a set of cpus, or of several: a name that equal ones share, and how many are in it.

use std::collections::{BTreeMap, HashMap};

use super::count::Count;
use super::tree::Tree;
use crate::CpuSet;

/// Names the classes of sets of cpus of one machine.
#[derive(Debug)]
pub struct Classifier<'a> {
    tree: &'a Tree,
    /// Shapes with a choice of cpus in them, numbered as they are met. Two subtrees have the same number where an
    /// exchange takes the choice in one to that in the other.
    choices: HashMap<(usize, u64, Vec<usize>), usize>,
}

impl<'a> Classifier<'a> {
    /// For the sets of cpus of a machine.
    pub fn new(tree: &'a Tree) -> Self {
        Self { tree, choices: HashMap::new() }
    }

    /// The name of a set's class: equal for two sets where a symmetry of the machine takes one to the other, and only then.
    pub fn class(&mut self, cpus: &CpuSet) -> usize {
        self.class_of_all(&[cpus])
    }

    /// The same of several sets, each with a role of its own: a symmetry has to take each of one to the same of the other. There may be 64.
    pub fn class_of_all(&mut self, sets: &[&CpuSet]) -> usize {
        let choices = self.walk(sets, |_, _| ());
        choices[self.tree.root()]
    }

    /// One cpu, the lowest, of each sort that there is once a set is chosen: two cpus are of one sort where a symmetry that
    /// takes the set to itself takes one to the other.
    pub fn sorts(&mut self, cpus: &CpuSet) -> Vec<u32> {
        let choices = self.walk(&[cpus], |_, _| ());
        let mut lowest: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for (cpu, holders) in self.tree.holders() {
            let path = holders.map(|branch| choices[branch]).collect();
            lowest.entry(path).and_modify(|lowest| *lowest = cpu.min(*lowest)).or_insert(cpu);
        }
        lowest.into_values().collect()
    }

    /// How many sets are in the class of a set.
    pub fn size(&mut self, cpus: &CpuSet) -> Count {
        self.size_of_all(&[cpus])
    }

    /// How many choices of several sets are in the class of one.
    pub fn size_of_all(&mut self, sets: &[&CpuSet]) -> Count {
        let mut sizes = Count::ONE;
        self.walk(sets, |shapes, choices| sizes = sizes.times(arrangements(shapes, choices)));
        sizes
    }

    /// Goes up the tree and gives the choice in every branch; `tell` hears the shapes of the children of every branch, and
    /// the choices in them.
    fn walk(&mut self, sets: &[&CpuSet], mut tell: impl FnMut(&[usize], &[usize])) -> Vec<usize> {
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
            // In which of the sets its cpu is, a bit each.
            let of_cpu = |cpu| sets.iter().rev().fold(0, |bits, set| bits << 1 | u64::from(set.contains(cpu)));
            let chosen = branch.cpu.map_or(0, of_cpu);
            let next = self.choices.len();
            of_branch.push(*self.choices.entry((branch.shape, chosen, sorted)).or_insert(next));
        }
        of_branch
    }
}

/// In how many ways the choices can be dealt to children of the same shapes: for each shape a multinomial coefficient.
fn arrangements(shapes: &[usize], choices: &[usize]) -> Count {
    // A choice says its shape, so each choice belongs to one shape.
    let mut by_shape: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for (shape, choice) in shapes.iter().zip(choices) {
        *by_shape.entry(*shape).or_default().entry(*choice).or_default() += 1;
    }
    let of_shape = |often: &BTreeMap<usize, usize>| {
        let mut left: usize = often.values().sum();
        often.values().fold(Count::ONE, |ways, times| {
            let ways = ways.times(Count::combinations(left, *times));
            left -= times;
            ways
        })
    };
    by_shape.values().map(of_shape).fold(Count::ONE, Count::times)
}
