//! A talk graph in the language of GraphViz.

use std::fmt::Write as _;

use corewise_model::talk::conclude::TalkConclusions;
use corewise_model::talk::{TalkVertex, VertexKind};

use crate::draw::number::format_brief;
use crate::draw::printable::printable_name;

/// Width of the line of the strongest edge, in points.
const WIDEST: f64 = 6.0;

/// Writes the folded graph: a cluster for each group, a line for each pair and direction, as wide as it has wakes.
pub fn write_dot(conclusions: &TalkConclusions, seconds: f64) -> String {
    let folded = &conclusions.folded;
    let mut text = String::from("digraph talk {\n  node [shape=box];\n");
    let write_vertex = |text: &mut String, vertex: usize| {
        let label = quote_label(&describe_vertex(&folded.vertices[vertex]));
        let shape = if folded.vertices[vertex].kind.is_thread() { "" } else { ", shape=ellipse" };
        let _ = writeln!(text, "    v{vertex} [label={label}{shape}];");
    };
    for (number, group) in conclusions.groups.groups.iter().enumerate() {
        let _ = writeln!(text, "  subgraph cluster_{number} {{\n    label=\"group {}\";", number + 1);
        group.iter().for_each(|vertex| write_vertex(&mut text, *vertex));
        text.push_str("  }\n");
    }
    let is_grouped = |vertex: &usize| conclusions.groups.groups.iter().any(|group| group.contains(vertex));
    (0..folded.vertices.len()).filter(|vertex| !is_grouped(vertex)).for_each(|vertex| write_vertex(&mut text, vertex));
    let most = folded.edges.iter().fold(f64::MIN_POSITIVE, |most, edge| most.max(edge.wakes));
    for edge in &folded.edges {
        let label = quote_label(&format!("{}/s {}", format_brief(edge.wakes / seconds), edge.means));
        let width = (WIDEST * edge.wakes / most).max(0.3);
        let _ = writeln!(text, "  v{} -> v{} [label={label}, penwidth={width:.1}];", edge.waker, edge.wakee);
    }
    text.push_str("}\n");
    text
}

/// Returns a vertex's name with what it is: "worker-* (32 threads)".
pub fn describe_vertex(vertex: &TalkVertex) -> String {
    let name = label_vertex(vertex);
    match vertex.kind {
        VertexKind::Thread { .. } => name,
        VertexKind::Pool { threads } => format!("{name} ({threads} threads)"),
        VertexKind::Interrupt { number } => format!("{name} (interrupt {number})"),
        VertexKind::Kernel => format!("{name} (kernel)"),
    }
}

/// Returns a vertex's name for a label: a thread may have an empty one.
pub fn label_vertex(vertex: &TalkVertex) -> String {
    if vertex.name.is_empty() { "(no name)".to_owned() } else { printable_name(&vertex.name) }
}

/// Quotes a text: a quotation mark or a backslash of a name ends no label and begins no escape.
fn quote_label(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_a_name_has_a_label() {
        let vertex = |name: &str| TalkVertex {
            name: name.to_owned(),
            kind: VertexKind::Pool { threads: 4 },
            program: String::new(),
            busy_share: 0.0,
            cpus: corewise_machine::CpuSet::default(),
        };
        assert_eq!(describe_vertex(&vertex("")), "(no name) (4 threads)");
        assert_eq!(describe_vertex(&vertex("a\nb")), "a\\u{a}b (4 threads)");
    }

    #[test]
    fn names_cannot_end_their_label() {
        assert_eq!(quote_label("a\"];b->c[x=\"\\"), "\"a\\\"];b->c[x=\\\"\\\\\"");
    }
}
