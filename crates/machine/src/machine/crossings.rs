//! Levels that cut across each other: an object that lies in several objects of another level, though not around them.

use std::collections::BTreeSet;

use crate::{CpuSet, Level, Machine};

/// An object that cuts across objects of another level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelCrossing {
    /// Level of the object.
    pub level: Level,
    /// Its cpus.
    pub cpus: CpuSet,
    /// The other level.
    pub across: Level,
    /// The other level's objects that it overlaps.
    pub objects: Vec<CpuSet>,
}

/// The levels that are compared, outermost first.
const COMPARED: [Level; 6] = [Level::Package, Level::Node, Level::Die, Level::Llc, Level::Cluster, Level::Core];

impl Machine {
    /// Returns the first crossing of each two levels; empty on a machine whose description is sound. Of levels with the same objects, the
    /// outermost stands for all.
    pub fn level_crossings(&self) -> Vec<LevelCrossing> {
        let mut indexed: Vec<IndexedLevel> = Vec::new();
        for level in COMPARED.into_iter().map(|level| IndexedLevel::new(self, level)) {
            if indexed.iter().all(|outer| outer.objects != level.objects) {
                indexed.push(level);
            }
        }
        let pairs = indexed
            .iter()
            .enumerate()
            .flat_map(|(at, outer)| indexed[at + 1..].iter().map(move |inner| (outer, inner)));
        pairs.filter_map(|(outer, inner)| inner.find_crossing(outer)).collect()
    }

    /// Returns the levels to leave out so that the others nest, outermost first: those with the most crossings, of equal ones the node.
    pub fn crossing_levels(&self) -> Vec<Level> {
        let mut crossings = self.level_crossings();
        let mut left_out = BTreeSet::new();
        while !crossings.is_empty() {
            let count = |level: Level| crossings.iter().filter(|one| one.level == level || one.across == level).count();
            let most = COMPARED.into_iter().max_by_key(|level| (count(*level), *level == Level::Node, *level));
            let Some(level) = most else { break };
            left_out.insert(level);
            crossings.retain(|one| one.level != level && one.across != level);
        }
        left_out.into_iter().collect()
    }
}

/// The objects of a level, and the object of each cpu.
struct IndexedLevel {
    level: Level,
    objects: Vec<CpuSet>,
    index_of: Vec<Option<usize>>,
}

impl IndexedLevel {
    fn new(machine: &Machine, level: Level) -> Self {
        let objects = machine.objects_of(level);
        let mut index_of = vec![None; machine.online.highest().map_or(0, |highest| highest as usize + 1)];
        for (index, cpus) in objects.iter().enumerate() {
            cpus.iter().for_each(|cpu| index_of[cpu as usize] = Some(index));
        }
        Self { level, objects, index_of }
    }

    /// Returns the first of these objects that lies in several of the outer level's. A node may also lie around packages and caches, and a
    /// last-level cache around dies.
    fn find_crossing(&self, outer: &Self) -> Option<LevelCrossing> {
        let may_turn = outer.level == Level::Node || self.level == Level::Node || outer.level == Level::Die;
        self.objects.iter().find_map(|cpus| {
            let touched: BTreeSet<usize> = cpus.iter().filter_map(|cpu| outer.index_of[cpu as usize]).collect();
            let objects: Vec<CpuSet> = touched.into_iter().map(|index| outer.objects[index].clone()).collect();
            let is_around =
                may_turn && self.level < Level::Cluster && objects.iter().all(|object| object.is_subset(cpus));
            let crosses = objects.len() > 1 && !is_around;
            crosses.then(|| LevelCrossing { level: self.level, cpus: cpus.clone(), across: outer.level, objects })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{MachineObject, NumaNode};

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    fn machine(packages: &[&str], nodes: &[&str]) -> Machine {
        let object = |list: &&str| MachineObject { os_number: None, cpus: set(list) };
        let node =
            |(number, list): (usize, &&str)| NumaNode { number: number as u32, cpus: set(list), ..NumaNode::default() };
        Machine {
            online: set("0-7"),
            packages: packages.iter().map(object).collect(),
            nodes: nodes.iter().enumerate().map(node).collect(),
            cores: (0..8).map(|cpu| MachineObject { os_number: None, cpus: CpuSet::from_cpu(cpu) }).collect(),
            ..Machine::default()
        }
    }

    #[test]
    fn nodes_may_lie_inside_packages_or_around_them() {
        for (packages, nodes) in
            [(&["0-3", "4-7"][..], &["0-7"][..]), (&["0-7"], &["0-3", "4-7"]), (&["0-3", "4-7"], &["0-3", "4-7"])]
        {
            assert_eq!(machine(packages, nodes).level_crossings(), []);
        }
    }

    #[test]
    fn nodes_that_split_packages_are_the_level_to_leave_out() {
        let guest = machine(&["0-3", "4-7"], &["0-1", "2-5", "6-7"]);
        let crossing = LevelCrossing {
            level: Level::Node,
            cpus: set("2-5"),
            across: Level::Package,
            objects: vec![set("0-3"), set("4-7")],
        };
        assert_eq!((guest.level_crossings(), guest.crossing_levels()), (vec![crossing], vec![Level::Node]));
    }

    #[test]
    fn a_core_never_lies_around_packages() {
        let mut machine = machine(&["0", "1", "2-7"], &["0-7"]);
        machine.cores[0].cpus = set("0-1");
        machine.cores.remove(1);
        assert_eq!(machine.level_crossings()[0].across, Level::Package);
    }
}
