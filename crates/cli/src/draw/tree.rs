//! Containment tree of a machine, by the cpus of its objects alone.

use std::collections::HashMap;

use corewise_machine::{CpuSet, Level, Machine};

/// Objects with the same cpus, and their children.
#[derive(Clone, Debug)]
pub struct TreeBranch {
    /// Objects, outermost first, each as a level and its index in machine order.
    pub objects: Vec<(Level, usize)>,
    /// Their cpus.
    pub cpus: CpuSet,
    /// Indices of the cores that lie in no smaller object, in machine order.
    pub cores: Vec<usize>,
    /// Smaller objects inside, ordered by lowest cpu.
    pub children: Vec<TreeBranch>,
}

impl TreeBranch {
    /// Returns the index of a level's object in this branch.
    pub fn index_of(&self, level: Level) -> Option<usize> {
        self.objects.iter().find(|(own, _)| *own == level).map(|(_, index)| *index)
    }

    /// Returns the number of branches in this subtree.
    pub fn branch_count(&self) -> usize {
        1 + self.children.iter().map(Self::branch_count).sum::<usize>()
    }
}

/// Returns the tree of a machine. Redundant objects are left out: dies that are the packages, and clusters that are
/// one core or a whole last-level cache. So are the objects of levels that cut across others.
pub fn grow_tree(machine: &Machine) -> Vec<TreeBranch> {
    let mut flat = merge_equal(machine);
    flat.sort_by(|a, b| b.cpus.len().cmp(&a.cpus.len()).then(a.cpus.lowest().cmp(&b.cpus.lowest())));
    let mut holder = HashMap::new();
    let mut parents = Vec::with_capacity(flat.len());
    for index in 0..flat.len() {
        let parent = find_smallest_around(&flat, &parents, &holder, &flat[index].cpus);
        parents.push(parent);
        holder.extend(flat[index].cpus.iter().map(|cpu| (cpu, index)));
    }
    for (index, core) in machine.cores.iter().enumerate() {
        if let Some(home) = find_smallest_around(&flat, &parents, &holder, &core.cpus) {
            flat[home].cores.push(index);
        }
    }
    nest_branches(flat, &parents)
}

/// Merges objects with equal cpus into one branch each.
fn merge_equal(machine: &Machine) -> Vec<TreeBranch> {
    let mut places: HashMap<CpuSet, usize> = HashMap::new();
    let mut flat: Vec<TreeBranch> = Vec::new();
    let crossing = machine.crossing_levels();
    for level in machine.levels_present().filter(|level| *level < Level::Core && !crossing.contains(level)) {
        for (index, cpus) in machine.objects_of(level).into_iter().enumerate() {
            if cpus.is_empty() || is_redundant(machine, level, &cpus) {
                continue;
            }
            if let Some(&place) = places.get(&cpus) {
                flat[place].objects.push((level, index));
            } else {
                places.insert(cpus.clone(), flat.len());
                flat.push(TreeBranch { objects: vec![(level, index)], cpus, cores: Vec::new(), children: Vec::new() });
            }
        }
    }
    flat
}

fn is_redundant(machine: &Machine, level: Level, cpus: &CpuSet) -> bool {
    let holds = |level: Level| {
        let index = cpus.lowest().and_then(|cpu| machine.index_of(level, cpu));
        index.is_some_and(|index| match level {
            Level::Core => machine.cores[index].cpus == *cpus,
            Level::Llc => machine.llcs[index].cpus == *cpus,
            _ => machine.packages[index].cpus == *cpus,
        })
    };
    match level {
        Level::Die => holds(Level::Package),
        Level::Cluster => holds(Level::Core) || holds(Level::Llc),
        _ => false,
    }
}

/// Returns the smallest branch yet that holds all the cpus.
fn find_smallest_around(
    flat: &[TreeBranch],
    parents: &[Option<usize>],
    holder: &HashMap<u32, usize>,
    cpus: &CpuSet,
) -> Option<usize> {
    let mut candidate = cpus.lowest().and_then(|cpu| holder.get(&cpu).copied());
    while let Some(index) = candidate {
        if cpus.is_subset(&flat[index].cpus) {
            return Some(index);
        }
        candidate = parents[index];
    }
    None
}

/// Nests the branches. Parents come before their children in `flat`, so each branch taken from the end is complete.
fn nest_branches(mut flat: Vec<TreeBranch>, parents: &[Option<usize>]) -> Vec<TreeBranch> {
    let mut roots = Vec::new();
    while let Some(mut branch) = flat.pop() {
        branch.children.sort_by_key(|child| child.cpus.lowest());
        match parents[flat.len()] {
            Some(parent) => flat[parent].children.push(branch),
            None => roots.push(branch),
        }
    }
    roots.sort_by_key(|root| root.cpus.lowest());
    roots
}
