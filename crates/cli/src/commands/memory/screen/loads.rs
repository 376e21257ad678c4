//! The latency of one cpu while others load the same node.

use corewise_machine::CpuSet;
use corewise_model::memory::conclude::{LatencyUnderLoad, LoadPoint};

use super::{draw_interval, draw_median};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::format_brief;
use crate::draw::story::StoryPart;
use crate::draw::text::StyledLine;
use crate::draw::wrap::glue_numbers;

/// Width of the bar of the greatest load, in columns.
const BAR: f64 = 20.0;

/// Returns a table of one node, with bars.
pub fn load_lines(load: &LatencyUnderLoad) -> Vec<StoryPart> {
    let words =
        format!("  latency of cpu {} while {} read from node {}", load.cpu, format_cpus(&load.loaders), load.node);
    let title = StyledLine::new().strong("Under load").plain(glue_numbers(&words));
    let columns = vec![
        GridColumn::number("load", "GB/s", 0),
        GridColumn::number("a load", "ns", 0).with_name("latency"),
        GridColumn::number("", "95 %", 2).with_name("interval"),
        GridColumn::text("", 3).with_name("bar"),
    ];
    let mut grid = TextGrid::new(columns).with_indent(2);
    let most = load.points.iter().map(|point| point.ns.median).fold(0.0, f64::max);
    for (index, point) in load.points.iter().enumerate() {
        let bar = "█".repeat((BAR * point.ns.median / most).round() as usize);
        let knee = if load.knee == Some(index) { " knee" } else { "" };
        grid.add_row(vec![
            StyledLine::new().plain(if index == 0 { "none".to_owned() } else { format_brief(point.gb_s) }),
            draw_median(Some(&point.ns)),
            draw_interval(Some(&point.ns)),
            StyledLine::new().faint(bar).strong(knee),
        ]);
    }
    vec![title.into_paragraph(2), grid.into()]
}

/// Returns a table of several nodes: one row each, with a small picture.
pub fn loads_lines(loads: &[LatencyUnderLoad]) -> Vec<StoryPart> {
    let rows: Vec<&LatencyUnderLoad> = loads.iter().filter(|load| !load.points.is_empty()).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        GridColumn::number("node", "", 0),
        GridColumn::number("alone", "ns", 0),
        GridColumn::text("knee", 0),
        GridColumn::text("full load", 1),
        GridColumn::text("by rising load", 2).with_name("picture"),
        GridColumn::text("of cpu, loaded by", 3).shrinking_to(8),
    ];
    let mut grid = TextGrid::new(columns).with_indent(2);
    let at = |point: &LoadPoint| format!("{} ns at {} GB/s", format_brief(point.ns.median), format_brief(point.gb_s));
    for load in rows {
        let knee = load.knee.and_then(|knee| load.points.get(knee));
        grid.add_row(vec![
            StyledLine::new().plain(load.node.to_string()),
            draw_median(load.points.first().map(|point| &point.ns)),
            knee.map_or_else(|| StyledLine::new().faint("none"), |point| StyledLine::new().strong(at(point))),
            load.points.last().map_or_else(StyledLine::new, |point| StyledLine::new().plain(at(point))),
            StyledLine::new().plain(draw_bars(load)),
            StyledLine::new().faint(format!("{}, {}", load.cpu, format_cpus(&load.loaders))),
        ]);
    }
    let title = StyledLine::new()
        .strong("Under load")
        .plain("  latency of one cpu while the others near the node read from it");
    vec![title.into_paragraph(2), grid.into()]
}

/// Draws the latency by rising load, such as "▁▁▁▂▂▃▅█".
fn draw_bars(load: &LatencyUnderLoad) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = load.points.iter().map(|point| point.ns.median).fold(f64::MIN_POSITIVE, f64::max);
    let bar = |point: &LoadPoint| BARS[((point.ns.median / most * 8.0).ceil() as usize).clamp(1, 8) - 1];
    load.points.iter().map(bar).collect()
}

fn format_cpus(cpus: &CpuSet) -> String {
    format!("cpu{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}
