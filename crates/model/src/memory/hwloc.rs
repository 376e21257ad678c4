//! hwloc's XML with measurements as memory attributes: `lstopo --input FILE --memattrs` shows them (format 2.0, hwloc
//! 2.3 and later).

use std::fmt::Write as _;

use corewise_machine::{CpuSet, Level, Machine};

use super::{MemoryMap, StreamOperation};

/// hwloc's flags for an attribute with initiators of which more is better.
const HIGHER_WITH_INITIATOR: u32 = 1 | 4;
/// hwloc's flags for an attribute with initiators of which less is better.
const LOWER_WITH_INITIATOR: u32 = 2 | 4;

/// An object of the tree.
struct HwlocObject {
    kind: &'static str,
    cpus: CpuSet,
    os_index: Option<i64>,
    more: String,
    nodes: Vec<u32>,
    children: Vec<Self>,
}

/// Writes the machine with its measurements.
pub fn hwloc_xml(map: &MemoryMap) -> String {
    let machine = &map.machine;
    let all_nodes: CpuSet = machine.nodes.iter().map(|node| node.number).collect();
    let allowed = [format_bitmap(&machine.online), format_bitmap(&all_nodes)];
    let more = format!(" allowed_cpuset=\"{}\" allowed_nodeset=\"{}\"", allowed[0], allowed[1]);
    let mut root = HwlocObject { more, ..HwlocObject::new("Machine", machine.online.clone()) };
    for object in list_objects(machine) {
        root.insert_object(object);
    }
    let mut numbers = HwlocNumbers { next: 1, nodes: Vec::new() };
    let mut text =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n");
    text.push_str("<topology version=\"2.0\">\n");
    root.write_object(&mut text, 1, &all_nodes, machine, &mut numbers);
    text.push_str("  <support name=\"discovery.pu\"/>\n  <support name=\"discovery.numa\"/>\n");
    let latency = map.cells.iter().filter_map(|cell| {
        let ns = super::estimate::VisitEstimate::from_visits(&cell.huge_ns)?.median;
        Some((cell.node, &cell.initiator, ns.round() as u64))
    });
    write_attribute(&mut text, ("Latency", LOWER_WITH_INITIATOR), &numbers, latency.collect());
    for (name, operation) in [("Bandwidth", StreamOperation::Read), ("WriteBandwidth", StreamOperation::Write)] {
        let bandwidth = map.cells.iter().filter_map(|cell| {
            let all = cell.bandwidth.iter().filter(|stream| stream.operation == operation);
            let within = all.filter(|stream| stream.cpus.is_subset(&cell.initiator));
            let stream = within.max_by_key(|stream| stream.cpus.len())?;
            let gb_s = super::estimate::VisitEstimate::from_visits(&stream.visits_gb_s)?.median;
            // hwloc's unit of bandwidth is MiB/s.
            Some((cell.node, &cell.initiator, (gb_s * 1e9 / f64::from(1 << 20)).round() as u64))
        });
        write_attribute(&mut text, (name, HIGHER_WITH_INITIATOR), &numbers, bandwidth.collect());
    }
    text.push_str("</topology>\n");
    text
}

/// Global numbers of objects: every object has one, and attributes refer to nodes by theirs.
struct HwlocNumbers {
    next: u64,
    nodes: Vec<(u32, u64)>,
}

impl HwlocNumbers {
    fn take_next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

fn write_attribute(
    text: &mut String,
    (name, flags): (&str, u32),
    numbers: &HwlocNumbers,
    values: Vec<(u32, &CpuSet, u64)>,
) {
    if values.is_empty() {
        return;
    }
    let _ = writeln!(text, "  <memattr name=\"{name}\" flags=\"{flags}\">");
    for (node, cpus, value) in values {
        let Some((_, number)) = numbers.nodes.iter().find(|(known, _)| *known == node) else { continue };
        let _ = writeln!(
            text,
            "    <memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"{number}\" value=\"{value}\" \
             initiator_cpuset=\"{}\"/>",
            format_bitmap(cpus)
        );
    }
    text.push_str("  </memattr>\n");
}

/// Returns the objects of the tree, outermost first; nodes are groups, unless another object has their cpus.
fn list_objects(machine: &Machine) -> Vec<HwlocObject> {
    let mut all = Vec::new();
    let plain = |kind: &'static str, level: Level| {
        machine
            .objects_of(level)
            .into_iter()
            .enumerate()
            .map(move |(index, cpus)| HwlocObject { os_index: Some(index as i64), ..HwlocObject::new(kind, cpus) })
    };
    all.extend(plain("Package", Level::Package));
    for node in machine.nodes.iter().filter(|node| !node.cpus.is_empty()) {
        all.push(HwlocObject { nodes: vec![node.number], ..HwlocObject::new("Group", node.cpus.clone()) });
    }
    all.extend(plain("Die", Level::Die));
    for (kind, level) in [("L3Cache", 3), ("L2Cache", 2), ("L1Cache", 1)] {
        all.extend(machine.data_caches(level).map(|cache| {
            let size = cache.size_bytes.unwrap_or(0);
            let kind_of = u8::from(level == 1);
            let more = format!(" cache_size=\"{size}\" depth=\"{level}\" cache_linesize=\"64\" cache_associativity=\"0\" cache_type=\"{kind_of}\"");
            HwlocObject { more, ..HwlocObject::new(kind, cache.cpus.clone()) }
        }));
    }
    all.extend(plain("Core", Level::Core));
    all.extend(
        machine
            .online
            .iter()
            .map(|cpu| HwlocObject { os_index: Some(i64::from(cpu)), ..HwlocObject::new("PU", CpuSet::from_cpu(cpu)) }),
    );
    all
}

impl HwlocObject {
    fn new(kind: &'static str, cpus: CpuSet) -> Self {
        Self { kind, cpus, os_index: None, more: String::new(), nodes: Vec::new(), children: Vec::new() }
    }

    /// Puts an object into the innermost object with its cpus. Objects that cut across others are left out, as in
    /// hwloc; a group that adds only its nodes gives them to the object with the same cpus.
    fn insert_object(&mut self, object: Self) {
        if object.kind == "Group" && object.cpus == self.cpus && self.nodes.is_empty() {
            self.nodes = object.nodes;
            return;
        }
        if let Some(child) = self.children.iter_mut().find(|child| object.cpus.is_subset(&child.cpus)) {
            return child.insert_object(object);
        }
        let cuts = |child: &Self| !child.cpus.is_disjoint(&object.cpus) && !child.cpus.is_subset(&object.cpus);
        if object.cpus.is_empty() || self.children.iter().any(cuts) {
            return;
        }
        let (inside, outside) =
            std::mem::take(&mut self.children).into_iter().partition(|child| child.cpus.is_subset(&object.cpus));
        self.children = outside;
        self.children.push(Self { children: inside, ..object });
        self.children.sort_by_key(|child| child.cpus.lowest());
    }

    /// Returns the nodes that are local to this object: the nodes inside, or without any, the nodes of the object
    /// around it.
    fn local_nodes(&self, outer: &CpuSet) -> CpuSet {
        let mut own = CpuSet::new();
        self.inner_nodes(&mut own);
        if own.is_empty() { outer.clone() } else { own }
    }

    fn inner_nodes(&self, all: &mut CpuSet) {
        self.nodes.iter().for_each(|node| {
            all.insert(*node);
        });
        self.children.iter().for_each(|child| child.inner_nodes(all));
    }

    fn write_object(
        &self,
        text: &mut String,
        depth: usize,
        outer: &CpuSet,
        machine: &Machine,
        numbers: &mut HwlocNumbers,
    ) {
        let (indent, local) = ("  ".repeat(depth), self.local_nodes(outer));
        let os_index = self.os_index.map_or_else(String::new, |index| format!(" os_index=\"{index}\""));
        let sets = format_sets(&self.cpus, &local);
        let (kind, more, number) = (self.kind, &self.more, numbers.take_next());
        let _ = writeln!(text, "{indent}<object type=\"{kind}\"{os_index}{sets}{more} gp_index=\"{number}\">");
        let far = machine.nodes.iter().filter(|node| node.cpus.is_empty() && kind == "Machine").map(|node| node.number);
        for node in self.nodes.iter().copied().chain(far) {
            let number = numbers.take_next();
            numbers.nodes.push((node, number));
            let bytes =
                machine.nodes.iter().find(|own| own.number == node).and_then(|own| own.memory_bytes).unwrap_or(0);
            let cpus = if self.nodes.contains(&node) { self.cpus.clone() } else { CpuSet::new() };
            let sets = self::format_sets(&cpus, &CpuSet::from_cpu(node));
            let _ = writeln!(
                text,
                "{indent}  <object type=\"NUMANode\" os_index=\"{node}\"{sets} gp_index=\"{number}\" local_memory=\"{bytes}\"/>"
            );
        }
        for child in &self.children {
            child.write_object(text, depth + 1, &local, machine, numbers);
        }
        let _ = writeln!(text, "{indent}</object>");
    }
}

fn format_sets(cpus: &CpuSet, nodes: &CpuSet) -> String {
    let (cpus, nodes) = (format_bitmap(cpus), format_bitmap(nodes));
    format!(" cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\"")
}

/// Formats a set for hwloc: words of 32 bits, highest first, with commas between.
fn format_bitmap(cpus: &CpuSet) -> String {
    let words: Vec<u32> = cpus.to_words().iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]).collect();
    let last = words.iter().rposition(|word| *word != 0).unwrap_or(0);
    let word = |place: usize| format!("0x{:08x}", words.get(place).copied().unwrap_or(0));
    (0..=last).rev().map(word).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_words_of_32_bits() {
        assert_eq!(format_bitmap(&CpuSet::parse_list("0-1").unwrap()), "0x00000003");
        assert_eq!(format_bitmap(&CpuSet::parse_list("0,40,64").unwrap()), "0x00000001,0x00000100,0x00000001");
        assert_eq!(format_bitmap(&CpuSet::new()), "0x00000000");
    }
}
