//! A machine on a page: nested boxes for its levels, with devices in the boxes that they are near to.

use corewise_machine::device::cpus_near;
use corewise_machine::{CpuSet, Level, Machine};
use maud::{Markup, html};

use crate::draw::number::format_bytes;
use crate::draw::printable::printable_name;
use crate::draw::tree::{TreeBranch, grow_tree};

/// Maximum number of devices that a box names; of more, it shows the count.
const MOST_DEVICES: usize = 8;

/// Device as a box shows it: its name, and the cpus near it.
struct DeviceLabel {
    words: String,
    near: CpuSet,
}

/// Renders the machine's levels as nested lists, which a screen reader can walk.
pub fn machine_markup(machine: &Machine) -> Markup {
    let without_cpus = machine.nodes.iter().enumerate().filter(|(_, node)| node.cpus.is_empty());
    let (known, unknown): (Vec<_>, Vec<_>) =
        machine.devices.iter().map(|device| (device, cpus_near(device, machine))).partition(|(_, near)| near.is_known);
    let device = |(device, near): (&corewise_machine::facts::PciDevice, corewise_machine::device::NearCpus)| {
        DeviceLabel { words: format!("{} ({})", printable_name(&device.title()), device.kind.word()), near: near.cpus }
    };
    let known: Vec<DeviceLabel> = known.into_iter().map(device).collect();
    let unknown: Vec<DeviceLabel> = unknown.into_iter().map(device).collect();
    html! {
        ul.machine {
            @for branch in grow_tree(machine) { (object_markup(machine, &branch, &known)) }
            @for (index, node) in without_cpus {
                li.object { span.label { "node:" (index) } " " span.detail { (node.memory_bytes.map_or_else(|| "memory".to_owned(), format_bytes)) ", no cpus" } }
            }
            @if !unknown.is_empty() { li.object { span.label { "not known where" } (devices_markup(&unknown.iter().collect::<Vec<_>>())) } }
        }
    }
}

fn object_markup(machine: &Machine, branch: &TreeBranch, known: &[DeviceLabel]) -> Markup {
    let label: Vec<String> = branch.objects.iter().map(|(level, index)| format!("{level}:{index}")).collect();
    let detail: Vec<String> =
        [format_memory(machine, branch), format_cache(machine, branch)].into_iter().flatten().collect();
    let is_within = |device: &DeviceLabel, cpus: &CpuSet| device.near.is_subset(cpus);
    let is_here = |device: &&DeviceLabel| {
        is_within(device, &branch.cpus) && !branch.children.iter().any(|child| is_within(device, &child.cpus))
    };
    let here: Vec<&DeviceLabel> = known.iter().filter(is_here).collect();
    html! {
        li.object {
            span.label { (label.join(" · ")) }
            @if !detail.is_empty() { " " span.detail { (detail.join(" · ")) } }
            (devices_markup(&here))
            @if !branch.cores.is_empty() {
                ul.cores { @for core in &branch.cores { (self::core_markup(machine, *core)) } }
            }
            @if !branch.children.is_empty() {
                ul { @for child in &branch.children { (object_markup(machine, child, known)) } }
            }
        }
    }
}

fn devices_markup(devices: &[&DeviceLabel]) -> Markup {
    let mut words: Vec<String> = devices.iter().take(MOST_DEVICES).map(|device| device.words.clone()).collect();
    words.extend(devices.len().checked_sub(MOST_DEVICES + 1).map(|more| format!("{} more", more + 1)));
    html! { @if !words.is_empty() { " " span.devices { (words.join(", ")) } } }
}

/// Renders a core by its cpus: its kind, and whether this process may use it, in words, too.
fn core_markup(machine: &Machine, index: usize) -> Markup {
    let cpus = &machine.cores[index].cpus;
    let kind = cpus.lowest().and_then(|cpu| machine.kind_of(cpu)).map(|kind| kind.core_type.word());
    let is_allowed = !cpus.is_disjoint(&machine.allowed);
    html! {
        li.core.denied[!is_allowed] title=[(!is_allowed).then_some("not allowed here")] {
            (cpus)
            @if let Some(kind) = kind { " " small { (kind) } }
        }
    }
}

fn format_memory(machine: &Machine, branch: &TreeBranch) -> Option<String> {
    match machine.nodes[branch.index_of(Level::Node)?].memory_bytes? {
        0 => Some("no memory".to_owned()),
        size => Some(format_bytes(size)),
    }
}

fn format_cache(machine: &Machine, branch: &TreeBranch) -> Option<String> {
    let llc = &machine.llcs[branch.index_of(Level::Llc)?];
    let stacked = if llc.vcache { " V-Cache" } else { "" };
    Some(format!("{} L{}{stacked}", format_bytes(llc.size_bytes?), llc.level?))
}
