//! The cost of a load from each node to each group of cpus: a table, or a heat map for many nodes.

use corewise_model::memory::conclude::{MemoryConclusions, MemoryNodeCost};

use super::heat::{self, NodeCostsRow, group_rows};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_brief, format_decimal};
use crate::draw::story::StoryPart;
use crate::draw::text::StyledLine;

/// Maximum number of nodes in a table; more make a heat map.
const FEW_NODES: usize = 4;
/// Maximum height of the heat map in lines.
const MOST_ROWS: usize = 32;

/// Merges groups if their costs for every node differ by less than 5 %.
fn merge_alike(rows: Vec<NodeCostsRow<'_>>) -> Vec<NodeCostsRow<'_>> {
    let near = |one: &MemoryNodeCost, other: &MemoryNodeCost| match (one.huge_ns, other.huge_ns) {
        (Some(one), Some(other)) => (one.median / other.median - 1.0).abs() < 0.05,
        (None, None) => one.distance == other.distance,
        _ => false,
    };
    let mut together: Vec<NodeCostsRow<'_>> = Vec::new();
    for row in rows {
        let is_like =
            |known: &&mut NodeCostsRow<'_>| known.costs.iter().zip(&row.costs).all(|(one, other)| near(one, other));
        match together.iter_mut().find(is_like) {
            Some(known) => {
                known.cpus = known.cpus.union(&row.cpus);
                // A measured cost replaces an equal predicted one.
                known.costs.iter_mut().zip(row.costs).filter(|(cost, _)| cost.predicted).for_each(|(cost, other)| {
                    *cost = other;
                });
            }
            None => together.push(row),
        }
    }
    together
}

/// Returns the cost of a load from each node to each group of cpus.
pub fn compose_latencies(conclusions: &MemoryConclusions) -> Vec<StoryPart> {
    let rows = merge_alike(group_rows(conclusions));
    let Some(first) = rows.first() else { return Vec::new() };
    let only_distances = conclusions.costs.iter().all(|cost| cost.huge_ns.is_none()) && conclusions.levels.is_empty();
    let title = match only_distances {
        true => StyledLine::new()
            .strong("Distance")
            .plain("  from cpus to each node's memory, as reported: 10 is the own; no latency was measured"),
        false => StyledLine::new().strong("Latency").plain("  of a load from each node's memory, in huge pages"),
    };
    let mut lines = vec![title.into_paragraph(2)];
    let many = (first.costs.len() > FEW_NODES).then(|| heat::latency_map(&rows)).flatten();
    let mark = if many.is_some() { "" } else { "~ " };
    lines.push(match many {
        Some(map) => StoryPart::from_drawing(move |width, depth| map.draw_lines(depth, width, MOST_ROWS)),
        None => draw_table(&rows, only_distances).into(),
    });
    if conclusions.costs.iter().any(|cost| cost.predicted) {
        let words = format!("  {mark}predicted from cells of the same distance, {}", format_error(conclusions));
        lines.push(StyledLine::new().faint(words).into_paragraph(2));
    }
    lines
}

/// Formats the error of predictions, such as "held-out error 1.2 %".
pub fn format_error(conclusions: &MemoryConclusions) -> String {
    conclusions.held_out.map_or_else(
        || "of unknown error".to_owned(),
        |error| format!("held-out error {} %", format_decimal(100.0 * error.median, 1)),
    )
}

fn draw_table(rows: &[NodeCostsRow<'_>], only_distances: bool) -> TextGrid {
    let costs = || rows.iter().flat_map(|row| &row.costs);
    let unit = if only_distances { "" } else { "ns" };
    let mut columns = vec![GridColumn::text("cpus", 0).shrinking_to(8)];
    for (place, cost) in rows.iter().take(1).flat_map(|row| &row.costs).enumerate() {
        let priority = if place < FEW_NODES { 0 } else { 4 };
        columns.push(GridColumn::number(format!("node {}", cost.node), unit, priority));
    }
    let has_small = costs().any(|cost| cost.small_ns.is_some());
    columns.extend(has_small.then(|| GridColumn::number("small pages", "nearest, ns", 3)));
    let mut grid = TextGrid::new(columns).with_indent(2);
    for row in rows {
        let mut cells = vec![StyledLine::new().plain(row.cpus.to_string())];
        for cost in &row.costs {
            let number = match &cost.huge_ns {
                Some(ns) => format_brief(ns.median),
                None if only_distances => cost.distance.to_string(),
                None => String::new(),
            };
            cells.push(match (cost.predicted, cost.is_nearest) {
                (true, _) => StyledLine::new().faint(format!("~{number}")),
                (false, true) => StyledLine::new().strong(number),
                (false, false) => StyledLine::new().plain(number),
            });
        }
        let nearest = row.costs.iter().find(|cost| cost.is_nearest);
        let small = nearest.and_then(|cost| cost.small_ns).map_or_else(String::new, |ns| format_brief(ns.median));
        cells.extend(has_small.then(|| StyledLine::new().plain(small)));
        grid.add_row(cells);
    }
    grid
}
