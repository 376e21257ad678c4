//! Facts from Windows' descriptions of its processors: the buffers of GetLogicalProcessorInformationEx and GetSystemCpuSetInformation.
//!
//! A cpu of Windows is an index in a processor group. Its number here counts through all groups.

mod about;
mod disjoint_sets;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use corewise_machine::facts::{CacheFacts, CacheKind, CoreType, CpuFacts, MachineFacts, NamedKind, NodeFacts};
use corewise_machine::{CpuSet, Gap};

use super::limits::{LARGEST_CPU, larger_cpus};
use super::reader::ValueReader;
use super::system;
use crate::error::SysError;
use crate::logical_processors::bytes;
use crate::logical_processors::cpu_sets::{self, CpuSetOf};
use crate::logical_processors::numbering::GroupNumbering;
use crate::logical_processors::relations::{self, GroupMask, ProcessorRelation};
use crate::values::own_files::{ABOUT_WINDOWS, CPU_SETS, LOGICAL_PROCESSORS};
use about::SystemDescription;
use disjoint_sets::DisjointSets;

/// Plausible sizes of a cache; any other size counts as unknown.
const CACHE_BYTES: RangeInclusive<u64> = 1 << 10..=2 << 30;

const MOST_NAMED: usize = 4;

/// Reads all facts of the buffers; `None` if there are none.
///
/// # Errors
/// [`SysError::Damaged`] if a buffer is not hexadecimal, or names no cpu.
pub fn read_facts(reader: &ValueReader) -> Result<Option<MachineFacts>, SysError> {
    let Some(relations) = read_buffer(reader, LOGICAL_PROCESSORS)? else { return Ok(None) };
    let (relations, mut wrong) = relations::parse_relations(&relations);
    let (sets, wrong_of_sets) = cpu_sets::cpu_sets(&read_buffer(reader, CPU_SETS)?.unwrap_or_default());
    let numbering = GroupNumbering::from_relations(&relations, LARGEST_CPU);
    if numbering.online_cpus().is_empty() {
        return Err(damaged_error(LOGICAL_PROCESSORS, "no processor is in it"));
    }
    let about = about::parse_about(&reader.read_text(ABOUT_WINDOWS).unwrap_or_default());
    let mut read = ProcessorParts::from_relations(&relations, &numbering);
    wrong.append(&mut read.wrong);
    let sets: BTreeMap<u32, &CpuSetOf> =
        sets.iter().filter_map(|set| Some((numbering.cpu_number(set.group, set.index)?, set))).collect();
    let mut gaps = Vec::new();
    gaps.extend(mistakes_gap("what GetLogicalProcessorInformationEx reports", wrong));
    gaps.extend(mistakes_gap("what GetSystemCpuSetInformation reports", wrong_of_sets.into_iter().collect()));
    gaps.extend(read.contradictions_gap(&sets, &numbering));
    gaps.extend(numbering.has_larger_cpus.then(larger_cpus));
    gaps.extend(not_reported(&about));
    let online = numbering.online_cpus();
    let reserved: CpuSet = sets.iter().filter(|(_, set)| set.is_reserved).map(|(cpu, _)| *cpu).collect();
    let allowed = match about.affinity.as_slice() {
        [] => online.clone(),
        affinity => numbering.cpus_of_masks(affinity).0,
    };
    let mut system = about.system.clone();
    (system.hypervisor, system.emulated) = system::by_processor(reader);
    Ok(Some(MachineFacts {
        cpus: online.iter().map(|cpu| read.cpu_facts(cpu)).collect(),
        nodes: read.node_facts(&about, &mut gaps),
        named_kinds: core_kinds(&read.efficiency_classes(&sets)),
        present: Some(online.clone()),
        online: Some(online),
        allowed: Some(allowed.difference(&reserved)),
        processor_groups: numbering.groups,
        processor: about.processor,
        system,
        gaps,
        ..MachineFacts::default()
    }))
}

fn read_buffer(reader: &ValueReader, path: &str) -> Result<Option<Vec<u8>>, SysError> {
    let Some(text) = reader.read_text(path) else { return Ok(None) };
    bytes::from_hexadecimal(&text).map(Some).ok_or_else(|| damaged_error(path, "it is not hexadecimal"))
}

fn damaged_error(path: &str, why: &str) -> SysError {
    SysError::Damaged { path: PathBuf::from(path), why: format!("{path}: {why}") }
}

/// Returns the gap of the defects, if there are any.
fn mistakes_gap(what: &str, mut wrong: Vec<String>) -> Option<Gap> {
    let more = wrong.len().saturating_sub(MOST_NAMED);
    wrong.truncate(MOST_NAMED);
    wrong.extend((more > 0).then(|| format!("{more} more")));
    (!wrong.is_empty()).then(|| Gap::new(what, wrong.join("; ")))
}

/// Returns the gaps of facts that Windows does not report, or that Wine makes up.
fn not_reported(about: &SystemDescription) -> Vec<Gap> {
    let wine = about.wine.as_ref().map(|version| {
        let why = format!("this is Wine {version}, which imitates Windows and may report something else");
        Gap::new("what Windows reports of this machine", why)
    });
    wine.into_iter().chain([Gap::new("devices", "corewise does not read them on Windows yet")]).collect()
}

/// Returns the classes of core by efficiency class, of which the highest is the fastest; all below the second are one class.
fn core_kinds(classes: &BTreeMap<u32, u8>) -> Vec<NamedKind> {
    let mut found: Vec<u8> = classes.values().copied().collect::<BTreeSet<u8>>().into_iter().collect();
    found.reverse();
    let core_type = |class: u8| match found.iter().position(|other| *other == class) {
        Some(0) => CoreType::Performance,
        Some(1) => CoreType::Efficiency,
        _ => CoreType::LowPower,
    };
    let of = |wanted: &u8| NamedKind {
        core_type: core_type(*wanted),
        cpus: classes.iter().filter(|(_, class)| *class == wanted).map(|(cpu, _)| *cpu).collect(),
        source: format!("efficiency class {wanted}"),
    };
    found.iter().map(of).collect()
}

/// The relations by type, as sets of cpu numbers.
#[derive(Default)]
struct ProcessorParts {
    cores: DisjointSets,
    modules: DisjointSets,
    dies: DisjointSets,
    packages: DisjointSets,
    nodes: BTreeMap<u32, CpuSet>,
    /// Caches by level and kind, with the size of each.
    caches: BTreeMap<(u8, CacheKind), (DisjointSets, Vec<u64>)>,
    /// Efficiency classes of the cores, in their order.
    efficiency_classes: Vec<u8>,
    wrong: Vec<String>,
}

impl ProcessorParts {
    fn from_relations(relations: &[ProcessorRelation], numbering: &GroupNumbering) -> Self {
        let mut read = Self::default();
        for relation in relations {
            read.add_relation(relation, numbering);
        }
        read
    }

    fn add_relation(&mut self, relation: &ProcessorRelation, numbering: &GroupNumbering) {
        match relation {
            ProcessorRelation::Core { efficiency_class, cpus } => {
                let cpus = self.take_cpus("a core", cpus, numbering);
                if self.cores.add_set(cpus, "a core", &mut self.wrong) {
                    self.efficiency_classes.push(*efficiency_class);
                }
            }
            ProcessorRelation::Package(cpus) => {
                let cpus = self.take_cpus("a package", cpus, numbering);
                self.packages.add_set(cpus, "a package", &mut self.wrong);
            }
            ProcessorRelation::Die(cpus) => {
                let cpus = self.take_cpus("a die", cpus, numbering);
                self.dies.add_set(cpus, "a die", &mut self.wrong);
            }
            ProcessorRelation::Module(cpus) => {
                let cpus = self.take_cpus("a module", cpus, numbering);
                self.modules.add_set(cpus, "a module", &mut self.wrong);
            }
            ProcessorRelation::Node { number, cpus } => {
                // A node comes a second time, with the cpus of all groups.
                let cpus = self.take_cpus("a node", cpus, numbering);
                let node = self.nodes.entry(*number).or_default();
                *node = node.union(&cpus);
            }
            ProcessorRelation::Cache { level, kind: Some(kind), size_bytes, cpus } if (1..=4).contains(level) => {
                let cpus = self.take_cpus("a cache", cpus, numbering);
                let (parts, sizes) = self.caches.entry((*level, *kind)).or_default();
                if parts.add_set(cpus, &format!("an L{level} cache"), &mut self.wrong) {
                    sizes.push(*size_bytes);
                }
            }
            ProcessorRelation::Cache { .. } | ProcessorRelation::Groups(_) => (),
        }
    }

    fn take_cpus(&mut self, what: &str, masks: &[GroupMask], numbering: &GroupNumbering) -> CpuSet {
        let (cpus, are_known) = numbering.cpus_of_masks(masks);
        if !are_known {
            self.wrong.push(format!("{what} has cpus that are not active"));
        }
        cpus
    }

    fn cpu_facts(&self, number: u32) -> CpuFacts {
        let caches = self.caches.iter().filter_map(|((level, kind), (parts, sizes))| {
            let place = parts.place_of(number)?;
            let size_bytes = sizes.get(place).copied().filter(|size| CACHE_BYTES.contains(size));
            Some(CacheFacts { level: *level, kind: *kind, size_bytes, shared_with: parts.set_at(place).clone() })
        });
        CpuFacts {
            number,
            package: self.packages.place_of(number).map(|place| place as i64),
            die_cpus: self.dies.set_of(number),
            cluster_cpus: self.modules.set_of(number),
            thread_siblings: self.cores.set_of(number),
            caches: caches.collect(),
            ..CpuFacts::default()
        }
    }

    /// Returns the class of each cpu: its core's, or its cpu set's if all cores have the same. (Windows before 10 has none of cores.)
    fn efficiency_classes(&self, sets: &BTreeMap<u32, &CpuSetOf>) -> BTreeMap<u32, u8> {
        let of_cores = self.cores.sets().zip(&self.efficiency_classes);
        let of_cores: BTreeMap<u32, u8> =
            of_cores.flat_map(|(set, class)| set.iter().map(move |cpu| (cpu, *class))).collect();
        match self.efficiency_classes.iter().any(|class| *class != self.efficiency_classes[0]) {
            true => of_cores,
            false => sets.iter().map(|(cpu, set)| (*cpu, set.efficiency_class)).collect(),
        }
    }

    /// Returns the nodes. Windows reports only the free memory of a node; the only node has all of the machine's.
    fn node_facts(&self, about: &SystemDescription, gaps: &mut Vec<Gap>) -> Vec<NodeFacts> {
        let memory_bytes = |number: &u32| match self.nodes.len() {
            1 => about.memory_bytes,
            _ => about.free_bytes.get(number).copied().filter(|free| *free == 0),
        };
        if self.nodes.len() > 1 {
            gaps.push(Gap::new("memory of each node", "Windows reports only what is free of it"));
        }
        let node = |(number, cpus): (&u32, &CpuSet)| NodeFacts {
            number: *number,
            cpus: cpus.clone(),
            memory_bytes: memory_bytes(number),
            ..NodeFacts::default()
        };
        self.nodes.iter().map(node).collect()
    }

    /// Returns the gap of cpus for which the cpu sets contradict the relations about cores, caches or nodes; the relations are used.
    fn contradictions_gap(&self, sets: &BTreeMap<u32, &CpuSetOf>, numbering: &GroupNumbering) -> Option<Gap> {
        let last = self.caches.iter().rfind(|((level, kind), _)| *level >= 2 && *kind != CacheKind::Instruction);
        let node_of = |cpu: u32| self.nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|(number, _)| *number);
        let mut differing = Vec::new();
        for (what, of, related) in [
            ("cores", (|set| set.core) as fn(&CpuSetOf) -> u8, Some(&self.cores)),
            ("last-level caches", |set| set.last_level_cache, last.map(|(_, (parts, _))| parts)),
        ] {
            let Some(related) = related.filter(|related| !related.is_empty()) else { continue };
            let cpus = disjoint_sets::divided_otherwise(sets, of, related, numbering);
            differing.extend((!cpus.is_empty()).then(|| format!("of {what} at cpus {cpus}")));
        }
        let other_node = |(cpu, set): (&u32, &&CpuSetOf)| {
            node_of(*cpu).is_some_and(|node| node & 0xff != u32::from(set.node)).then_some(*cpu)
        };
        let cpus: CpuSet = sets.iter().filter_map(other_node).collect();
        differing.extend((!cpus.is_empty()).then(|| format!("of nodes at cpus {cpus}")));
        let why = "GetSystemCpuSetInformation says otherwise than GetLogicalProcessorInformationEx, which is used: ";
        (!differing.is_empty()).then(|| Gap::new("cpu sets", format!("{why}{}", differing.join(", "))))
    }
}

#[cfg(test)]
mod tests;
