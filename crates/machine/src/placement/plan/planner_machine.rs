//! A machine as the planner sees it: its usable cpus, and the levels that distinguish them.

use std::cell::OnceCell;

use super::tree::{MachineTree, ShapePaths};
use super::{parts, reason};
use crate::placement::parse;
use crate::placement::resolve::ResolveContext;
use crate::{CpuSet, Level, Machine};

/// Order of preference among levels with the same objects.
const NAMED_FIRST: [Level; 6] = [Level::Package, Level::Node, Level::Llc, Level::Core, Level::Cluster, Level::Die];

/// Input of the planner.
pub struct PlannerMachine<'a> {
    context: ResolveContext<'a>,
    /// Cpus that a placement may use.
    pub usable: CpuSet,
    /// The cpu with the most interrupts, if known.
    pub busiest: Option<u32>,
    /// The tree in which the busiest cpu is unlike all others.
    tree: OnceCell<MachineTree>,
    paths: OnceCell<[ShapePaths; 2]>,
}

impl<'a> PlannerMachine<'a> {
    /// Creates the scene of a machine's usable cpus.
    pub fn new(context: ResolveContext<'a>, usable: CpuSet, busiest: Option<u32>) -> Self {
        Self { context, usable, busiest, tree: OnceCell::new(), paths: OnceCell::new() }
    }

    /// Returns the machine's tree, in which the busiest cpu is unlike all others.
    pub fn tree(&self) -> &MachineTree {
        self.tree.get_or_init(|| self.build_tree(self.busiest))
    }

    /// Returns the paths of shapes through that tree, and through the one in which no cpu is busy.
    pub fn shape_paths(&self) -> &[ShapePaths; 2] {
        self.paths.get_or_init(|| [self.tree().shape_paths(), self.build_tree(None).shape_paths()])
    }

    fn build_tree(&self, busiest: Option<u32>) -> MachineTree {
        MachineTree::from_parts(parts::parts_of_machine(self.machine(), &self.usable, busiest))
    }

    /// Returns the machine.
    pub fn machine(&self) -> &'a Machine {
        self.context.machine
    }

    /// Resolves an expression; `None` if it has no cpus here.
    pub fn resolve_text(&self, expression: &str) -> Option<CpuSet> {
        Some(parse(expression).ok()?.resolve_on(&self.context).ok()?.cpus)
    }

    /// Returns the objects of a level that have cpus of a pool, with their index and these cpus.
    pub fn objects_in_pool(&self, level: Level, pool: &CpuSet) -> Vec<(usize, CpuSet)> {
        let objects = self.machine().objects_of(level).into_iter().map(|cpus| cpus.intersection(pool));
        objects.enumerate().filter(|(_, cpus)| !cpus.is_empty()).collect()
    }

    /// Returns the levels at which a pool has several objects, outermost first, and always the core. Levels with equal objects appear once.
    pub fn distinct_levels(&self, pool: &CpuSet) -> Vec<Level> {
        let mut kept: Vec<(Level, Vec<CpuSet>)> = Vec::new();
        for level in NAMED_FIRST {
            let objects: Vec<CpuSet> = self.objects_in_pool(level, pool).into_iter().map(|(_, cpus)| cpus).collect();
            let differs = objects.len() > 1 && kept.iter().all(|(_, known)| *known != objects);
            if differs || level == Level::Core {
                // The core is kept even if another level equals it: patterns treat it specially.
                kept.retain(|(_, known)| level != Level::Core || *known != objects);
                kept.push((level, objects));
            }
        }
        let mut levels: Vec<Level> = kept.into_iter().map(|(level, _)| level).collect();
        levels.sort_unstable();
        levels
    }

    /// Returns the first core with a usable cpu, and its cpus.
    pub fn first_core(&self) -> Option<(usize, CpuSet)> {
        self.objects_in_pool(Level::Core, &self.usable).into_iter().next()
    }

    /// Returns true if a set has only cpus on nodes without memory while other usable cpus have memory. If costs were measured, only cheap
    /// memory counts.
    pub fn lacks_memory(&self, cpus: &CpuSet) -> bool {
        if let Some(cheap) = self.machine().cheap_memory() {
            return cpus.is_disjoint(&cheap) && !self.usable.is_disjoint(&cheap);
        }
        let nodes = &self.machine().nodes;
        let bare = |node: &&crate::machine::NumaNode| !self.machine().has_memory(node);
        let without: CpuSet = nodes.iter().filter(bare).flat_map(|node| node.cpus.iter()).collect();
        cpus.is_subset(&without) && !self.usable.is_subset(&without)
    }

    /// Describes how some cpus differ from others of the machine; empty if they are of several sorts.
    pub fn sort_of(&self, cpus: &CpuSet) -> String {
        let machine = self.machine();
        let kind = machine.kinds.iter().find(|kind| cpus.is_subset(&kind.cpus)).map(|kind| kind.core_type);
        let llc = machine.llcs.iter().find(|llc| cpus.is_subset(&llc.cpus));
        let unequal = machine.llcs.iter().any(|llc| llc.vcache) && machine.llcs.iter().any(|llc| !llc.vcache);
        let stacked = llc.filter(|_| unequal).map(|llc| llc.vcache);
        reason::describe_sort(kind, stacked, self.lacks_memory(cpus))
    }
}
