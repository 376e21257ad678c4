//! The cpus of a machine file: their places, caches and frequencies.

use toml::Spanned;

use super::check::{self, DocumentProblem};
use super::document::{CacheEntry, CacheSharing, MachineDocument};
use super::objects::ObjectList;
use crate::CpuSet;
use crate::facts::{CacheFacts, CpuFacts};

/// Returns the objects of a level, or the default if the file does not name them.
fn objects_or_default(named: &Option<Spanned<ObjectList>>, otherwise: impl FnOnce() -> Vec<CpuSet>) -> Vec<CpuSet> {
    named.as_ref().map_or_else(otherwise, |objects| objects.get_ref().object_sets().cloned().collect())
}

/// Objects of the levels that name every cpu.
struct LevelSets {
    packages: Vec<CpuSet>,
    dies: Vec<CpuSet>,
    cores: Vec<CpuSet>,
}

impl LevelSets {
    fn from_document(document: &MachineDocument) -> Self {
        let all = document.cpus.get_ref();
        let packages = objects_or_default(&document.packages, || vec![all.clone()]);
        let dies = objects_or_default(&document.dies, || packages.clone());
        Self {
            packages,
            dies,
            cores: objects_or_default(&document.cores, || all.iter().map(CpuSet::from_cpu).collect()),
        }
    }
}

/// Returns the online cpus with their places, caches and frequencies.
pub fn build_cpus(document: &MachineDocument, online: &CpuSet) -> Result<Vec<CpuFacts>, DocumentProblem> {
    let levels = LevelSets::from_document(document);
    let mut cpus = CpuFactsTable::new(document.cpus.get_ref());
    cpus.for_each_object(&levels.packages, |cpu, at, _| cpu.package = Some(at as i64));
    cpus.for_each_object(&levels.cores, |cpu, at, core| {
        cpu.core = Some(at as i64);
        cpu.thread_siblings = Some(core.clone());
    });
    if document.dies.is_some() {
        let numbers = numbers_within(&levels.dies, &levels.packages);
        cpus.for_each_object(&levels.dies, |cpu, at, die| {
            cpu.die = Some(numbers[at]);
            cpu.die_cpus = Some(die.clone());
        });
    }
    let clusters = objects_or_default(&document.clusters, Vec::new);
    cpus.for_each_object(&clusters, |cpu, _, cluster| cpu.cluster_cpus = Some(cluster.clone()));
    for entry in &document.caches {
        add_caches(document, entry, &levels, &mut cpus)?;
    }
    set_frequencies(document, &mut cpus)?;
    Ok(cpus.found.into_iter().flatten().filter(|cpu| online.contains(cpu.number)).collect())
}

/// Adds an entry's caches to its cpus.
fn add_caches(
    document: &MachineDocument,
    entry: &Spanned<CacheEntry>,
    levels: &LevelSets,
    cpus: &mut CpuFactsTable,
) -> Result<(), DocumentProblem> {
    let sets = cache_sets(document, entry, levels)?;
    for set in &sets {
        cpus.may_share(set, entry.get_ref()).map_err(|what| DocumentProblem { span: entry.span(), what })?;
    }
    let CacheEntry { cache, size, .. } = entry.get_ref();
    cpus.for_each_object(&sets, |cpu, _, set| {
        let size_bytes = size.map(|size| size.bytes);
        cpu.caches.push(CacheFacts { level: cache.level, kind: cache.kind, size_bytes, shared_with: set.clone() });
    });
    Ok(())
}

/// Facts of each cpu, by its number.
struct CpuFactsTable {
    found: Vec<Option<CpuFacts>>,
}

impl CpuFactsTable {
    fn new(all: &CpuSet) -> Self {
        let last = all.highest().unwrap_or_default();
        let of = |number| all.contains(number).then(|| CpuFacts { number, ..CpuFacts::default() });
        Self { found: (0..=last).map(of).collect() }
    }

    /// Calls the closure for each cpu of each object with the cpu's facts, the object's index, and the object.
    fn for_each_object(&mut self, objects: &[CpuSet], mut tell: impl FnMut(&mut CpuFacts, usize, &CpuSet)) {
        for (at, object) in objects.iter().enumerate() {
            for cpu in object.iter() {
                if let Some(facts) = self.found.get_mut(cpu as usize).and_then(Option::as_mut) {
                    tell(facts, at, object);
                }
            }
        }
    }

    /// Checks that cpus may share a cache of an entry: they are whole cores, and none has a cache of this name.
    fn may_share(&self, set: &CpuSet, entry: &CacheEntry) -> Result<(), String> {
        let named = |cache: &CacheFacts| (cache.level, cache.kind) == (entry.cache.level, entry.cache.kind);
        for facts in set.iter().filter_map(|cpu| self.found.get(cpu as usize)?.as_ref()) {
            if facts.caches.iter().any(named) {
                return Err(format!("cpu {} already has a cache of this name", facts.number));
            }
            if let Some(core) = facts.thread_siblings.as_ref().filter(|core| !core.is_subset(set)) {
                return Err(format!("the cache of cpus {set} splits core {core}"));
            }
        }
        Ok(())
    }
}

/// Numbers each die within its package.
fn numbers_within(dies: &[CpuSet], packages: &[CpuSet]) -> Vec<i64> {
    let mut numbers = vec![0; dies.len()];
    for package in packages {
        let inside = dies.iter().enumerate().filter(|(_, die)| die.lowest().is_some_and(|cpu| package.contains(cpu)));
        inside.zip(0..).for_each(|((at, _), number)| numbers[at] = number);
    }
    numbers
}

/// Returns the sets of cpus that share a cache of an entry.
fn cache_sets(
    document: &MachineDocument,
    entry: &Spanned<CacheEntry>,
    levels: &LevelSets,
) -> Result<Vec<CpuSet>, DocumentProblem> {
    let problem = |what: &str| DocumentProblem { span: entry.span(), what: what.to_owned() };
    let sets = match (&entry.get_ref().cpus, entry.get_ref().per) {
        (Some(objects), None) => objects.object_sets().cloned().collect(),
        (None, Some(CacheSharing::Core)) => levels.cores.clone(),
        (None, Some(CacheSharing::Die)) => levels.dies.clone(),
        (None, Some(CacheSharing::Package)) => levels.packages.clone(),
        (None, Some(CacheSharing::Cluster)) if document.clusters.is_some() => {
            objects_or_default(&document.clusters, Vec::new)
        }
        (None, Some(CacheSharing::Cluster)) => return Err(problem("per = \"cluster\" needs the key `clusters`")),
        _ => {
            return Err(problem("expected either `per` (core, cluster, die, package) or `cpus`: which cpus share it"));
        }
    };
    check::check_disjoint("cache of this entry", sets.iter(), document.cpus.get_ref(), entry.span())?;
    Ok(sets)
}

fn set_frequencies(document: &MachineDocument, cpus: &mut CpuFactsTable) -> Result<(), DocumentProblem> {
    let all = document.cpus.get_ref();
    for entry in &document.frequencies {
        let frequency = entry.get_ref();
        let set = frequency.cpus.as_ref().unwrap_or(all);
        check::check_known(set, all, entry.span())?;
        let kilohertz = |megahertz: Option<u32>| megahertz.map(|megahertz| u64::from(megahertz) * 1_000);
        cpus.for_each_object(std::slice::from_ref(set), |cpu, _, _| {
            cpu.maximum_frequency_khz = kilohertz(frequency.maximum_mhz).or(cpu.maximum_frequency_khz);
            cpu.base_frequency_khz = kilohertz(frequency.base_mhz).or(cpu.base_frequency_khz);
        });
    }
    Ok(())
}
