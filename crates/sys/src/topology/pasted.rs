//! Facts from pasted text: lscpu's three forms and their JSON, `numactl -H`, lstopo's text, /proc/cpuinfo. Each fact comes from the output
//! that says most about it; what none says is a gap.

mod gaps;
mod lscpu;
mod lstopo;
mod modules;
mod numactl;
mod summary;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;
use corewise_machine::assemble::has_modules;
use corewise_machine::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts, NodeFacts};

use super::cpuinfo::CpuInfo;
use super::limits::LARGEST_CPU;
use super::reader::ValueReader;
use super::system;
use crate::interrupts::InterruptTable;
use summary::SummaryFacts;

/// Place of a cpu, as far as an output names it. Numbers are unique in the machine, unless a package is given beside.
#[derive(Clone, Debug, Default, PartialEq)]
struct PastedCpu {
    package: Option<i64>,
    die: Option<i64>,
    /// The core's number, in its package.
    core: Option<i64>,
    node: Option<u32>,
    /// Caches by level and kind, with a number that all its sharers have in common, and the size.
    caches: BTreeMap<(u8, CacheKind), (u64, Option<u64>)>,
    maximum_frequency_khz: Option<u64>,
    is_offline: bool,
}

/// Cpus of one output.
type PastedCpus = BTreeMap<u32, PastedCpu>;

/// Reads all facts of a text; no cpus if it names none.
pub fn read_facts(reader: &ValueReader, text: &str) -> MachineFacts {
    let info = CpuInfo::parse(&cpuinfo_lines(text));
    let summary = lscpu::read_summary(text);
    let drawn = lstopo::read_tree(text);
    let nodes = numactl::read_nodes(text);
    // The output that says most comes first.
    let sources = [drawn.cpus.clone(), table::read_tables(text), of_cpuinfo(&info), summary.assumed_cpus(&nodes)];
    let mut cpus = merge_sources(sources);
    let interrupts = InterruptTable::parse(&reader.read_text("proc/interrupts").unwrap_or_default());
    let named = nodes.iter().flat_map(|node| node.cpus.iter()).chain(interrupts.cpus);
    named.filter(|cpu| *cpu <= LARGEST_CPU).for_each(|cpu| _ = cpus.entry(cpu).or_default());
    let offline: CpuSet = summary
        .offline
        .iter()
        .chain(cpus.iter().filter(|(_, cpu)| cpu.is_offline).map(|(number, _)| *number))
        .collect();
    let online: CpuSet = cpus.keys().copied().filter(|cpu| !offline.contains(*cpu)).collect();
    cpus.retain(|number, _| online.contains(*number));
    let mut facts = cpu_facts(&cpus, &summary);
    let nodes = merge_nodes(nodes, drawn.nodes, &summary, &cpus);
    let mut processor = info.read_processor(&facts, reader);
    summary.complete_processor(&mut processor);
    let mut system = system::read_system(reader, &info, Vec::new());
    summary.complete_system(&mut system);
    let by_design = info.kinds_by_design(&online, reader);
    let is_measured = facts.iter().all(|cpu| cpu.maximum_frequency_khz.is_some());
    let assumed = if by_design.is_empty() && !is_measured { summary.assumed_kinds() } else { Vec::new() };
    let mut gaps = gaps::missing_facts(&facts, &nodes, &summary);
    if has_modules(&processor) && system.hypervisor.is_none() {
        modules::list_modules(&mut facts);
    }
    gaps.retain(|gap| by_design.is_empty() && assumed.is_empty() || gap.what != gaps::KINDS);
    gaps.extend((!assumed.is_empty()).then(gaps::assumed_kinds));
    let named_kinds = if assumed.is_empty() { by_design } else { assumed };
    MachineFacts {
        processor,
        system,
        cpus: facts,
        present: Some(online.union(&offline)),
        online: Some(online),
        nodes,
        named_kinds,
        gaps,
        ..MachineFacts::default()
    }
}

/// Returns the lines of /proc/cpuinfo. A summary of lscpu has none of their names in lower case.
fn cpuinfo_lines(text: &str) -> String {
    let Some(start) = text.find("\nprocessor") else { return String::new() };
    let is_line = |line: &&str| line.is_empty() || line.contains(':');
    text[start + 1..].lines().take_while(is_line).collect::<Vec<_>>().join("\n")
}

fn of_cpuinfo(info: &CpuInfo) -> PastedCpus {
    let place = |cpu: u32| {
        let entry = info.entry_of(cpu);
        let (package, core) = (entry.and_then(|entry| entry.package), entry.and_then(|entry| entry.core));
        (cpu, PastedCpu { package, core, ..PastedCpu::default() })
    };
    info.listed_cpus().iter().map(place).collect()
}

/// Merges what outputs say of each cpu: the first that says something of a fact.
fn merge_sources(sources: [PastedCpus; 4]) -> PastedCpus {
    let mut merged = PastedCpus::new();
    for source in sources {
        for (number, cpu) in source {
            let known = merged.entry(number).or_default();
            if known.core.is_none() {
                (known.package, known.core) = (cpu.package.or(known.package), cpu.core);
            }
            known.package = known.package.or(cpu.package);
            known.die = known.die.or(cpu.die);
            known.node = known.node.or(cpu.node);
            known.maximum_frequency_khz = known.maximum_frequency_khz.or(cpu.maximum_frequency_khz);
            known.is_offline |= cpu.is_offline;
            if known.caches.is_empty() {
                known.caches = cpu.caches;
            }
        }
    }
    merged
}

/// Returns the cpus with the sets that share a core or a cache.
fn cpu_facts(cpus: &PastedCpus, summary: &SummaryFacts) -> Vec<CpuFacts> {
    let mut cores: BTreeMap<(Option<i64>, i64), CpuSet> = BTreeMap::new();
    let mut sharing: BTreeMap<(u8, CacheKind, u64), CpuSet> = BTreeMap::new();
    for (number, cpu) in cpus {
        if let Some(core) = cpu.core {
            cores.entry((cpu.package, core)).or_default().insert(*number);
        }
        for ((level, kind), (id, _)) in &cpu.caches {
            sharing.entry((*level, *kind, *id)).or_default().insert(*number);
        }
    }
    // The summary adds up sizes that differ between kinds of core.
    let summed = if is_of_kinds(cpus) { &SummaryFacts::default() } else { summary };
    let fact = |(number, cpu): (&u32, &PastedCpu)| CpuFacts {
        number: *number,
        package: cpu.package,
        die: cpu.die,
        core: cpu.core,
        thread_siblings: cpu.core.and_then(|core| cores.get(&(cpu.package, core)).cloned()),
        caches: cpu
            .caches
            .iter()
            .map(|((level, kind), (id, size))| CacheFacts {
                level: *level,
                kind: *kind,
                size_bytes: size.or_else(|| summed.cache_bytes(*level, *kind)),
                shared_with: sharing.get(&(*level, *kind, *id)).cloned().unwrap_or_default(),
            })
            .collect(),
        maximum_frequency_khz: cpu.maximum_frequency_khz,
        ..CpuFacts::default()
    };
    cpus.iter().map(fact).collect()
}

/// Returns true if a table's frequencies, or numbers of cpus that share an L1 or L2, differ as between kinds of core.
fn is_of_kinds(cpus: &PastedCpus) -> bool {
    let frequencies = || cpus.values().filter_map(|cpu| cpu.maximum_frequency_khz);
    let is_far = frequencies().min().zip(frequencies().max()).is_some_and(|(low, high)| high >= low + low / 4);
    let mut sharers: BTreeMap<(u8, CacheKind, u64), usize> = BTreeMap::new();
    for ((level, kind), (id, _)) in cpus.values().flat_map(|cpu| &cpu.caches).filter(|((level, _), _)| *level < 3) {
        *sharers.entry((*level, *kind, *id)).or_default() += 1;
    }
    let counts = |of: (u8, CacheKind)| {
        let of_level = sharers.iter().filter(move |((level, kind, _), _)| (*level, *kind) == of);
        of_level.map(|(_, count)| *count).collect::<BTreeSet<usize>>()
    };
    let levels: BTreeSet<(u8, CacheKind)> = sharers.keys().map(|(level, kind, _)| (*level, *kind)).collect();
    is_far || levels.into_iter().any(|level| counts(level).len() > 1)
}

/// Returns the nodes: of numactl, which knows memory and distances, else of lstopo, lscpu's summary or its table.
fn merge_nodes(
    of_numactl: Vec<NodeFacts>,
    of_lstopo: Vec<NodeFacts>,
    summary: &SummaryFacts,
    cpus: &PastedCpus,
) -> Vec<NodeFacts> {
    let numbers: BTreeSet<u32> = cpus.values().filter_map(|cpu| cpu.node).collect();
    let of_number = |number: &u32| {
        let here = cpus.iter().filter(|(_, cpu)| cpu.node == Some(*number)).map(|(cpu, _)| *cpu);
        NodeFacts { number: *number, cpus: here.collect(), ..NodeFacts::default() }
    };
    let of_tables = || numbers.iter().map(of_number).collect::<Vec<NodeFacts>>();
    let sources = [of_numactl, of_lstopo, summary.nodes.clone(), of_tables()];
    let online: CpuSet = cpus.keys().copied().collect();
    let mut nodes = sources.into_iter().find(|nodes| !nodes.is_empty()).unwrap_or_default();
    nodes.iter_mut().for_each(|node| node.cpus = node.cpus.intersection(&online));
    nodes
}

#[cfg(test)]
mod tests;
