//! Cpus of the threads of several processes, by process and by thread name.

use corewise_machine::CpuSet;
use corewise_model::trial::{PlacementArm, ThreadRole};
use regex_lite::Regex;

use crate::LabError;

/// Cpus of threads on one arm; threads without an entry keep their own.
#[derive(Debug)]
pub struct ArmPlaces<'a> {
    /// Cpus of threads by a pattern of names; the first match counts.
    pub roles: Vec<(&'a Regex, &'a CpuSet)>,
    /// Cpus of all other threads, by the root process that they descend from. Further roots use the last entry.
    pub roots: Vec<Option<&'a CpuSet>>,
}

impl<'a> ArmPlaces<'a> {
    /// Puts all threads on the same cpus, or on their own.
    #[cfg(test)]
    pub fn from_cpus(cpus: Option<&'a CpuSet>) -> Self {
        Self { roles: Vec::new(), roots: vec![cpus] }
    }

    /// Returns the cpus of a thread by the index of its root and by its name, which is read only if needed.
    pub fn cpus_of(&self, root: usize, name: impl Fn() -> String) -> Option<&'a CpuSet> {
        let of_root = || *self.roots.get(root).or(self.roots.last())?;
        if self.roles.is_empty() {
            return of_root();
        }
        let name = name();
        let role = self.roles.iter().find(|(pattern, _)| pattern.is_match(&name));
        role.map(|(_, cpus)| *cpus).or_else(of_root)
    }

    /// Returns true if threads get these cpus by their names.
    pub fn is_role_mask(&self, mask: &CpuSet) -> bool {
        self.roles.iter().any(|(_, cpus)| *cpus == mask)
    }
}

/// Roles of threads by name, with compiled patterns.
#[derive(Clone, Debug)]
pub struct RolePatterns(Vec<(String, Regex)>);

impl RolePatterns {
    /// Compiles the patterns of a workload's roles.
    ///
    /// # Errors
    /// [`LabError::Pattern`] if a pattern is not a regular expression.
    pub fn new(roles: &[ThreadRole]) -> Result<Self, LabError> {
        let role = |role: &ThreadRole| {
            let pattern = Regex::new(&role.pattern)
                .map_err(|error| LabError::Pattern { metric: format!("role {}", role.name), source: error.into() })?;
            Ok((role.name.clone(), pattern))
        };
        roles.iter().map(role).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the cpus of threads on an arm: by these names, and by the processes of these roles in order.
    pub fn places_on<'a>(&'a self, arm: &'a PlacementArm, processes: &[&str]) -> ArmPlaces<'a> {
        let placed = |(name, pattern): &'a (String, Regex)| Some((pattern, &arm.place_of(name)?.cpus));
        ArmPlaces {
            roles: self.0.iter().filter_map(placed).collect(),
            roots: processes.iter().map(|role| arm.cpus_of(role)).collect(),
        }
    }
}

/// Returns all cpu sets that an experiment uses in turn.
pub fn list_placements(arms: &[PlacementArm]) -> Vec<CpuSet> {
    let of_arm = |arm: &PlacementArm| {
        let whole = arm.cpus.iter().filter(|_| arm.roles.is_empty()).cloned();
        whole.chain(arm.roles.iter().map(|place| place.cpus.clone())).collect::<Vec<_>>()
    };
    let mut all: Vec<CpuSet> = arms.iter().flat_map(of_arm).collect();
    all.sort();
    all.dedup();
    all
}
