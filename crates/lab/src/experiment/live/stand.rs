//! Where the threads of several processes are to stand: by the process, and by their names.

use corewise_machine::CpuSet;
use corewise_model::trial::{Arm, ThreadRole};
use regex_lite::Regex;

use crate::LabError;

/// Where threads are to stand on one arm; those that it says nothing of keep what they have.
#[derive(Debug)]
pub struct Stand<'a> {
    /// Threads with names of a pattern; the first that matches counts.
    pub roles: Vec<(&'a Regex, &'a CpuSet)>,
    /// All other threads, by the process that they descend from; of more processes the last.
    pub roots: Vec<Option<&'a CpuSet>>,
}

impl<'a> Stand<'a> {
    /// All threads on the same cpus, or on what they have.
    #[cfg(test)]
    pub fn together(cpus: Option<&'a CpuSet>) -> Self {
        Self { roles: Vec::new(), roots: vec![cpus] }
    }

    /// The cpus of a thread, by the number of its root and by its name, which is asked for only where it matters.
    pub fn of(&self, root: usize, name: impl Fn() -> String) -> Option<&'a CpuSet> {
        let of_root = || *self.roots.get(root).or(self.roots.last())?;
        if self.roles.is_empty() {
            return of_root();
        }
        let name = name();
        let role = self.roles.iter().find(|(pattern, _)| pattern.is_match(&name));
        role.map(|(_, cpus)| *cpus).or_else(of_root)
    }
}

/// The roles of threads by name, as they are looked for.
#[derive(Clone, Debug)]
pub struct Names(Vec<(String, Regex)>);

impl Names {
    /// Those of a workload.
    ///
    /// # Errors
    /// [`LabError::Pattern`] where a pattern is no regular expression.
    pub fn new(roles: &[ThreadRole]) -> Result<Self, LabError> {
        let role = |role: &ThreadRole| {
            let pattern = Regex::new(&role.pattern)
                .map_err(|error| LabError::Pattern { metric: format!("role {}", role.name), source: error.into() })?;
            Ok((role.name.clone(), pattern))
        };
        roles.iter().map(role).collect::<Result<_, _>>().map(Self)
    }

    /// Where threads stand on an arm: these names, and the processes of these roles in their order.
    pub fn stand<'a>(&'a self, arm: &'a Arm, processes: &[&str]) -> Stand<'a> {
        let placed = |(name, pattern): &'a (String, Regex)| Some((pattern, &arm.place_of(name)?.cpus));
        Stand {
            roles: self.0.iter().filter_map(placed).collect(),
            roots: processes.iter().map(|role| arm.cpus_of(role)).collect(),
        }
    }
}

/// All that an experiment gives in turn.
pub fn placements(arms: &[Arm]) -> Vec<CpuSet> {
    let of_arm = |arm: &Arm| {
        let whole = arm.cpus.iter().filter(|_| arm.roles.is_empty()).cloned();
        whole.chain(arm.roles.iter().map(|place| place.cpus.clone())).collect::<Vec<_>>()
    };
    let mut all: Vec<CpuSet> = arms.iter().flat_map(of_arm).collect();
    all.sort();
    all.dedup();
    all
}
