//! The facts of a machine file, as a reader would have found them on the machine.

use toml::Spanned;

use super::document::{CacheEntry, Document, Kinds, NodeEntry, Sharing};
use super::entries::Distances;
use super::objects::Objects;
use super::{Problem, check};
use crate::CpuSet;
use crate::facts::{CacheFacts, CoreType, CpuFacts, MachineFacts, NamedKind, NodeFacts};
use crate::machine::{Processor, System};

/// Who says which kind a core is, as a user would look it up.
const KIND_SOURCE: &str = "the machine file";

/// The facts of a document that passed [`check::check`].
pub fn facts(document: &Document) -> Result<MachineFacts, Problem> {
    let all = document.cpus.get_ref();
    let offline = document.offline.as_ref().map(|set| set.get_ref().clone()).unwrap_or_default();
    let online = all.difference(&offline);
    let set = |set: &Option<Spanned<CpuSet>>| set.as_ref().map(|set| set.get_ref().clone());
    Ok(MachineFacts {
        processor: processor(document),
        system: System { architecture: document.architecture.clone(), ..System::default() },
        cpus: cpus(document, &online)?,
        possible: set(&document.possible),
        present: Some(all.clone()),
        online: Some(online),
        isolated: set(&document.isolated),
        nohz_full: set(&document.nohz_full),
        allowed: set(&document.allowed),
        nodes: nodes(document)?,
        named_kinds: kinds(document)?,
        gaps: Vec::new(),
    })
}

fn processor(document: &Document) -> Processor {
    Processor {
        model_name: Some(document.name.clone()),
        vendor: document.vendor.clone(),
        family: document.family,
        model: document.model,
        stepping: document.stepping,
        microcode: None,
    }
}

/// The objects of a level, or what stands in where the file does not name them.
fn objects(named: &Option<Spanned<Objects>>, otherwise: impl FnOnce() -> Vec<CpuSet>) -> Vec<CpuSet> {
    named.as_ref().map_or_else(otherwise, |objects| objects.get_ref().sets().cloned().collect())
}

/// The objects of the levels, which name every cpu.
struct Levels {
    packages: Vec<CpuSet>,
    dies: Vec<CpuSet>,
    cores: Vec<CpuSet>,
}

impl Levels {
    fn of(document: &Document) -> Self {
        let all = document.cpus.get_ref();
        let packages = objects(&document.packages, || vec![all.clone()]);
        let dies = objects(&document.dies, || packages.clone());
        Self { packages, dies, cores: objects(&document.cores, || all.iter().map(CpuSet::of).collect()) }
    }
}

/// The cpus that are online, with their places, caches and frequencies.
fn cpus(document: &Document, online: &CpuSet) -> Result<Vec<CpuFacts>, Problem> {
    let levels = Levels::of(document);
    let mut cpus = Cpus::new(document.cpus.get_ref());
    cpus.each(&levels.packages, |cpu, at, _| cpu.package = Some(at as i64));
    cpus.each(&levels.cores, |cpu, at, core| {
        cpu.core = Some(at as i64);
        cpu.thread_siblings = Some(core.clone());
    });
    if document.dies.is_some() {
        let numbers = numbers_within(&levels.dies, &levels.packages);
        cpus.each(&levels.dies, |cpu, at, die| {
            cpu.die = Some(numbers[at]);
            cpu.die_cpus = Some(die.clone());
        });
    }
    let clusters = objects(&document.clusters, Vec::new);
    cpus.each(&clusters, |cpu, _, cluster| cpu.cluster_cpus = Some(cluster.clone()));
    for entry in &document.caches {
        let sets = cache_sets(document, entry, &levels)?;
        let CacheEntry { cache, size, .. } = entry.get_ref();
        for set in &sets {
            if let Some(cpu) = set.iter().find(|cpu| cpus.has(*cpu, entry.get_ref())) {
                return Err(Problem { span: entry.span(), what: format!("cpu {cpu} has a cache of this name already") });
            }
        }
        cpus.each(&sets, |cpu, _, set| {
            let size_bytes = size.map(|size| size.bytes);
            cpu.caches.push(CacheFacts { level: cache.level, kind: cache.kind, size_bytes, shared_with: set.clone() });
        });
    }
    frequencies(document, &mut cpus)?;
    Ok(cpus.found.into_iter().flatten().filter(|cpu| online.contains(cpu.number)).collect())
}

/// The facts of each cpu, found by its number.
struct Cpus {
    found: Vec<Option<CpuFacts>>,
}

impl Cpus {
    fn new(all: &CpuSet) -> Self {
        let last = all.highest().unwrap_or_default();
        let of = |number| all.contains(number).then(|| CpuFacts { number, ..CpuFacts::default() });
        Self { found: (0..=last).map(of).collect() }
    }

    /// Tells each cpu of each object something: the cpu's facts, the object's place and the object.
    fn each(&mut self, objects: &[CpuSet], mut tell: impl FnMut(&mut CpuFacts, usize, &CpuSet)) {
        for (at, object) in objects.iter().enumerate() {
            for cpu in object.iter() {
                if let Some(facts) = self.found.get_mut(cpu as usize).and_then(Option::as_mut) {
                    tell(facts, at, object);
                }
            }
        }
    }

    /// Whether a cpu has a cache of an entry's name.
    fn has(&self, cpu: u32, entry: &CacheEntry) -> bool {
        let facts = self.found.get(cpu as usize).and_then(Option::as_ref);
        let named = |cache: &CacheFacts| (cache.level, cache.kind) == (entry.cache.level, entry.cache.kind);
        facts.is_some_and(|facts| facts.caches.iter().any(named))
    }
}

/// The number of each die in its package.
fn numbers_within(dies: &[CpuSet], packages: &[CpuSet]) -> Vec<i64> {
    let mut numbers = vec![0; dies.len()];
    for package in packages {
        let inside = dies.iter().enumerate().filter(|(_, die)| die.lowest().is_some_and(|cpu| package.contains(cpu)));
        inside.zip(0..).for_each(|((at, _), number)| numbers[at] = number);
    }
    numbers
}

/// The sets of cpus that have a cache of an entry each.
fn cache_sets(document: &Document, entry: &Spanned<CacheEntry>, levels: &Levels) -> Result<Vec<CpuSet>, Problem> {
    let problem = |what: &str| Problem { span: entry.span(), what: what.to_owned() };
    let sets = match (&entry.get_ref().cpus, entry.get_ref().per) {
        (Some(objects), None) => objects.sets().cloned().collect(),
        (None, Some(Sharing::Core)) => levels.cores.clone(),
        (None, Some(Sharing::Die)) => levels.dies.clone(),
        (None, Some(Sharing::Package)) => levels.packages.clone(),
        (None, Some(Sharing::Cluster)) if document.clusters.is_some() => objects(&document.clusters, Vec::new),
        (None, Some(Sharing::Cluster)) => return Err(problem("per = \"cluster\" needs the key `clusters`")),
        _ => return Err(problem("expected either `per` (core, cluster, die, package) or `cpus`, to say who shares it")),
    };
    check::disjoint("cache of this entry", sets.iter(), document.cpus.get_ref(), entry.span())?;
    Ok(sets)
}

/// The nodes; one with all cpus where the file names none.
fn nodes(document: &Document) -> Result<Vec<NodeFacts>, Problem> {
    let all = document.cpus.get_ref();
    let mut nodes: Vec<NodeFacts> = Vec::new();
    for entry in &document.nodes {
        add_nodes(entry, &mut nodes)?;
    }
    match document.nodes.first() {
        None => nodes.push(NodeFacts { cpus: all.clone(), ..NodeFacts::default() }),
        Some(first) => check::partition("node", nodes.iter().map(|node| &node.cpus), all, first.span())?,
    }
    if let Some(distances) = &document.distances {
        set_distances(distances, &mut nodes)?;
    }
    Ok(nodes)
}

fn add_nodes(entry: &Spanned<NodeEntry>, nodes: &mut Vec<NodeFacts>) -> Result<(), Problem> {
    let NodeEntry { number, cpus, memory } = entry.get_ref();
    let next = nodes.last().map_or(0, |node| node.number.saturating_add(1));
    let number = number.unwrap_or(next);
    if number < next {
        let what = format!("nodes are written in rising order of their numbers; the next is {next} or more");
        return Err(Problem { span: entry.span(), what });
    }
    let sets = match cpus {
        Some(objects) => objects.sets().cloned().collect(),
        None => vec![CpuSet::new()],
    };
    let memory_bytes = memory.map(|memory| memory.bytes);
    let node = |(number, cpus)| NodeFacts { number, cpus, memory_bytes, distances: Vec::new() };
    nodes.extend((number..).zip(sets).map(node));
    Ok(())
}

fn set_distances(distances: &Spanned<Distances>, nodes: &mut [NodeFacts]) -> Result<(), Problem> {
    let count = nodes.len();
    match distances.get_ref() {
        Distances::ToOthers(distance) => {
            for (at, node) in nodes.iter_mut().enumerate() {
                node.distances = (0..count).map(|other| if other == at { 10 } else { *distance }).collect();
            }
        }
        Distances::Rows(rows) => {
            if rows.len() != count || rows.iter().any(|row| row.len() != count) {
                let what = format!("expected {count} rows of {count} distances, as there are {count} nodes");
                return Err(Problem { span: distances.span(), what });
            }
            nodes.iter_mut().zip(rows).for_each(|(node, row)| node.distances = row.clone());
        }
    }
    Ok(())
}

fn kinds(document: &Document) -> Result<Vec<NamedKind>, Problem> {
    let Some(kinds) = &document.kinds else { return Ok(Vec::new()) };
    let Kinds { performance, efficiency, low_power } = kinds.get_ref();
    let named = [
        (CoreType::Performance, performance),
        (CoreType::Efficiency, efficiency),
        (CoreType::LowPower, low_power),
    ];
    let named: Vec<_> = named.into_iter().filter_map(|(core_type, cpus)| Some((core_type, cpus.clone()?))).collect();
    check::partition("kind", named.iter().map(|(_, cpus)| cpus), document.cpus.get_ref(), kinds.span())?;
    let kind = |(core_type, cpus)| NamedKind { core_type, cpus, source: KIND_SOURCE.to_owned() };
    Ok(named.into_iter().map(kind).collect())
}

fn frequencies(document: &Document, cpus: &mut Cpus) -> Result<(), Problem> {
    let all = document.cpus.get_ref();
    for entry in &document.frequencies {
        let frequency = entry.get_ref();
        let set = frequency.cpus.as_ref().unwrap_or(all);
        check::known(set, all, entry.span())?;
        let kilohertz = |megahertz: Option<u32>| megahertz.map(|megahertz| u64::from(megahertz) * 1_000);
        cpus.each(std::slice::from_ref(set), |cpu, _, _| {
            cpu.maximum_frequency_khz = kilohertz(frequency.maximum_mhz).or(cpu.maximum_frequency_khz);
            cpu.base_frequency_khz = kilohertz(frequency.base_mhz).or(cpu.base_frequency_khz);
        });
    }
    Ok(())
}
