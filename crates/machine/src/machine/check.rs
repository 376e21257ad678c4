//! Checks on a machine from a file. A machine assembled from an operating system's files passes them.

use crate::{CpuSet, Level, Machine};

/// Maximum cpus of a machine: Linux supports no more.
const MOST_CPUS: usize = 8192;
/// Maximum memory nodes of a machine: Linux supports no more.
const MOST_NODES: usize = 1024;
/// Maximum caches of a cpu: two on the first level, one on each of the others, and as many again.
const MOST_CACHES_OF_A_CPU: usize = 10;
/// Maximum devices of a machine, and maximum costs of its memory.
const MOST_OTHERS: usize = 1 << 14;

impl Machine {
    /// Checks a machine from a file.
    ///
    /// # Errors
    /// The first inconsistency, in words.
    pub fn check_consistency(&self) -> Result<(), String> {
        self.check_counts()?;
        self.check_cpus()?;
        Level::ALL.into_iter().filter(|level| *level != Level::Node).try_for_each(|level| self.check_level(level))?;
        let nodes = self.nodes.iter().map(|node| &node.cpus);
        let kinds = self.kinds.iter().map(|kind| &kind.cpus);
        let ranks = self.ranking.iter().flat_map(|ranking| &ranking.ranks).map(|rank| &rank.cpus);
        let parts = [self.check_parts(nodes, "nodes"), self.check_parts(kinds, "kinds of core")];
        parts.into_iter().chain([self.check_parts(ranks, "ranks")]).collect()
    }

    fn check_counts(&self) -> Result<(), String> {
        let cpus = self.possible.len();
        let counts = [
            (cpus, MOST_CPUS, "cpus"),
            (self.nodes.len(), MOST_NODES, "nodes"),
            (self.caches.len(), MOST_CACHES_OF_A_CPU * cpus, "caches"),
            (self.processor_groups.len(), MOST_NODES, "processor groups"),
            (self.kinds.len(), cpus, "kinds of core"),
            (self.ranking.as_ref().map_or(0, |ranking| ranking.ranks.len()), cpus, "ranks"),
            (self.devices.len(), MOST_OTHERS, "devices"),
            (self.memory_costs.len(), MOST_OTHERS, "costs of memory"),
        ];
        match counts.into_iter().find(|(count, most, _)| count > most) {
            Some((count, most, what)) => {
                Err(format!("its machine has {count} {what}, and at most {most} are possible"))
            }
            None => Ok(()),
        }
    }

    fn check_cpus(&self) -> Result<(), String> {
        let Self { possible, present, online, allowed, .. } = self;
        match () {
            () if online.is_empty() => Err("its machine has no cpu".to_owned()),
            () if !(allowed.is_subset(online) && online.is_subset(present) && present.is_subset(possible)) => {
                Err("its machine has cpus that are online and not present".to_owned())
            }
            () => Ok(()),
        }
    }

    /// Checks that each online cpu is in exactly one object of a level.
    fn check_level(&self, level: Level) -> Result<(), String> {
        // The single cpus are objects of their own by definition.
        let objects = if level == Level::Cpu { Vec::new() } else { self.objects_of(level) };
        if objects.iter().any(CpuSet::is_empty) {
            return Err("its machine has objects without cpus".to_owned());
        }
        let all: usize = objects.iter().map(CpuSet::len).sum();
        let name = format!("objects of the level {level}");
        self.check_parts(objects.iter(), &name)?;
        match level == Level::Cpu || level == Level::Group || all == self.online.len() {
            true => Ok(()),
            false => Err(format!("its machine has cpus in no object of the level {level}")),
        }
    }

    /// Checks that the sets are disjoint and online.
    fn check_parts<'a>(&self, sets: impl Iterator<Item = &'a CpuSet>, name: &str) -> Result<(), String> {
        let mut cpus: Vec<u32> = Vec::new();
        for set in sets {
            if cpus.len() + set.len() > self.online.len() || !set.is_subset(&self.online) {
                return Err(format!("its machine has cpus that are not online, or twice, in {name}"));
            }
            cpus.extend(set.iter());
        }
        cpus.sort_unstable();
        match cpus.windows(2).all(|pair| pair[0] < pair[1]) {
            true => Ok(()),
            false => Err(format!("its machine has a cpu twice in {name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_file;

    #[test]
    fn every_machine_that_is_built_in_passes() {
        for machine in machine_file::BUILT_IN {
            let machine = machine_file::parse(machine.text).unwrap().machine;
            assert_eq!(machine.check_consistency(), Ok(()), "{:?}", machine.processor);
        }
    }

    #[test]
    fn objects_that_are_no_partition_of_the_cpus_are_refused() {
        let machine = machine_file::parse(machine_file::BUILT_IN[1].text).unwrap().machine;
        let refused = |change: fn(&mut Machine)| {
            let mut changed = machine.clone();
            change(&mut changed);
            changed.check_consistency().unwrap_err()
        };
        refused(|machine| machine.cores.push(machine.cores[0].clone()));
        refused(|machine| machine.cores.clear());
        refused(|machine| machine.nodes.push(machine.nodes[0].clone()));
        refused(|machine| machine.nodes = vec![crate::machine::NumaNode::default(); 2000]);
        refused(|machine| machine.online = CpuSet::new());
        refused(|machine| machine.present = CpuSet::new());
        refused(|machine| machine.possible = CpuSet::first_cpus(65_000));
        refused(|machine| machine.llcs[0].cpus = CpuSet::new());
        refused(|machine| machine.groups = vec![CpuSet::from_cpu(0), CpuSet::from_cpu(0)]);
    }
}
