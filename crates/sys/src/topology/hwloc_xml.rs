//! Facts from an hwloc XML export of format 2 or 3.

mod devices;

use std::collections::BTreeMap;
use std::path::PathBuf;

use corewise_machine::facts::{
    CacheFacts, CacheKind, CoreType, CpuFacts, MachineFacts, MemoryKind, NamedKind, NodeFacts,
};
use corewise_machine::machine::{ProcessorFacts, SystemFacts};
use corewise_machine::{CpuSet, Gap, GapSubject};
use roxmltree::{Document, Node, ParsingOptions};

use super::cpuinfo::arm;
use super::limits::{LARGEST_CPU, larger_cpus};
use super::memory::is_high;
use crate::error::SysError;
use crate::root::HWLOC_XML;

/// Maximum number of elements; the export of a machine of 384 cpus has 2,500.
const MOST_ELEMENTS: u32 = 400_000;

/// Largest export that is read, in bytes; that of a machine of 384 cpus has 291 kB. In memory it takes up to 20 times as much.
const LARGEST_BYTES: usize = 8 << 20;

/// Maximum depth of nested objects; hwloc itself has some twenty levels.
const DEEPEST: usize = 100;

/// Maximum number of caches around a cpu; four levels with two kinds each are eight.
const MOST_CACHES: usize = 16;

/// Reads all facts of an export.
///
/// # Errors
/// [`SysError::Damaged`] if the text is no XML, or XML of something else or of another format.
pub fn read_facts(text: &str) -> Result<MachineFacts, SysError> {
    let damaged = |why: String| SysError::Damaged { path: PathBuf::from(HWLOC_XML), why };
    if text.len() > LARGEST_BYTES {
        return Err(damaged(format!("it is larger than {LARGEST_BYTES} bytes")));
    }
    let options = ParsingOptions { nodes_limit: MOST_ELEMENTS, ..ParsingOptions::default() };
    let document =
        Document::parse_with_options(behind_doctype(text), options).map_err(|error| damaged(error.to_string()))?;
    let topology = document.root_element();
    let version = topology.attribute("version").unwrap_or("1");
    if topology.tag_name().name() != "topology" || !(version.starts_with("2.") || version.starts_with("3.")) {
        return Err(damaged("it is not an hwloc topology of format 2 or 3".into()));
    }
    let mut facts = MachineFacts::default();
    for machine in child_objects(topology) {
        facts.allowed = parse_bitmap(machine, "allowed_cpuset");
        facts.present = parse_bitmap(machine, "complete_cpuset");
        facts.allowed_memory = parse_bitmap(machine, "allowed_nodeset");
        read_object(machine, &InheritedPlace::default(), &mut facts, 0);
    }
    facts.unlisted = facts.present.clone().filter(|_| !includes_disallowed(&facts));
    facts.nodes.sort_by_key(|node| node.number);
    mend_memory(&mut facts.nodes);
    add_initiators(&mut facts.nodes);
    add_bandwidths(topology, &mut facts.nodes);
    add_distances(topology, &mut facts.nodes);
    facts.gaps.extend(outside_gap(topology));
    facts.processor = read_processor(topology);
    facts.system = read_system(topology);
    add_kinds(topology, &mut facts);
    facts.devices = devices::read_devices(topology);
    facts.gaps.extend(names_larger_cpus(topology).then(larger_cpus));
    Ok(facts)
}

/// Returns true if the export has cpus that are not allowed, which hwloc includes only on request. Then missing cpus are offline; otherwise
/// they may also be disallowed.
fn includes_disallowed(facts: &MachineFacts) -> bool {
    let allowed = facts.allowed.as_ref();
    allowed.is_some_and(|allowed| facts.cpus.iter().any(|cpu| !allowed.contains(cpu.number)))
}

/// Returns the text after the line in which hwloc names its DTD. A DTD in the file itself is not skipped: the parser refuses it, because
/// entities may expand a small file without bound.
fn behind_doctype(text: &str) -> &str {
    let declared = text.split_once("<!DOCTYPE").and_then(|(_, rest)| rest.split_once('>'));
    declared.filter(|(doctype, _)| !doctype.contains('[')).map_or(text, |(_, rest)| rest)
}

fn names_larger_cpus(topology: Node) -> bool {
    let units = topology.descendants().filter(|node| node.attribute("type") == Some("PU"));
    let numbers = units.filter_map(|unit| unit.attribute("os_index")?.parse::<u64>().ok());
    numbers.max() > Some(u64::from(LARGEST_CPU))
}

/// Properties that an object passes on to the objects inside it.
#[derive(Clone, Default)]
struct InheritedPlace {
    package: Option<i64>,
    die: Option<i64>,
    core: Option<i64>,
    drawer_cpus: Option<CpuSet>,
    book_cpus: Option<CpuSet>,
    cluster_cpus: Option<CpuSet>,
    thread_siblings: Option<CpuSet>,
    caches: Vec<CacheFacts>,
}

fn read_object(object: Node, outer: &InheritedPlace, facts: &mut MachineFacts, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    let mut inherited = outer.clone();
    let number = object.attribute("os_index").and_then(|text| text.parse::<i64>().ok());
    match object.attribute("type").unwrap_or_default() {
        "Group" => match object.attribute("subtype") {
            Some("Cluster" | "Module") => inherited.cluster_cpus = parse_bitmap(object, "cpuset"),
            Some("Book") => inherited.book_cpus = parse_bitmap(object, "cpuset"),
            Some("Drawer") => inherited.drawer_cpus = parse_bitmap(object, "cpuset"),
            _ => (),
        },
        "Package" => inherited.package = number,
        "Die" => inherited.die = number,
        "Core" => (inherited.core, inherited.thread_siblings) = (number, parse_bitmap(object, "cpuset")),
        "NUMANode" => facts.nodes.extend(number.and_then(|number| read_node(object, number))),
        "PU" if facts.cpus.len() <= LARGEST_CPU as usize => {
            facts.cpus.extend(number.and_then(|number| read_cpu(number, outer)))
        }
        kind if kind.ends_with("Cache") && inherited.caches.len() < MOST_CACHES => {
            inherited.caches.extend(read_cache(object))
        }
        _ => (),
    }
    for inner in child_objects(object) {
        read_object(inner, &inherited, facts, depth + 1);
    }
}

fn child_objects<'a, 'input>(parent: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    parent.children().filter(|child| child.has_tag_name("object"))
}

fn read_cpu(number: i64, at: &InheritedPlace) -> Option<CpuFacts> {
    Some(CpuFacts {
        number: u32::try_from(number).ok().filter(|number| *number <= LARGEST_CPU)?,
        package: at.package,
        book_cpus: at.book_cpus.clone(),
        drawer_cpus: at.drawer_cpus.clone(),
        die: at.die,
        core: at.core,
        cluster_cpus: at.cluster_cpus.clone(),
        thread_siblings: at.thread_siblings.clone(),
        caches: at.caches.clone(),
        ..CpuFacts::default()
    })
}

fn read_cache(object: Node) -> Option<CacheFacts> {
    let kind = match object.attribute("cache_type")? {
        "0" => CacheKind::Unified,
        "1" => CacheKind::Data,
        "2" => CacheKind::Instruction,
        _ => return None,
    };
    let level = object.attribute("depth")?.parse().ok().filter(|level| (1..=4).contains(level))?;
    let size_bytes = object.attribute("cache_size").and_then(|text| text.parse().ok()).filter(|size| *size > 0);
    Some(CacheFacts { level, kind, size_bytes, shared_with: parse_bitmap(object, "cpuset")? })
}

fn read_node(object: Node, number: i64) -> Option<NodeFacts> {
    Some(NodeFacts {
        number: u32::try_from(number).ok()?,
        cpus: parse_bitmap(object, "cpuset")?,
        memory_bytes: object.attribute("local_memory").and_then(|text| text.parse().ok()),
        memory_kind: memory_kind(object),
        ..NodeFacts::default()
    })
}

/// Returns a gap if nodes have cpus that the export leaves out: they look like nodes without cpus.
fn outside_gap(topology: Node) -> Option<Gap> {
    let nodes = topology.descendants().filter(|node| node.attribute("type") == Some("NUMANode"));
    let outside = nodes.filter_map(|node| {
        let all = parse_bitmap(node, "complete_cpuset")?;
        let is_left_out = !all.is_empty() && parse_bitmap(node, "cpuset")?.is_empty();
        is_left_out.then(|| format!("node {} has the cpus {all}", node.attribute("os_index").unwrap_or("?")))
    });
    let outside: Vec<String> = outside.take(MOST_NAMED).collect();
    let why = || format!("the export leaves out cpus that are not allowed: {}", outside.join("; "));
    (!outside.is_empty()).then(|| Gap::new("cpus of NUMA nodes", why()).about(&[GapSubject::Nodes]))
}

/// Maximum nodes named in a gap.
const MOST_NAMED: usize = 8;

/// Returns the kind of a node's memory, by hwloc's name for it.
fn memory_kind(object: Node) -> Option<MemoryKind> {
    match object.attribute("subtype").or_else(|| find_info(object, "DAXType"))? {
        "HBM" | "MCDRAM" => Some(MemoryKind::HighBandwidth),
        "NVM" => Some(MemoryKind::Persistent),
        "GPUMemory" => Some(MemoryKind::Gpu),
        "SPM" => Some(MemoryKind::SpecialPurpose),
        name if name.starts_with("CXL") => Some(MemoryKind::Cxl),
        _ => None,
    }
}

/// Sets the initiators of memory-only nodes. An export lists only nearby cpus for them, which belong to other nodes: these are the
/// initiators.
fn add_initiators(nodes: &mut [NodeFacts]) {
    let size = |node: &NodeFacts| (node.cpus.len(), node.number);
    let inside = |node: &NodeFacts, other: &NodeFacts| {
        !other.cpus.is_empty() && size(other) < size(node) && other.cpus.is_subset(&node.cpus)
    };
    let initiators =
        |node: &NodeFacts| nodes.iter().filter(|other| inside(node, other)).map(|other| other.number).collect();
    let found: Vec<CpuSet> = nodes.iter().map(initiators).collect();
    nodes.iter_mut().zip(found).for_each(|(node, initiators)| node.initiators = initiators);
}

/// Recognises high-bandwidth memory without a name by the attributes in the export (`memattr`): hwloc from 2.3 on exports them, from the
/// firmware's table. The best value to any initiator counts; the usual bandwidth is that of the nodes which have their own cpus.
fn add_bandwidths(topology: Node, nodes: &mut [NodeFacts]) {
    let number = |node: Node, name: &str| node.attribute(name).and_then(|text| text.parse::<u64>().ok());
    let is_node = |node: &Node| node.attribute("type") == Some("NUMANode");
    let by_index: BTreeMap<u64, u64> = topology
        .descendants()
        .filter(is_node)
        .filter_map(|node| Some((number(node, "gp_index")?, number(node, "os_index")?)))
        .collect();
    let is_bandwidth = |node: &Node| {
        node.has_tag_name("memattr") && matches!(node.attribute("name"), Some("Bandwidth" | "ReadBandwidth"))
    };
    let values = topology.children().filter(is_bandwidth).flat_map(|attribute| attribute.children());
    let mut bandwidths = BTreeMap::<u64, u64>::new();
    for value in values.filter(|value| value.has_tag_name("memattr_value")) {
        let target = number(value, "target_obj_gp_index").and_then(|index| by_index.get(&index));
        if let (Some(&target), Some(bandwidth)) = (target, number(value, "value")) {
            let best = bandwidths.entry(target).or_default();
            *best = bandwidth.max(*best);
        }
    }
    let of = |node: &NodeFacts| bandwidths.get(&u64::from(node.number)).copied();
    let Some(usual) = nodes.iter().filter(|node| node.initiators.is_empty()).filter_map(of).max() else { return };
    for node in nodes.iter_mut().filter(|node| node.memory_kind.is_none() && !node.initiators.is_empty()) {
        node.memory_kind = of(node).filter(|own| is_high(*own, usual)).map(|_| MemoryKind::HighBandwidth);
    }
}

/// Sets missing memory to zero. An export leaves the size out both if there is none and if it is unknown; if one node has a size, nodes
/// without the attribute have no memory.
fn mend_memory(nodes: &mut [NodeFacts]) {
    if nodes.iter().any(|node| node.memory_bytes.is_some()) {
        nodes.iter_mut().for_each(|node| _ = node.memory_bytes.get_or_insert(0));
    }
}

/// Parses a set as hwloc writes it: hexadecimal groups of 32 bits, each with its own "0x"; empty ones are zero.
fn parse_bitmap(object: Node, attribute: &str) -> Option<CpuSet> {
    let all = CpuSet::parse_mask(&object.attribute(attribute)?.replace("0x", "")).ok()?;
    if all.highest() > Some(LARGEST_CPU) {
        Some(all.iter().take_while(|cpu| *cpu <= LARGEST_CPU).collect())
    } else {
        Some(all)
    }
}

/// Returns the value of the first `info` with this name, anywhere in the export.
fn find_info<'a>(topology: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut infos = topology.descendants().filter(|node| node.has_tag_name("info"));
    infos.find(|info| info.attribute("name") == Some(name))?.attribute("value")
}

fn read_processor(topology: Node) -> ProcessorFacts {
    let number = |name: &str| find_info(topology, name).and_then(|text| text.parse().ok());
    let tidy = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hexadecimal = |name: &str| u32::from_str_radix(find_info(topology, name)?.trim_start_matches("0x"), 16).ok();
    let implementer = hexadecimal("CPUImplementer");
    let part = implementer.zip(hexadecimal("CPUPart")).map(|(implementer, part)| arm::part_name(implementer, part));
    ProcessorFacts {
        model_name: find_info(topology, "CPUModel").map(tidy).filter(|name| !name.is_empty()).or(part),
        vendor: find_info(topology, "CPUVendor").map(str::to_owned).or(implementer.map(arm::implementer_name)),
        family: number("CPUFamilyNumber"),
        model: number("CPUModelNumber"),
        stepping: number("CPUStepping"),
        microcode: None,
    }
}

fn read_system(topology: Node) -> SystemFacts {
    SystemFacts {
        architecture: find_info(topology, "Architecture").map(str::to_owned),
        kernel: find_info(topology, "OSRelease").map(str::to_owned),
        ..SystemFacts::default()
    }
}

/// Fills in the distances between nodes, a square of numbers in the order of `indexes`.
fn add_distances(topology: Node, nodes: &mut [NodeFacts]) {
    let is_latency = |node: &Node| {
        node.has_tag_name("distances2")
            && node.attribute("type") == Some("NUMANode")
            && match node.attribute("name") {
                Some(name) => name == "NUMALatency",
                None => node.attribute("kind").and_then(|kind| kind.parse().ok()).is_some_and(is_latency_of_os),
            }
    };
    let Some(distances) = topology.children().find(is_latency) else { return };
    let (order, values) = (child_numbers(distances, "indexes"), child_numbers(distances, "u64values"));
    if order.len() != nodes.len() || values.len() != order.len() * order.len() {
        return;
    }
    let places: Option<Vec<usize>> =
        nodes.iter().map(|node| order.iter().position(|index| *index == u64::from(node.number))).collect();
    let Some(places) = places else { return };
    for (node, row) in nodes.iter_mut().zip(&places) {
        let to = |column: &usize| u32::try_from(values[row * order.len() + column]).unwrap_or(u32::MAX);
        node.distances = places.iter().map(to).collect();
    }
}

/// Returns true for distances without a name, which hwloc before 2.1 exports, if the system reports them (bit 0) and they are latencies
/// (bit 2): `hwloc_distances_kind_e`.
fn is_latency_of_os(kind: u64) -> bool {
    kind & 1 != 0 && kind & 4 != 0
}

fn child_numbers(parent: Node, tag: &str) -> Vec<u64> {
    let texts = parent.children().filter(|child| child.has_tag_name(tag)).filter_map(|child| child.text());
    texts.flat_map(str::split_whitespace).filter_map(|word| word.parse().ok()).collect()
}

/// Adds the classes of core in the export, with their capacities and frequencies.
fn add_kinds(topology: Node, facts: &mut MachineFacts) {
    for kind in topology.children().filter(|node| node.has_tag_name("cpukind")) {
        let Some(members) = parse_bitmap(kind, "cpuset") else { continue };
        let core_type = match find_info(kind, "CoreType") {
            Some("IntelCore" | "AMDPerformance") => Some(CoreType::Performance),
            Some("IntelAtom" | "AMDEfficiency") => Some(CoreType::Efficiency),
            Some("IntelLowPower") => Some(CoreType::LowPower),
            _ => None,
        };
        let source = || "hwloc CoreType".to_owned();
        let named = core_type.map(|core_type| NamedKind { core_type, cpus: members.clone(), source: source() });
        facts.named_kinds.extend(named);
        let number = |name: &str| find_info(kind, name).and_then(|text| text.parse::<u32>().ok());
        let (capacity, megahertz) = (number("LinuxCapacity"), number("FrequencyMaxMHz"));
        for cpu in facts.cpus.iter_mut().filter(|cpu| members.contains(cpu.number)) {
            cpu.capacity = capacity.or(cpu.capacity);
            cpu.maximum_frequency_khz = megahertz.map(|mhz| u64::from(mhz) * 1_000).or(cpu.maximum_frequency_khz);
        }
    }
    let named = facts.named_kinds.iter().fold(CpuSet::new(), |all, kind| all.union(&kind.cpus));
    let left: CpuSet = facts.cpus.iter().map(|cpu| cpu.number).filter(|cpu| !named.contains(*cpu)).collect();
    if !named.is_empty() && !left.is_empty() {
        let why = format!("the export names no class for cpus {left}");
        facts.gaps.push(Gap::new("kinds of core", why).about(&[GapSubject::Kinds]));
    }
}

#[cfg(test)]
mod tests;
