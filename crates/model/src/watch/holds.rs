//! Threads and cpus held by the rules of a running keeper.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;

use crate::keep::KeptProcess;

/// State of what rules hold at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleHolds {
    threads: BTreeMap<u32, (String, CpuSet)>,
    cpus: BTreeMap<u32, BTreeSet<String>>,
}

impl RuleHolds {
    /// Collects the holds of a keeper's processes, by their numbers. Processes that are left alone have none.
    pub fn from_processes(processes: &BTreeMap<u32, KeptProcess>) -> Self {
        let mut holds = Self::default();
        for held in processes.values().filter(|held| !held.is_left_alone()) {
            for (thread, known) in &held.threads {
                let Some(given) = &known.given else { continue };
                holds.threads.insert(*thread, (held.rule.clone(), given.clone()));
                for cpu in given.iter() {
                    holds.cpus.entry(cpu).or_default().insert(held.rule.clone());
                }
            }
        }
        holds
    }

    /// Returns the rule that holds a thread, with the cpus that it gave it.
    pub fn of_thread(&self, thread: u32) -> Option<(&str, &CpuSet)> {
        self.threads.get(&thread).map(|(rule, cpus)| (rule.as_str(), cpus))
    }

    /// Returns the rules that hold threads on a cpu, by name.
    pub fn of_cpu(&self, cpu: u32) -> Vec<String> {
        self.cpus.get(&cpu).into_iter().flatten().cloned().collect()
    }
}
