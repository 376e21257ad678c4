//! Converts a machine file to the facts that a reader would have found on the machine.

use toml::Spanned;

use super::check::{self, DocumentProblem};
use super::cpus::build_cpus;
use super::document::{DeviceEntry, KindsEntry, MachineDocument, NodeEntry};
use super::entries::NodeDistances;
use crate::CpuSet;
use crate::facts::{CoreType, MachineFacts, NamedKind, NodeFacts, PciDevice};
use crate::machine::{ProcessorFacts, SystemFacts};

/// Source of the kinds of core, as a user would look it up.
const KIND_SOURCE: &str = "the machine file";

/// Returns the facts of a document that passed [`check::check`].
pub fn facts_of_document(document: &MachineDocument) -> Result<MachineFacts, DocumentProblem> {
    let all = document.cpus.get_ref();
    let offline = document.offline.as_ref().map(|set| set.get_ref().clone()).unwrap_or_default();
    let online = all.difference(&offline);
    let set = |set: &Option<Spanned<CpuSet>>| set.as_ref().map(|set| set.get_ref().clone());
    Ok(MachineFacts {
        processor: build_processor(document),
        system: SystemFacts { architecture: document.architecture.clone(), ..SystemFacts::default() },
        cpus: build_cpus(document, &online)?,
        possible: set(&document.possible),
        present: Some(all.clone()),
        online: Some(online),
        isolated: set(&document.isolated),
        nohz_full: set(&document.nohz_full),
        allowed: set(&document.allowed),
        nodes: build_nodes(document)?,
        named_kinds: build_kinds(document)?,
        devices: document.devices.iter().map(|entry| build_device(entry, all)).collect::<Result<_, _>>()?,
        ..MachineFacts::default()
    })
}

/// Converts a device. Its node may be missing from the machine, as real reports may be wrong.
fn build_device(entry: &Spanned<DeviceEntry>, cpus: &CpuSet) -> Result<PciDevice, DocumentProblem> {
    let DeviceEntry { kind, names, address, driver, node, local_cpus, queues } = entry.get_ref();
    if names.is_empty() && address.is_none() {
        return Err(DocumentProblem { span: entry.span(), what: "a device needs `names` or an `address`".to_owned() });
    }
    if let Some(local) = local_cpus {
        check::check_known(local, cpus, entry.span())?;
    }
    Ok(PciDevice {
        kind: *kind,
        names: names.clone(),
        address: address.clone(),
        driver: driver.clone(),
        node: *node,
        local_cpus: local_cpus.clone(),
        link: None,
        queues: *queues,
    })
}

fn build_processor(document: &MachineDocument) -> ProcessorFacts {
    ProcessorFacts {
        model_name: Some(document.name.clone()),
        vendor: document.vendor.clone(),
        family: document.family,
        model: document.model,
        stepping: document.stepping,
        microcode: None,
    }
}

/// Returns the nodes; one with all cpus if the file names none.
fn build_nodes(document: &MachineDocument) -> Result<Vec<NodeFacts>, DocumentProblem> {
    let all = document.cpus.get_ref();
    let mut nodes: Vec<NodeFacts> = Vec::new();
    for entry in &document.nodes {
        add_nodes(entry, &mut nodes)?;
    }
    match document.nodes.first() {
        None => nodes.push(NodeFacts { cpus: all.clone(), distances: vec![10], ..NodeFacts::default() }),
        Some(first) => check::check_partition("node", nodes.iter().map(|node| &node.cpus), all, first.span())?,
    }
    if let Some(distances) = &document.distances {
        set_distances(distances, &mut nodes)?;
    }
    Ok(nodes)
}

fn add_nodes(entry: &Spanned<NodeEntry>, nodes: &mut Vec<NodeFacts>) -> Result<(), DocumentProblem> {
    let NodeEntry { number, cpus, memory } = entry.get_ref();
    let next = nodes.last().map_or(0, |node| node.number.saturating_add(1));
    let number = number.unwrap_or(next);
    if number < next {
        let what = format!("node numbers must ascend; the next is {next} or more");
        return Err(DocumentProblem { span: entry.span(), what });
    }
    let sets = match cpus {
        Some(objects) => objects.object_sets().cloned().collect(),
        None => vec![CpuSet::new()],
    };
    let memory_bytes = memory.map(|memory| memory.bytes);
    let node = |(number, cpus)| NodeFacts { number, cpus, memory_bytes, ..NodeFacts::default() };
    nodes.extend((number..).zip(sets).map(node));
    Ok(())
}

fn set_distances(distances: &Spanned<NodeDistances>, nodes: &mut [NodeFacts]) -> Result<(), DocumentProblem> {
    let count = nodes.len();
    match distances.get_ref() {
        NodeDistances::ToOthers(distance) => {
            for (at, node) in nodes.iter_mut().enumerate() {
                node.distances = (0..count).map(|other| if other == at { 10 } else { *distance }).collect();
            }
        }
        NodeDistances::Rows(rows) => {
            if rows.len() != count || rows.iter().any(|row| row.len() != count) {
                let what = format!("expected {count} rows of {count} distances, because there are {count} nodes");
                return Err(DocumentProblem { span: distances.span(), what });
            }
            nodes.iter_mut().zip(rows).for_each(|(node, row)| node.distances = row.clone());
        }
    }
    Ok(())
}

fn build_kinds(document: &MachineDocument) -> Result<Vec<NamedKind>, DocumentProblem> {
    let Some(kinds) = &document.kinds else { return Ok(Vec::new()) };
    let KindsEntry { performance, efficiency, low_power } = kinds.get_ref();
    let named =
        [(CoreType::Performance, performance), (CoreType::Efficiency, efficiency), (CoreType::LowPower, low_power)];
    let named: Vec<_> = named.into_iter().filter_map(|(core_type, cpus)| Some((core_type, cpus.clone()?))).collect();
    check::check_partition("kind", named.iter().map(|(_, cpus)| cpus), document.cpus.get_ref(), kinds.span())?;
    let kind = |(core_type, cpus)| NamedKind { core_type, cpus, source: KIND_SOURCE.to_owned() };
    Ok(named.into_iter().map(kind).collect())
}
