//! Agreement of the groups in the costs with the levels that the kernel reports.

use std::collections::BTreeSet;

use corewise_machine::{CpuSet, Level, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Groups of the costs compared with the levels that the kernel reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum KernelAgreement {
    /// They are the objects of a level.
    Same {
        /// The level.
        level: Level,
    },
    /// Objects of a level are cut into several groups: the kernel does not report what divides them.
    Finer {
        /// The innermost level with cut objects.
        level: Level,
        /// The objects that are cut, each with its groups.
        cut: Vec<(CpuSet, Vec<CpuSet>)>,
    },
    /// Each group is several objects of a level: communication between these costs no more than inside.
    Coarser {
        /// The outermost level with joined objects.
        level: Level,
    },
    /// They cut across the levels that the kernel reports.
    Across,
}

/// The levels that a group could be, innermost first: caches, and containers of caches.
const CACHES: [Level; 2] = [Level::Cluster, Level::Llc];
const HOLDERS: [Level; 3] = [Level::Die, Level::Node, Level::Package];

impl KernelAgreement {
    /// Compares groups with the levels of a machine, restricted to the cpus of a map.
    pub fn compare_groups(groups: &[CpuSet], machine: &Machine, cpus: &CpuSet) -> Self {
        let told = |level: Level| -> Vec<CpuSet> {
            let objects = machine.objects_of(level).into_iter().map(|object| object.intersection(cpus));
            objects.filter(|object| !object.is_empty()).collect()
        };
        // Last-level caches first: most groups are these, and a cluster may have the same cpus.
        let by_likelihood = [Level::Llc, Level::Cluster, Level::Die, Level::Node, Level::Package];
        if let Some(level) = by_likelihood.into_iter().find(|&level| set_of(&told(level)) == set_of(groups)) {
            return Self::Same { level };
        }
        let is_inside = |inner: &CpuSet, outer: &[CpuSet]| outer.iter().any(|object| inner.is_subset(object));
        let cut_by = |level: &Level| groups.iter().all(|group| is_inside(group, &told(*level)));
        let finer = |level: Level| Self::Finer { level, cut: cut_objects(groups, &told(level)) };
        // Objects of one core each divide nothing and join nothing.
        let core = |cpu| machine.index_of(Level::Core, cpu);
        let has_several = |object: &CpuSet| object.iter().any(|cpu| core(cpu) != object.lowest().and_then(core));
        let divides = |level: &Level| told(*level).iter().any(has_several);
        let joined = |level: &Level| divides(level) && told(*level).iter().all(|object| is_inside(object, groups));
        // If groups of whole caches divide a die, nothing is hidden.
        if let Some(level) = CACHES.into_iter().find(cut_by) {
            finer(level)
        } else if let Some(level) = CACHES.into_iter().chain(HOLDERS).rev().find(joined) {
            Self::Coarser { level }
        } else if CACHES.iter().any(divides) {
            Self::Across
        } else {
            HOLDERS.into_iter().find(cut_by).map_or(Self::Across, finer)
        }
    }
}

fn set_of(groups: &[CpuSet]) -> BTreeSet<String> {
    groups.iter().map(CpuSet::to_string).collect()
}

/// Returns the objects that contain several groups, with these.
fn cut_objects(groups: &[CpuSet], objects: &[CpuSet]) -> Vec<(CpuSet, Vec<CpuSet>)> {
    let parts = |object: &CpuSet| groups.iter().filter(|group| group.is_subset(object)).cloned().collect::<Vec<_>>();
    let cut = objects.iter().map(|object| (object.clone(), parts(object)));
    cut.filter(|(_, parts)| parts.len() > 1).collect()
}
