//! Expected facts about a machine, computed from its description alone.

use std::collections::BTreeMap;

use crate::cpus::{self, CpuNumbers};
use crate::{CoreThreads, CpuSeat, RigMachine};

/// Expected facts, with cpu lists as the kernel writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedMachine {
    /// Plugged-in cpus.
    pub present: String,
    /// Online cpus.
    pub online: String,
    /// Cpus that an ordinary process may use.
    pub allowed: String,
    /// Online cpus out of the scheduler's balancing.
    pub isolated: String,
    /// Online cpus without a tick.
    pub nohz_full: String,
    /// Packages, in order of their lowest online cpu, as are the other levels.
    pub packages: Vec<String>,
    /// Dies.
    pub dies: Vec<String>,
    /// Last-level cache domains.
    pub llcs: Vec<String>,
    /// Cores that share an L2.
    pub clusters: Vec<String>,
    /// Cores.
    pub cores: Vec<String>,
    /// Memory nodes, in order of their numbers.
    pub nodes: Vec<ExpectedNode>,
}

/// Expected facts about a memory node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedNode {
    /// Its online cpus.
    pub cpus: String,
    /// True if it has memory.
    pub memory: bool,
    /// Its distances to all nodes.
    pub distances: Vec<u32>,
}

impl RigMachine {
    /// Returns the expected facts about this machine.
    pub fn expected_machine(&self) -> ExpectedMachine {
        self.expected_without(&CpuNumbers::new())
    }

    /// Returns the expected facts while the cpus `off` are switched off, too.
    pub fn expected_without(&self, off: &CpuNumbers) -> ExpectedMachine {
        let online = &(&self.present_cpus() - &cpus::parse(self.offline)) - off;
        let dies = self.group_cpus(&online, |place| (place.package, place.die, 0, 0));
        let shared = self.group_cpus(&online, |place| (place.package, place.die, place.core, 0));
        let single = self.group_cpus(&online, |place| (place.package, place.die, place.core, place.thread));
        ExpectedMachine {
            present: cpus::format_list(&self.present_cpus()),
            online: cpus::format_list(&online),
            allowed: cpus::format_list(&self.allowed_cpus(&online)),
            isolated: cpus::format_list(&(&cpus::parse(self.isolated) & &online)),
            nohz_full: cpus::format_list(&(&cpus::parse(self.nohz_full) & &online)),
            packages: self.group_cpus(&online, |place| (place.package, 0, 0, 0)),
            llcs: dies.clone(),
            dies,
            clusters: shared.clone(),
            cores: if self.threads == CoreThreads::Module { single } else { shared },
            nodes: self.expected_nodes(&online),
        }
    }

    /// Returns the cpus of a process that was not placed: the kernel keeps isolated ones for processes that ask for them.
    fn allowed_cpus(&self, online: &CpuNumbers) -> CpuNumbers {
        let balanced = online - &cpus::parse(self.isolated);
        let cpuset = cpus::parse(self.cpuset);
        if cpuset.is_empty() { balanced } else { &balanced & &cpuset }
    }

    /// Returns the lists of online cpus that share a key, in order of their lowest cpu.
    fn group_cpus<K: Ord>(&self, online: &CpuNumbers, key: impl Fn(CpuSeat) -> K) -> Vec<String> {
        let mut groups: BTreeMap<K, CpuNumbers> = BTreeMap::new();
        for (cpu, place) in (0..).zip(self.cpu_places()).filter(|(cpu, _)| online.contains(cpu)) {
            groups.entry(key(place)).or_default().insert(cpu);
        }
        let mut sets: Vec<CpuNumbers> = groups.into_values().collect();
        sets.sort_by_key(|cpus| cpus.first().copied());
        sets.iter().map(cpus::format_list).collect()
    }

    fn expected_nodes(&self, online: &CpuNumbers) -> Vec<ExpectedNode> {
        if self.nodes.is_empty() {
            return vec![ExpectedNode { cpus: cpus::format_list(online), memory: true, distances: vec![10] }];
        }
        let own = |node: usize| (0..self.nodes.len()).map(|other| if node == other { 10 } else { 20 }).collect();
        let nodes = self.nodes.iter().enumerate();
        nodes
            .map(|(number, node)| ExpectedNode {
                cpus: cpus::format_list(&(&cpus::parse(node.cpus) & online)),
                memory: node.size_mib > 0,
                distances: self.distances.get(number).map_or_else(|| own(number), |row| row.to_vec()),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::find_machine;

    #[test]
    fn expectations_are_those_of_the_machines_as_published() {
        let fx = find_machine("fx-8150").unwrap().expected_machine();
        assert_eq!((fx.clusters.join(" "), fx.cores.len()), ("0-1 2-3 4-5 6-7".to_owned(), 8));
        let ryzen = find_machine("ryzen-9-9950x3d").unwrap().expected_machine();
        assert_eq!(ryzen.llcs, ["0-7,16-23", "8-15,24-31"]);
        let threadripper = find_machine("threadripper-3960x").unwrap().expected_machine();
        assert_eq!((threadripper.llcs.len(), &*threadripper.llcs[0]), (8, "0-2,24-26"));
        let nodes = find_machine("threadripper-2990wx").unwrap().expected_machine().nodes;
        assert_eq!(nodes.iter().map(|node| node.memory).collect::<Vec<_>>(), [true, false, true, false]);
        assert_eq!(nodes[3].distances, [16, 16, 16, 10]);
    }

    #[test]
    fn missing_threads_and_cpus_that_are_off_are_left_out() {
        assert_eq!(find_machine("hybrid").unwrap().expected_machine().cores, ["0-1", "2-3", "4", "5", "6", "7"]);
        let offline = find_machine("offline").unwrap().expected_machine();
        assert_eq!((&*offline.present, &*offline.online), ("0-7", "0,2-4,7"));
        assert_eq!(offline.cores, ["0", "2-3", "4", "7"]);
    }

    #[test]
    fn isolated_cpus_and_those_outside_a_cpuset_are_not_for_everyone() {
        assert_eq!(find_machine("isolated").unwrap().expected_machine().allowed, "0-1,4-5");
        assert_eq!(find_machine("container").unwrap().expected_machine().allowed, "2-3,6");
    }
}
