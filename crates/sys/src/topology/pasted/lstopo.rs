//! lstopo's text: a tree by indentation, objects on one line joined by " + ", `Core L#0`, `PU L#0 (P#0)`, `L3 L#0 (32MB)`.

use corewise_machine::CpuSet;
use corewise_machine::facts::{CacheKind, NodeFacts};

use super::lscpu::parse_size;
use super::{PastedCpu, PastedCpus};
use crate::topology::limits::LARGEST_CPU;
use crate::topology::nodes::LARGEST_NODE;

/// The contents of a tree.
#[derive(Default)]
pub struct DrawnTree {
    pub cpus: PastedCpus,
    pub nodes: Vec<NodeFacts>,
}

/// Maximum depth of the tree.
const DEEPEST: usize = 100;

/// Reads the tree; empty if the text has none.
pub fn read_tree(text: &str) -> DrawnTree {
    let mut tree = DrawnTree::default();
    // The place that the objects around a line describe, by its indentation.
    let mut around: Vec<(usize, PastedCpu)> = Vec::new();
    for line in text.lines().skip_while(|line| !line.starts_with("Machine")) {
        let depth = line.len() - line.trim_start().len();
        around.retain(|(other, _)| *other < depth);
        if around.len() > DEEPEST {
            break;
        }
        let mut place = around.last().map(|(_, place)| place.clone()).unwrap_or_default();
        for object in line.trim().split(" + ") {
            match read_object(object, &mut place) {
                Some(DrawnObject::Node(node)) => {
                    // In hwloc 2 a node is a leaf, and the first beside objects is theirs; in hwloc 1 they are inside it.
                    place.node = Some(node.number);
                    around.iter_mut().rev().take(1).for_each(|(_, place)| _ = place.node.get_or_insert(node.number));
                    tree.nodes.push(node);
                }
                Some(DrawnObject::Cpu(cpu)) => _ = tree.cpus.insert(cpu, place.clone()),
                None => {}
            }
        }
        around.push((depth, place));
    }
    place_nodes(&mut tree);
    tree
}

/// An object that is more than a level of the place.
enum DrawnObject {
    Node(NodeFacts),
    Cpu(u32),
}

/// Reads one object into the place that it is.
fn read_object(object: &str, place: &mut PastedCpu) -> Option<DrawnObject> {
    let (name, rest) = object.split_once(" L#")?;
    let logical: i64 = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let physical = || {
        rest.split_once("P#")
            .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok())
    };
    let size = || rest.split_once('(').and_then(|(_, rest)| parse_size(rest.split([')', ' ']).next()?));
    let cache = match name {
        "L1d" => Some((1, CacheKind::Data)),
        "L1i" => Some((1, CacheKind::Instruction)),
        "L1" => Some((1, CacheKind::Unified)),
        "L2" => Some((2, CacheKind::Unified)),
        "L3" => Some((3, CacheKind::Unified)),
        "L4" => Some((4, CacheKind::Unified)),
        _ => None,
    };
    if let Some(kind) = cache {
        place.caches.insert(kind, (logical as u64, size()));
        return None;
    }
    match name {
        "Package" | "Socket" => place.package = Some(logical),
        "Die" => place.die = Some(logical),
        "Core" => place.core = Some(logical),
        "NUMANode" => {
            let number = physical().unwrap_or(logical as u32);
            let memory = rest
                .split_once("P#")
                .and_then(|(_, rest)| rest.split_once(' '))
                .and_then(|(_, size)| parse_size(size.split([')', ' ']).next()?));
            let node = NodeFacts { number, memory_bytes: memory, ..NodeFacts::default() };
            return (number <= LARGEST_NODE).then_some(DrawnObject::Node(node));
        }
        "PU" => {
            let cpu = physical().unwrap_or(logical as u32);
            return (cpu <= LARGEST_CPU).then_some(DrawnObject::Cpu(cpu));
        }
        _ => {}
    }
    None
}

/// Gives each node the cpus with a place that names it; one node for all cpus if none does.
fn place_nodes(tree: &mut DrawnTree) {
    let DrawnTree { cpus, nodes } = tree;
    nodes.sort_by_key(|node| node.number);
    nodes.dedup_by_key(|node| node.number);
    for node in nodes.iter_mut() {
        let here = cpus.iter().filter(|(_, cpu)| cpu.node == Some(node.number)).map(|(cpu, _)| *cpu);
        node.cpus = here.collect::<CpuSet>();
    }
    if let [only] = nodes.as_mut_slice()
        && only.cpus.is_empty()
    {
        only.cpus = cpus.keys().copied().collect();
    }
}
