//! The screen of `corewise topology`: the picture of the levels, then caches, nodes and kinds in depth.

use corewise_machine::machine::Node;
use corewise_machine::machine_file::Description;
use corewise_machine::{CpuSet, Level, Machine};

use crate::draw::grid::{Column, Grid};
use crate::draw::machine::{cache_name, headline, model_name, numbering, origin, picture};
use crate::draw::number::{bytes, count};
use crate::draw::story::lines;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;

/// Maximum number of objects shown one by one.
const MANY_OBJECTS: usize = 64;
/// Maximum number of nodes for which distances are shown; larger matrices appear only in `--json`.
const MOST_NODES: usize = 32;

/// Returns the whole screen of a machine, and of the description in its machine file, if any.
pub fn screen(machine: &Machine, description: Option<&Description>, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(lines(&[headline(machine, &[])], width));
    screen.block(picture(machine, width, MANY_OBJECTS));
    screen.block(description.map_or_else(Vec::new, |description| numbering(description, width)));
    screen.block(processor(machine, width));
    screen.block(levels(machine, width));
    screen.block(caches(machine, width));
    screen.block(kinds(machine, width));
    screen.block(nodes(machine, width));
    screen.block(processor_groups(machine, width));
    screen.block(gaps(machine, width));
    screen.block(description.map_or_else(Vec::new, |description| origin(description, width)));
    screen
}

/// Returns the processor's numbers, and the name of the machine in the history.
fn processor(machine: &Machine, width: usize) -> Vec<Line> {
    let processor = &machine.processor;
    let number = |name: &str, value: Option<u32>| value.map(|value| format!("{name} {value} ({value:#x})"));
    let items = [
        processor.vendor.clone(),
        number("family", processor.family),
        number("model", processor.model),
        processor.stepping.map(|stepping| format!("stepping {stepping}")),
        processor.microcode.as_ref().map(|microcode| format!("microcode {microcode}")),
        machine.system.architecture.clone(),
        (!machine.system.governors.is_empty()).then(|| format!("governor {}", machine.system.governors.join(", "))),
        Some(format!("fingerprint {}", machine.fingerprint())),
    ];
    let full = processor.model_name.clone().filter(|name| *name != model_name(machine));
    let text: Vec<String> = full.into_iter().chain(items.into_iter().flatten()).collect();
    wrap(&Line::new().strong("Processor").plain("  ").plain(text.join(" · ")), width, 2)
}

/// Returns the number of objects of each level, and their cpus.
fn levels(machine: &Machine, width: usize) -> Vec<Line> {
    let mut grid = Grid::new(vec![
        Column::text("level", 0),
        Column::number("objects", "", 1),
        Column::number("cpus each", "", 2),
        Column::text("cpus", 3).shrinking_to(12),
    ]);
    for level in machine.levels() {
        let objects = machine.objects(level);
        let sizes = objects.iter().map(CpuSet::len);
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        let each = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let lists: Vec<String> = if level == Level::Cpu {
            vec![machine.online.to_string()]
        } else {
            objects.iter().map(CpuSet::to_string).collect()
        };
        let cells = [level.word().to_owned(), objects.len().to_string(), each];
        let mut row: Vec<Line> = cells.iter().map(|text| Line::new().plain(text)).collect();
        row.push(Line::new().plain(lists.join("  ")));
        grid.row(row);
    }
    drawn(&grid, "Levels", width)
}

fn caches(machine: &Machine, width: usize) -> Vec<Line> {
    let mut kinds: Vec<(u8, _, Option<u64>, usize, Vec<&CpuSet>)> = Vec::new();
    for cache in &machine.caches {
        let key = (cache.level, cache.kind, cache.size_bytes, cache.cpus.len());
        match kinds.iter_mut().find(|kind| (kind.0, kind.1, kind.2, kind.3) == key) {
            Some(kind) => kind.4.push(&cache.cpus),
            None => kinds.push((key.0, key.1, key.2, key.3, vec![&cache.cpus])),
        }
    }
    let mut grid = Grid::new(vec![
        Column::text("cache", 0),
        Column::number("size", "", 1),
        Column::number("count", "", 1),
        Column::number("cpus each", "", 2),
        Column::text("cpus", 3).shrinking_to(12),
    ]);
    for (level, kind, size, cpus, sets) in &kinds {
        let size = size.map_or_else(|| "unknown".to_owned(), bytes);
        let lists: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let cells = [cache_name(*level, *kind), size, sets.len().to_string(), cpus.to_string(), lists.join("  ")];
        grid.row(cells.iter().map(|text| Line::new().plain(text)).collect());
    }
    if kinds.is_empty() { Vec::new() } else { drawn(&grid, "Caches", width) }
}

fn kinds(machine: &Machine, width: usize) -> Vec<Line> {
    if machine.kinds.is_empty() {
        return wrap(&Line::new().strong("Kinds").plain("  all cores are of one kind"), width, 2);
    }
    let mut grid = Grid::new(vec![
        Column::text("kind", 0),
        Column::number("cpus", "", 1),
        Column::text("which", 0).shrinking_to(8),
        Column::text("source", 2).shrinking_to(8),
    ]);
    for kind in &machine.kinds {
        let cells =
            [kind.core_type.word().to_owned(), kind.cpus.len().to_string(), kind.cpus.to_string(), kind.reason.clone()];
        grid.row(cells.iter().map(|text| Line::new().plain(text)).collect());
    }
    drawn(&grid, "Kinds", width)
}

/// Returns memory and distances of nodes, if there are several.
fn nodes(machine: &Machine, width: usize) -> Vec<Line> {
    if machine.nodes.len() < 2 {
        return Vec::new();
    }
    let with_distances = machine.nodes.len() <= MOST_NODES;
    let mut columns =
        vec![Column::text("node", 0), Column::number("memory", "", 1), Column::text("cpus", 2).shrinking_to(8)];
    let has_remarks = machine.nodes.iter().any(|node| !remarks(machine, node).is_empty());
    if has_remarks {
        columns.push(Column::text("", 2).shrinking_to(8));
    }
    if with_distances {
        columns.extend(machine.nodes.iter().map(|node| Column::number(node.number.to_string(), "", 3)));
    }
    let mut grid = Grid::new(columns);
    for node in &machine.nodes {
        let memory = node.memory_bytes.map_or_else(|| "unknown".to_owned(), bytes);
        let cpus = if node.cpus.is_empty() { "no cpus".to_owned() } else { node.cpus.to_string() };
        let mut row = vec![node.number.to_string(), memory, cpus];
        row.extend(has_remarks.then(|| remarks(machine, node)));
        if with_distances {
            let distance = |index: usize| node.distances.get(index).map(u32::to_string).unwrap_or_default();
            row.extend((0..machine.nodes.len()).map(distance));
        }
        grid.row(row.iter().map(|text| Line::new().plain(text)).collect());
    }
    let title =
        format!("Nodes, by the system's numbers ({}); distances, 10 is near", count(machine.nodes.len(), "node"));
    drawn(&grid, &title, width)
}

/// Returns the processor groups, if there are several. Windows shows group numbers, and cpu numbers within a group.
fn processor_groups(machine: &Machine, width: usize) -> Vec<Line> {
    if machine.processor_groups.len() < 2 {
        return Vec::new();
    }
    let mut grid = Grid::new(vec![
        Column::text("group", 0),
        Column::number("cpus", "", 1),
        Column::text("which", 2).shrinking_to(8),
        Column::text("in the group", 2).shrinking_to(8),
    ]);
    for (number, group) in machine.processor_groups.iter().enumerate() {
        let inside: CpuSet = group.cpus.iter().filter_map(|cpu| cpu.checked_sub(group.first_cpu)).collect();
        let cells = [number.to_string(), group.cpus.len().to_string(), group.cpus.to_string(), inside.to_string()];
        grid.row(cells.iter().map(|text| Line::new().plain(text)).collect());
    }
    drawn(&grid, "Processor groups; cpus are counted through all of them", width)
}

/// Describes special memory of a node: "HBM, near node 0", "not allowed here".
fn remarks(machine: &Machine, node: &Node) -> String {
    let kind = node.memory_kind.map(|kind| kind.word().to_owned());
    let near = || format!("near {} {}", if node.initiators.len() == 1 { "node" } else { "nodes" }, node.initiators);
    let near = (node.cpus.is_empty() && !node.initiators.is_empty()).then(near);
    let denied = node.memory_bytes != Some(0) && !machine.has_memory(node);
    let denied = denied.then(|| "not allowed here".to_owned());
    kind.into_iter().chain(near).chain(denied).collect::<Vec<_>>().join(", ")
}

fn gaps(machine: &Machine, width: usize) -> Vec<Line> {
    if machine.gaps.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::new().strong("Not measured")];
    for gap in &machine.gaps {
        let cure = gap.cure.as_ref().map(|cure| format!("; {cure}")).unwrap_or_default();
        lines.extend(wrap(&Line::new().plain(format!("  {}: {}{cure}", gap.what, gap.why)), width, 4));
    }
    lines
}

fn drawn(grid: &Grid, title: &str, width: usize) -> Vec<Line> {
    let mut lines = wrap(&Line::new().strong(title), width, 2);
    lines.extend(grid.clone().indented(2).lines(width));
    lines
}
