//! Known structure of a map's cpus before any measurement: shared cores, clusters, last-level caches, dies, nodes,
//! packages.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Level, Machine};

use super::{CpuAncestors, CpuRelation, CpuRelationTable};

/// The cpus of a map by their places, with their known structure.
#[derive(Clone, Debug)]
pub struct CpuStructure {
    /// The cpus in the order of their places.
    pub cpus: Vec<u32>,
    /// The places of each core's cpus.
    pub cores: Vec<Vec<usize>>,
    /// The core of each place.
    core_of: Vec<usize>,
    /// The last-level cache of each core; one for all if unknown.
    cache_of: Vec<usize>,
    package_of: Vec<usize>,
    /// The ancestors of each place's cpu, if a machine reports them.
    ancestors: Option<Vec<CpuAncestors>>,
}

/// Pairs of cores that are equal in the topology; ordered by relation, then caches, then packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreBlock {
    /// Their relation.
    pub relation: CpuRelation,
    /// The last-level caches of the two, the lower first.
    pub caches: [usize; 2],
    /// Their packages, likewise.
    pub packages: [usize; 2],
}

/// Coarse distance of two cpus, by which errors are reported: near pairs are few on any machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairNearness {
    /// On one core.
    Core,
    /// On one last-level cache.
    Cache,
    /// On different last-level caches.
    Across,
}

/// Blocks of one relation between the same two packages.
pub type BlockFamily = (CpuRelation, [usize; 2]);

impl CoreBlock {
    /// Returns the family that it belongs to.
    pub fn block_family(&self) -> BlockFamily {
        (self.relation, self.packages)
    }

    /// Returns its place in the order of blocks as one number: every pair of a map looks up its block. A machine has fewer than 2^24 caches.
    fn order_key(&self) -> u128 {
        let ([near, far], [first, last]) = (self.caches, self.packages);
        let caches = (near as u128) << 24 | far as u128;
        let packages = (first as u128) << 24 | last as u128;
        (self.relation as u128) << 96 | caches << 48 | packages
    }
}

impl Ord for CoreBlock {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order_key().cmp(&other.order_key())
    }
}

impl PartialOrd for CoreBlock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl CpuStructure {
    /// Reads the structure of some cpus from a machine; without one every cpu is a core of its own, and all are alike.
    pub fn new(machine: Option<&Machine>, cpus: &CpuSet) -> Self {
        let list: Vec<u32> = cpus.iter().collect();
        let table = machine.map(CpuRelationTable::new);
        let ancestors: Option<Vec<CpuAncestors>> =
            table.map(|table| list.iter().map(|cpu| table.ancestors_of(*cpu)).collect());
        let index =
            |level: Level, place: usize| ancestors.as_ref().and_then(|ancestors| ancestors[place].index_of(level));
        let mut by_core = BTreeMap::<_, Vec<usize>>::new();
        for place in 0..list.len() {
            // A cpu of unknown core is a core of its own.
            let key = index(Level::Core, place).map_or((1, place), |core| (0, core));
            by_core.entry(key).or_default().push(place);
        }
        let mut cores: Vec<Vec<usize>> = by_core.into_values().collect();
        cores.sort_unstable();
        let mut core_of = vec![0; list.len()];
        for (core, places) in cores.iter().enumerate() {
            places.iter().for_each(|&place| core_of[place] = core);
        }
        let of_cores = |level| cores.iter().map(|places| index(level, places[0]).unwrap_or(0)).collect();
        let (cache_of, package_of) = (of_cores(Level::Llc), of_cores(Level::Package));
        Self { cpus: list, cores, core_of, cache_of, package_of, ancestors }
    }

    /// Returns true if a machine reports the structure.
    pub fn is_named(&self) -> bool {
        self.ancestors.is_some()
    }

    /// Returns the core of a place.
    pub fn core_at(&self, place: usize) -> usize {
        self.core_of[place]
    }

    /// Returns the last-level cache of a core.
    pub fn cache_at(&self, core: usize) -> usize {
        self.cache_of[core]
    }

    /// Returns the number of last-level caches.
    pub fn cache_count(&self) -> usize {
        self.cache_of.iter().collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Divides a cache into groups, given cores with the group of each. Returns true if that changed anything.
    pub fn divide_caches(&mut self, groups: &[(usize, usize)]) -> bool {
        let next = self.cache_of.iter().max().map_or(0, |last| last + 1);
        let before = self.cache_count();
        for &(core, group) in groups.iter().filter(|(_, group)| *group > 0) {
            self.cache_of[core] = next + group - 1;
        }
        self.cache_count() > before
    }

    /// Returns the cores of a cache.
    pub fn cores_of(&self, cache: usize) -> Vec<usize> {
        (0..self.cores.len()).filter(|&core| self.cache_of[core] == cache).collect()
    }

    /// Sets groups as caches, if the machine reported none or wrong ones.
    pub fn tell_groups(&mut self, groups: &[CpuSet]) {
        let first = |places: &Vec<usize>| self.cpus[places[0]];
        let group = |cpu: u32| groups.iter().position(|group| group.contains(cpu)).unwrap_or(groups.len());
        self.cache_of = self.cores.iter().map(|places| group(first(places))).collect();
    }

    /// Returns the cpus of each cache, as far as they are in the map.
    pub fn caches_as_sets(&self) -> Vec<CpuSet> {
        let mut sets = BTreeMap::<usize, CpuSet>::new();
        for (core, places) in self.cores.iter().enumerate() {
            sets.entry(self.cache_of[core]).or_default().extend(places.iter().map(|&place| self.cpus[place]));
        }
        sets.into_values().collect()
    }

    /// Returns the relation of two places.
    pub fn relation_between(&self, i: usize, j: usize) -> CpuRelation {
        if self.core_of[i] == self.core_of[j] {
            return CpuRelation::SameCore;
        }
        let told = self.ancestors.as_ref().and_then(|ancestors| ancestors[i].relation_to(&ancestors[j]));
        let is_same = self.cache_of[self.core_of[i]] == self.cache_of[self.core_of[j]];
        match told {
            // Groups divided by a search are farther apart than the topology reports.
            Some(CpuRelation::SameCluster | CpuRelation::SameLlc | CpuRelation::SameLlcOtherNode) | None
                if !is_same =>
            {
                CpuRelation::OtherLlc
            }
            told => told.unwrap_or(CpuRelation::SameLlc),
        }
    }

    /// Returns the block of two places.
    pub fn block_between(&self, i: usize, j: usize) -> CoreBlock {
        let (a, b) = (self.core_of[i], self.core_of[j]);
        let both = |of: &[usize]| [of[a].min(of[b]), of[a].max(of[b])];
        CoreBlock {
            relation: self.relation_between(i, j),
            caches: both(&self.cache_of),
            packages: both(&self.package_of),
        }
    }

    /// Returns the coarse distance of two places.
    pub fn nearness_between(&self, i: usize, j: usize) -> PairNearness {
        let (a, b) = (self.core_of[i], self.core_of[j]);
        match () {
            () if a == b => PairNearness::Core,
            () if self.cache_of[a] == self.cache_of[b] => PairNearness::Cache,
            () => PairNearness::Across,
        }
    }

    /// Returns the places of the first cpu of each core.
    pub fn first_of_cores(&self) -> Vec<usize> {
        self.cores.iter().map(|places| places[0]).collect()
    }
}
