//! The screen of `corewise topology`: the picture of the levels, then caches, nodes and kinds in depth.

use corewise_machine::machine::NumaNode;
use corewise_machine::machine_file::MachineDescription;
use corewise_machine::{CpuSet, Level, Machine};

use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::machine::{cache_name, compose_headline, draw_numbering, draw_origin, draw_picture, model_name};
use crate::draw::number::{format_bytes, format_count};
use crate::draw::story::draw_parts;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;

/// Maximum number of objects shown one by one.
const MANY_OBJECTS: usize = 64;
/// Maximum number of nodes for which distances are shown; larger matrices appear only in `--json`.
const MOST_NODES: usize = 32;

/// Returns the whole screen of a machine, and of the description in its machine file, if any.
pub fn draw_screen(machine: &Machine, description: Option<&MachineDescription>, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    screen.extend(draw_parts(&[compose_headline(machine, &[])], width));
    screen.add_block(draw_picture(machine, width, MANY_OBJECTS));
    screen.add_block(description.map_or_else(Vec::new, |description| draw_numbering(description, width)));
    screen.add_block(draw_processor(machine, width));
    screen.add_block(draw_levels(machine, width));
    screen.add_block(draw_caches(machine, width));
    screen.add_block(draw_kinds(machine, width));
    screen.add_block(draw_nodes(machine, width));
    screen.add_block(processor_groups(machine, width));
    screen.add_block(draw_gaps(machine, width));
    screen.add_block(description.map_or_else(Vec::new, |description| draw_origin(description, width)));
    screen
}

/// Returns the processor's numbers, and the name of the machine in the history.
fn draw_processor(machine: &Machine, width: usize) -> Vec<StyledLine> {
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
    wrap_line(&StyledLine::new().strong("Processor").plain("  ").plain(text.join(" · ")), width, 2)
}

/// Returns the number of objects of each level, and their cpus.
fn draw_levels(machine: &Machine, width: usize) -> Vec<StyledLine> {
    let mut grid = TextGrid::new(vec![
        GridColumn::text("level", 0),
        GridColumn::number("objects", "", 1),
        GridColumn::number("cpus each", "", 2),
        GridColumn::text("cpus", 3).shrinking_to(12),
    ]);
    for level in machine.levels_present() {
        let objects = machine.objects_of(level);
        let sizes = objects.iter().map(CpuSet::len);
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        let each = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let lists: Vec<String> = if level == Level::Cpu {
            vec![machine.online.to_string()]
        } else {
            objects.iter().map(CpuSet::to_string).collect()
        };
        let cells = [level.word().to_owned(), objects.len().to_string(), each];
        let mut row: Vec<StyledLine> = cells.iter().map(|text| StyledLine::new().plain(text)).collect();
        row.push(StyledLine::new().plain(lists.join("  ")));
        grid.add_row(row);
    }
    draw_grid(&grid, "Levels", width)
}

fn draw_caches(machine: &Machine, width: usize) -> Vec<StyledLine> {
    let mut kinds: Vec<(u8, _, Option<u64>, usize, Vec<&CpuSet>)> = Vec::new();
    for cache in &machine.caches {
        let key = (cache.level, cache.kind, cache.size_bytes, cache.cpus.len());
        match kinds.iter_mut().find(|kind| (kind.0, kind.1, kind.2, kind.3) == key) {
            Some(kind) => kind.4.push(&cache.cpus),
            None => kinds.push((key.0, key.1, key.2, key.3, vec![&cache.cpus])),
        }
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("cache", 0),
        GridColumn::number("size", "", 1),
        GridColumn::number("count", "", 1),
        GridColumn::number("cpus each", "", 2),
        GridColumn::text("cpus", 3).shrinking_to(12),
    ]);
    for (level, kind, size, cpus, sets) in &kinds {
        let size = size.map_or_else(|| "unknown".to_owned(), format_bytes);
        let lists: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let cells = [cache_name(*level, *kind), size, sets.len().to_string(), cpus.to_string(), lists.join("  ")];
        grid.add_row(cells.iter().map(|text| StyledLine::new().plain(text)).collect());
    }
    if kinds.is_empty() { Vec::new() } else { draw_grid(&grid, "Caches", width) }
}

fn draw_kinds(machine: &Machine, width: usize) -> Vec<StyledLine> {
    if machine.kinds.is_empty() {
        return wrap_line(&StyledLine::new().strong("Kinds").plain("  all cores are of one kind"), width, 2);
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("kind", 0),
        GridColumn::number("cpus", "", 1),
        GridColumn::text("which", 0).shrinking_to(8),
        GridColumn::text("source", 2).shrinking_to(8),
    ]);
    for kind in &machine.kinds {
        let cells =
            [kind.core_type.word().to_owned(), kind.cpus.len().to_string(), kind.cpus.to_string(), kind.reason.clone()];
        grid.add_row(cells.iter().map(|text| StyledLine::new().plain(text)).collect());
    }
    draw_grid(&grid, "Kinds", width)
}

/// Returns memory and distances of nodes, if there are several.
fn draw_nodes(machine: &Machine, width: usize) -> Vec<StyledLine> {
    if machine.nodes.len() < 2 {
        return Vec::new();
    }
    let with_distances = machine.nodes.len() <= MOST_NODES;
    let mut columns = vec![
        GridColumn::text("node", 0),
        GridColumn::number("memory", "", 1),
        GridColumn::text("cpus", 2).shrinking_to(8),
    ];
    let has_remarks = machine.nodes.iter().any(|node| !describe_memory(machine, node).is_empty());
    if has_remarks {
        columns.push(GridColumn::text("", 2).shrinking_to(8));
    }
    if with_distances {
        columns.extend(machine.nodes.iter().map(|node| GridColumn::number(node.number.to_string(), "", 3)));
    }
    let mut grid = TextGrid::new(columns);
    for node in &machine.nodes {
        let memory = node.memory_bytes.map_or_else(|| "unknown".to_owned(), format_bytes);
        let cpus = if node.cpus.is_empty() { "no cpus".to_owned() } else { node.cpus.to_string() };
        let mut row = vec![node.number.to_string(), memory, cpus];
        row.extend(has_remarks.then(|| describe_memory(machine, node)));
        if with_distances {
            let distance = |index: usize| node.distances.get(index).map(u32::to_string).unwrap_or_default();
            row.extend((0..machine.nodes.len()).map(distance));
        }
        grid.add_row(row.iter().map(|text| StyledLine::new().plain(text)).collect());
    }
    let title = format!(
        "Nodes, by the system's numbers ({}); distances, 10 is near",
        format_count(machine.nodes.len(), "node")
    );
    draw_grid(&grid, &title, width)
}

/// Returns the processor groups, if there are several. Windows shows group numbers, and cpu numbers within a group.
fn processor_groups(machine: &Machine, width: usize) -> Vec<StyledLine> {
    if machine.processor_groups.len() < 2 {
        return Vec::new();
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("group", 0),
        GridColumn::number("cpus", "", 1),
        GridColumn::text("which", 2).shrinking_to(8),
        GridColumn::text("in the group", 2).shrinking_to(8),
    ]);
    for (number, group) in machine.processor_groups.iter().enumerate() {
        let inside: CpuSet = group.cpus.iter().filter_map(|cpu| cpu.checked_sub(group.first_cpu)).collect();
        let cells = [number.to_string(), group.cpus.len().to_string(), group.cpus.to_string(), inside.to_string()];
        grid.add_row(cells.iter().map(|text| StyledLine::new().plain(text)).collect());
    }
    draw_grid(&grid, "Processor groups; cpus are counted through all of them", width)
}

/// Describes special memory of a node: "HBM, near node 0", "not allowed here".
fn describe_memory(machine: &Machine, node: &NumaNode) -> String {
    let kind = node.memory_kind.map(|kind| kind.word().to_owned());
    let near = || format!("near {} {}", if node.initiators.len() == 1 { "node" } else { "nodes" }, node.initiators);
    let near = (node.cpus.is_empty() && !node.initiators.is_empty()).then(near);
    let denied = node.memory_bytes != Some(0) && !machine.has_memory(node);
    let denied = denied.then(|| "not allowed here".to_owned());
    kind.into_iter().chain(near).chain(denied).collect::<Vec<_>>().join(", ")
}

fn draw_gaps(machine: &Machine, width: usize) -> Vec<StyledLine> {
    if machine.gaps.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![StyledLine::new().strong("Not measured")];
    for gap in &machine.gaps {
        lines.extend(wrap_line(&StyledLine::new().plain(format!("  {gap}")), width, 4));
    }
    lines
}

fn draw_grid(grid: &TextGrid, title: &str, width: usize) -> Vec<StyledLine> {
    let mut lines = wrap_line(&StyledLine::new().strong(title), width, 2);
    lines.extend(grid.clone().with_indent(2).draw_lines(width));
    lines
}
