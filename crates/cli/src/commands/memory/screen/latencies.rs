//! The cost of a load from each node to each group of cpus: a table, or a heat map for many nodes.

use corewise_model::memory::conclude::{Cost, MemoryConclusions};

use super::heat::{self, Row, rows};
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{brief, decimal};
use crate::draw::story::StoryPart;
use crate::draw::text::Line;

/// Maximum number of nodes in a table; more make a heat map.
const FEW_NODES: usize = 4;
/// Maximum height of the heat map in lines.
const MOST_ROWS: usize = 32;

/// Merges groups if their costs for every node differ by less than 5 %.
fn alike(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let near = |one: &Cost, other: &Cost| match (one.huge_ns, other.huge_ns) {
        (Some(one), Some(other)) => (one.median / other.median - 1.0).abs() < 0.05,
        (None, None) => one.distance == other.distance,
        _ => false,
    };
    let mut together: Vec<Row<'_>> = Vec::new();
    for row in rows {
        let is_like = |known: &&mut Row<'_>| known.costs.iter().zip(&row.costs).all(|(one, other)| near(one, other));
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
pub fn latencies(conclusions: &MemoryConclusions) -> Vec<StoryPart> {
    let rows = alike(rows(conclusions));
    let Some(first) = rows.first() else { return Vec::new() };
    let only_distances = conclusions.costs.iter().all(|cost| cost.huge_ns.is_none()) && conclusions.levels.is_empty();
    let title = match only_distances {
        true => Line::new()
            .strong("Distance")
            .plain("  from cpus to each node's memory, as reported: 10 is the own; no latency was measured"),
        false => Line::new().strong("Latency").plain("  of a load from each node's memory, in huge pages"),
    };
    let mut lines = vec![title.hanging(2)];
    let many = (first.costs.len() > FEW_NODES).then(|| heat::latency(&rows)).flatten();
    let mark = if many.is_some() { "" } else { "~ " };
    lines.push(match many {
        Some(map) => StoryPart::drawing(move |width, depth| map.lines(depth, width, MOST_ROWS)),
        None => table(&rows, only_distances).into(),
    });
    if conclusions.costs.iter().any(|cost| cost.predicted) {
        let words = format!("  {mark}predicted from cells of the same distance, {}", error_words(conclusions));
        lines.push(Line::new().faint(words).hanging(2));
    }
    lines
}

/// Formats the error of predictions, such as "held-out error 1.2 %".
pub fn error_words(conclusions: &MemoryConclusions) -> String {
    conclusions.held_out.map_or_else(
        || "of unknown error".to_owned(),
        |error| format!("held-out error {} %", decimal(100.0 * error.median, 1)),
    )
}

fn table(rows: &[Row<'_>], only_distances: bool) -> Grid {
    let costs = || rows.iter().flat_map(|row| &row.costs);
    let unit = if only_distances { "" } else { "ns" };
    let mut columns = vec![Column::text("cpus", 0).shrinking_to(8)];
    for (place, cost) in rows.iter().take(1).flat_map(|row| &row.costs).enumerate() {
        let priority = if place < FEW_NODES { 0 } else { 4 };
        columns.push(Column::number(format!("node {}", cost.node), unit, priority));
    }
    let has_small = costs().any(|cost| cost.small_ns.is_some());
    columns.extend(has_small.then(|| Column::number("small pages", "nearest, ns", 3)));
    let mut grid = Grid::new(columns).indented(2);
    for row in rows {
        let mut cells = vec![Line::new().plain(row.cpus.to_string())];
        for cost in &row.costs {
            let number = match &cost.huge_ns {
                Some(ns) => brief(ns.median),
                None if only_distances => cost.distance.to_string(),
                None => String::new(),
            };
            cells.push(match (cost.predicted, cost.is_nearest) {
                (true, _) => Line::new().faint(format!("~{number}")),
                (false, true) => Line::new().strong(number),
                (false, false) => Line::new().plain(number),
            });
        }
        let nearest = row.costs.iter().find(|cost| cost.is_nearest);
        let small = nearest.and_then(|cost| cost.small_ns).map_or_else(String::new, |ns| brief(ns.median));
        cells.extend(has_small.then(|| Line::new().plain(small)));
        grid.row(cells);
    }
    grid
}
