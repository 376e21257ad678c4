//! The latency of one cpu while others load the same node.

use corewise_machine::CpuSet;
use corewise_model::memory::conclude::{Load, LoadPoint};

use super::{interval, some};
use crate::draw::grid::{Column, Grid};
use crate::draw::number::brief;
use crate::draw::story::StoryPart;
use crate::draw::text::Line;
use crate::draw::wrap::glued;

/// Width of the bar of the greatest load, in columns.
const BAR: f64 = 20.0;

/// Returns a table of one node, with bars.
pub fn load_lines(load: &Load) -> Vec<StoryPart> {
    let words = format!("  latency of cpu {} while {} read from node {}", load.cpu, cpus(&load.loaders), load.node);
    let title = Line::new().strong("Under load").plain(glued(&words));
    let columns = vec![
        Column::number("load", "GB/s", 0),
        Column::number("a load", "ns", 0).named("latency"),
        Column::number("", "95 %", 2).named("interval"),
        Column::text("", 3).named("bar"),
    ];
    let mut grid = Grid::new(columns).indented(2);
    let most = load.points.iter().map(|point| point.ns.median).fold(0.0, f64::max);
    for (index, point) in load.points.iter().enumerate() {
        let bar = "█".repeat((BAR * point.ns.median / most).round() as usize);
        let knee = if load.knee == Some(index) { " knee" } else { "" };
        grid.row(vec![
            Line::new().plain(if index == 0 { "none".to_owned() } else { brief(point.gb_s) }),
            some(Some(&point.ns)),
            interval(Some(&point.ns)),
            Line::new().faint(bar).strong(knee),
        ]);
    }
    vec![title.hanging(2), grid.into()]
}

/// Returns a table of several nodes: one row each, with a small picture.
pub fn loads_lines(loads: &[Load]) -> Vec<StoryPart> {
    let rows: Vec<&Load> = loads.iter().filter(|load| !load.points.is_empty()).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::number("node", "", 0),
        Column::number("alone", "ns", 0),
        Column::text("knee", 0),
        Column::text("full load", 1),
        Column::text("by rising load", 2).named("picture"),
        Column::text("of cpu, loaded by", 3).shrinking_to(8),
    ];
    let mut grid = Grid::new(columns).indented(2);
    let at = |point: &LoadPoint| format!("{} ns at {} GB/s", brief(point.ns.median), brief(point.gb_s));
    for load in rows {
        let knee = load.knee.and_then(|knee| load.points.get(knee));
        grid.row(vec![
            Line::new().plain(load.node.to_string()),
            some(load.points.first().map(|point| &point.ns)),
            knee.map_or_else(|| Line::new().faint("none"), |point| Line::new().strong(at(point))),
            load.points.last().map_or_else(Line::new, |point| Line::new().plain(at(point))),
            Line::new().plain(picture(load)),
            Line::new().faint(format!("{}, {}", load.cpu, cpus(&load.loaders))),
        ]);
    }
    let title =
        Line::new().strong("Under load").plain("  latency of one cpu while the others near the node read from it");
    vec![title.hanging(2), grid.into()]
}

/// Draws the latency by rising load, such as "▁▁▁▂▂▃▅█".
fn picture(load: &Load) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = load.points.iter().map(|point| point.ns.median).fold(f64::MIN_POSITIVE, f64::max);
    let bar = |point: &LoadPoint| BARS[((point.ns.median / most * 8.0).ceil() as usize).clamp(1, 8) - 1];
    load.points.iter().map(bar).collect()
}

fn cpus(cpus: &CpuSet) -> String {
    format!("cpu{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}
