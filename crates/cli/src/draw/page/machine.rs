//! A machine on a page: boxes in boxes, as its levels lie in each other.

use corewise_model::{Level, Machine};
use maud::{Markup, html};

use crate::draw::number::bytes;
use crate::draw::tree::{Branch, grow};

/// The machine's levels as nested lists, which a screen reader can walk.
pub fn machine(machine: &Machine) -> Markup {
    let without_cpus = machine.nodes.iter().enumerate().filter(|(_, node)| node.cpus.is_empty());
    html! {
        ul.machine {
            @for branch in grow(machine) { (object(machine, &branch)) }
            @for (index, node) in without_cpus {
                li.object { span.label { "node:" (index) } " " span.detail { (node.memory_bytes.map_or_else(|| "memory".to_owned(), bytes)) ", no cpus" } }
            }
        }
    }
}

fn object(machine: &Machine, branch: &Branch) -> Markup {
    let label: Vec<String> = branch.objects.iter().map(|(level, index)| format!("{level}:{index}")).collect();
    let detail: Vec<String> = [memory(machine, branch), cache(machine, branch)].into_iter().flatten().collect();
    html! {
        li.object {
            span.label { (label.join(" · ")) }
            @if !detail.is_empty() { " " span.detail { (detail.join(" · ")) } }
            @if !branch.cores.is_empty() {
                ul.cores { @for core in &branch.cores { (self::core(machine, *core)) } }
            }
            @if !branch.children.is_empty() {
                ul { @for child in &branch.children { (object(machine, child)) } }
            }
        }
    }
}

/// A core by its cpus: its kind, and whether this process may use it, in words too.
fn core(machine: &Machine, index: usize) -> Markup {
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

fn memory(machine: &Machine, branch: &Branch) -> Option<String> {
    match machine.nodes[branch.index(Level::Node)?].memory_bytes? {
        0 => Some("no memory".to_owned()),
        size => Some(bytes(size)),
    }
}

fn cache(machine: &Machine, branch: &Branch) -> Option<String> {
    let llc = &machine.llcs[branch.index(Level::Llc)?];
    let stacked = if llc.vcache { " V-Cache" } else { "" };
    Some(format!("{} L{}{stacked}", bytes(llc.size_bytes?), llc.level?))
}
