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
    let name = printable_name(&vertex.name);
    match vertex.kind {
        VertexKind::Thread { .. } => name,
        VertexKind::Pool { threads } => format!("{name} ({threads} threads)"),
        VertexKind::Interrupt { number } => format!("{name} (interrupt {number})"),
        VertexKind::Kernel => format!("{name} (kernel)"),
    }
}

/// Quotes a text: a quotation mark or a backslash of a name ends no label and begins no escape.
fn quote_label(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_their_label() {
        assert_eq!(quote_label("a\"];b->c[x=\"\\"), "\"a\\\"];b->c[x=\\\"\\\\\"");
    }
}
