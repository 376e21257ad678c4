//! Picture of a machine's levels: a row for each object, or for several similar ones, with its cpus.

use corewise_machine::{CpuSet, Level, Machine};

use super::number::{format_bytes, format_count};
use super::text::{StyledLine, TextTone};
use super::tree::{TreeBranch, grow_tree};
use super::wrap::{glue_words, wrap_line};

/// Maximum number of cores in one object that are shown one by one; more are a list of ranges.
const FEW_CORES: usize = 16;

/// Draws the levels, with at most about `limit` objects one by one.
pub fn draw_levels(machine: &Machine, width: usize, limit: usize) -> Vec<StyledLine> {
    draw_picture(MachinePicture { machine, chosen: None }, width, limit)
}

/// Draws the levels with some cpus chosen: these as numbers, others as dots, with at most about `limit` objects one by
/// one.
pub fn draw_chosen(machine: &Machine, cpus: &CpuSet, width: usize, limit: usize) -> Vec<StyledLine> {
    draw_picture(MachinePicture { machine, chosen: Some(cpus) }, width, limit)
}

/// Subject of the picture.
#[derive(Clone, Copy)]
struct MachinePicture<'a> {
    machine: &'a Machine,
    /// The chosen cpus, if any.
    chosen: Option<&'a CpuSet>,
}

fn draw_picture(picture: MachinePicture<'_>, width: usize, limit: usize) -> Vec<StyledLine> {
    let machine = picture.machine;
    let roots = grow_tree(machine);
    let together = roots.iter().map(TreeBranch::branch_count).sum::<usize>() > limit;
    let mut rows = Vec::new();
    collect_rows(picture, roots.iter().collect(), together, 0, &mut rows);
    for (index, node) in machine.nodes.iter().enumerate().filter(|(_, node)| node.cpus.is_empty()) {
        let memory = match node.memory_bytes {
            None => "memory".to_owned(),
            Some(0) => "no memory".to_owned(),
            Some(size) => format_bytes(size),
        };
        let label = node_label(machine, index);
        rows.push(PictureRow { depth: 0, label, detail: memory, cpus: vec![StyledLine::new().faint("no cpus")] });
    }
    let crossing = machine.crossing_levels();
    rows.extend(crossing.iter().flat_map(|level| crossing_rows(picture, *level)));
    let mut lines = draw_rows(&rows, width);
    let names: Vec<&str> = crossing.iter().map(|level| level.word()).collect();
    if !names.is_empty() {
        let text = format!("The system contradicts itself: the level {} cuts across others.", names.join(", "));
        lines.extend(wrap_line(&StyledLine::new().plain(text), width, 2));
    }
    lines
}

/// Returns a row for each object of a level that cuts across others.
fn crossing_rows(picture: MachinePicture<'_>, level: Level) -> Vec<PictureRow> {
    let row = |(index, cpus): (usize, CpuSet)| {
        let label = if level == Level::Node { node_label(picture.machine, index) } else { format!("{level}:{index}") };
        let shown = picture.chosen.map_or_else(|| cpus.clone(), |chosen| cpus.intersection(chosen));
        PictureRow { depth: 0, label, detail: String::new(), cpus: vec![StyledLine::new().plain(shown.to_string())] }
    };
    let objects = picture.machine.objects_of(level).into_iter().enumerate();
    objects.filter(|(_, cpus)| !cpus.is_empty()).map(row).collect()
}

struct PictureRow {
    depth: usize,
    label: String,
    detail: String,
    cpus: Vec<StyledLine>,
}

/// Collects the rows of sibling branches; similar ones share a row if there are too many objects.
fn collect_rows(
    picture: MachinePicture<'_>,
    siblings: Vec<&TreeBranch>,
    together: bool,
    depth: usize,
    rows: &mut Vec<PictureRow>,
) {
    let machine = picture.machine;
    for group in group_alike(picture, siblings, together) {
        let first = group[0];
        let own = first.cores.len();
        let kinds = cores_by_kind(machine, &group);
        let leaf = first.children.is_empty() && kinds.len() <= 1;
        let cpus = if leaf || group.len() > 1 { group_cpus(picture, &group) } else { Vec::new() };
        rows.push(PictureRow {
            depth,
            label: format_label(machine, &group),
            detail: format_detail(machine, &group, leaf),
            cpus,
        });
        if !leaf && own > 0 && group.len() == 1 {
            for (word, cores) in kinds {
                let cpus = cores_lines(picture, &cores);
                rows.push(PictureRow { depth: depth + 1, label: word.to_owned(), detail: String::new(), cpus });
            }
        }
        let children = group.iter().flat_map(|branch| &branch.children).collect();
        collect_rows(picture, children, together, depth + 1, rows);
    }
}

/// Groups consecutive similar siblings in runs of at least three; others stay alone.
fn group_alike<'a>(
    picture: MachinePicture<'_>,
    siblings: Vec<&'a TreeBranch>,
    together: bool,
) -> Vec<Vec<&'a TreeBranch>> {
    let mut groups: Vec<Vec<&TreeBranch>> = Vec::new();
    for branch in siblings {
        match groups.last_mut() {
            Some(last) if together && likeness_key(picture, last[0]) == likeness_key(picture, branch) => {
                last.push(branch)
            }
            _ => groups.push(vec![branch]),
        }
    }
    groups
        .into_iter()
        .flat_map(|group| if group.len() >= 3 { vec![group] } else { group.into_iter().map(|one| vec![one]).collect() })
        .collect()
}

/// Returns a key that is equal for objects that may share a line.
fn likeness_key(picture: MachinePicture<'_>, branch: &TreeBranch) -> String {
    let machine = picture.machine;
    let levels: Vec<Level> = branch.objects.iter().map(|(level, _)| *level).collect();
    let kinds: Vec<_> =
        cores_by_kind(machine, &[branch]).into_iter().map(|(word, cores)| (word, cores.len())).collect();
    let memory = branch.index_of(Level::Node).map(|index| machine.nodes[index].memory_bytes == Some(0));
    let chosen = picture.chosen.map(|cpus| cpus.intersection(&branch.cpus).len());
    format!(
        "{levels:?} {kinds:?} {} {} {memory:?} {chosen:?} {}",
        branch.cpus.len(),
        branch.children.len(),
        format_caches(machine, branch)
    )
}

/// Returns the cores directly inside the branches, by kind.
fn cores_by_kind(machine: &Machine, group: &[&TreeBranch]) -> Vec<(&'static str, Vec<usize>)> {
    let mut kinds: Vec<(&'static str, Vec<usize>)> = Vec::new();
    for &core in group.iter().flat_map(|branch| &branch.cores) {
        let cpu = machine.cores[core].cpus.lowest().unwrap_or_default();
        let word = machine.kind_of(cpu).map_or("cores", |kind| kind.core_type.word());
        match kinds.iter_mut().find(|(own, _)| *own == word) {
            Some((_, cores)) => cores.push(core),
            None => kinds.push((word, vec![core])),
        }
    }
    kinds
}

/// Formats objects as the placement language names them: "package:0 · node:0", "llc:0-15".
fn format_label(machine: &Machine, group: &[&TreeBranch]) -> String {
    let mut parts = Vec::new();
    for (place, (level, index)) in group[0].objects.iter().enumerate() {
        let all: CpuSet = group.iter().filter_map(|branch| Some(branch.objects.get(place)?.1 as u32)).collect();
        parts.push(match level {
            Level::Node if group.len() == 1 => node_label(machine, *index),
            _ => format!("{level}:{all}"),
        });
    }
    parts.join(" · ")
}

/// Formats a node by its index, with the system's number if that differs.
fn node_label(machine: &Machine, index: usize) -> String {
    let number = machine.nodes[index].number;
    if number as usize == index { format!("node:{index}") } else { format!("node:{index} (number {number})") }
}

fn format_detail(machine: &Machine, group: &[&TreeBranch], leaf: bool) -> String {
    let mut parts = Vec::new();
    parts.extend(format_memory(machine, group));
    parts.push(format_caches(machine, group[0]));
    if let [(word, _)] = cores_by_kind(machine, group).as_slice()
        && leaf
        && !machine.kinds.is_empty()
    {
        parts.push((*word).to_owned());
    }
    parts.retain(|part| !part.is_empty());
    let text = parts.join(" · ");
    if group.len() > 1 && !text.is_empty() { format!("{text} each") } else { text }
}

fn format_memory(machine: &Machine, group: &[&TreeBranch]) -> Option<String> {
    let sizes = group.iter().map(|branch| machine.nodes[branch.index_of(Level::Node)?].memory_bytes);
    let sizes: Vec<u64> = sizes.collect::<Option<_>>()?;
    let total: u64 = sizes.iter().sum();
    Some(if total == 0 { "no memory".to_owned() } else { format_bytes(total / sizes.len() as u64) })
}

/// Describes the branch's own cache: its last level, or its cluster's L2.
fn format_caches(machine: &Machine, branch: &TreeBranch) -> String {
    if let Some(index) = branch.index_of(Level::Llc) {
        let llc = &machine.llcs[index];
        let size = llc.size_bytes.map(format_bytes).unwrap_or_default();
        let level = llc.level.map(|level| format!("L{level}")).unwrap_or_default();
        let stacked = if llc.vcache { "V-Cache" } else { "" };
        let words = [size.as_str(), level.as_str(), stacked];
        return words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    }
    if branch.index_of(Level::Cluster).is_none() {
        return String::new();
    }
    let shared = machine.data_caches(2).find(|cache| cache.cpus == branch.cpus);
    shared.and_then(|cache| cache.size_bytes).map(|size| format!("{} L2", format_bytes(size))).unwrap_or_default()
}

/// Describes the cpus of one branch, or of each of several similar ones.
fn group_cpus(picture: MachinePicture<'_>, group: &[&TreeBranch]) -> Vec<StyledLine> {
    let machine = picture.machine;
    let [branch] = group else {
        let cores = count_cores(machine, group[0]);
        let cpus = group[0].cpus.len();
        if let Some(chosen) = picture.chosen {
            let sets: Vec<&CpuSet> = group.iter().map(|branch| &branch.cpus).collect();
            // Their children have rows of their own, which name the cpus.
            return vec![draw_share(&sets, chosen, group[0].children.is_empty())];
        }
        let each = if cores == cpus {
            format_count(cores, "core")
        } else {
            format!("{}, {cpus} cpus", format_count(cores, "core"))
        };
        let lists: Vec<String> = group.iter().take(2).map(|branch| branch.cpus.to_string()).collect();
        let more = if group.len() > 2 { " …" } else { "" };
        return vec![
            StyledLine::new().plain(glue_words(&format!("{each} each"))).plain(format!("  {}{more}", lists.join(" "))),
        ];
    };
    cores_lines(picture, &branch.cores)
}

/// Formats how many cpus of each set are chosen and, if `named`, which: "8 of 16 each  0-7 16-23 …".
fn draw_share(sets: &[&CpuSet], chosen: &CpuSet, named: bool) -> StyledLine {
    let taken: Vec<CpuSet> = sets.iter().map(|cpus| cpus.intersection(chosen)).collect();
    let (own, all) = (taken[0].len(), sets[0].len());
    let each = if sets.len() > 1 { " each" } else { "" };
    if own == 0 {
        return StyledLine::new().faint(glue_words(&format!("none of {all}{each}")));
    }
    let of = if own == all { format!("all {all}{each}") } else { format!("{own} of {all}{each}") };
    if !named {
        return StyledLine::new().plain(glue_words(&of));
    }
    let lists: Vec<String> = taken.iter().take(2).map(CpuSet::to_string).collect();
    let more = if sets.len() > 2 { " …" } else { "" };
    StyledLine::new().plain(glue_words(&of)).strong(format!("  {}{more}", lists.join(" ")))
}

fn count_cores(machine: &Machine, branch: &TreeBranch) -> usize {
    machine.cores.iter().filter(|core| core.cpus.is_subset(&branch.cpus)).count()
}

/// Draws the cpus of cores, or which of them are chosen.
fn cores_lines(picture: MachinePicture<'_>, cores: &[usize]) -> Vec<StyledLine> {
    let machine = picture.machine;
    let Some(chosen) = picture.chosen else { return vec![cores_line(machine, cores)] };
    let sets: Vec<&CpuSet> = cores.iter().map(|&core| &machine.cores[core].cpus).collect();
    if sets.len() > FEW_CORES {
        let all = sets.iter().fold(CpuSet::new(), |all, set| all.union(set));
        return vec![draw_share(&[&all], chosen, true)];
    }
    let digits = machine.online.highest().unwrap_or_default().to_string().len();
    let threads = sets.iter().map(|set| set.len()).max().unwrap_or(0);
    (0..threads)
        .map(|thread| {
            let cpus = sets.iter().map(|set| set.iter().nth(thread));
            cpus.enumerate().fold(StyledLine::new(), |line, (place, cpu)| {
                let line = line.plain(if place > 0 { " " } else { "" });
                match cpu {
                    Some(cpu) if chosen.contains(cpu) => line.strong(format!("{cpu:>digits$}")),
                    Some(_) => line.faint(format!("{:>digits$}", "·")),
                    None => line.plain(" ".repeat(digits)),
                }
            })
        })
        .collect()
}

/// Formats the cpus of cores: "0 1 2 with 16-18", "0-1 2-3" if siblings are neighbours, ranges if there are many.
fn cores_line(machine: &Machine, cores: &[usize]) -> StyledLine {
    let sets: Vec<&CpuSet> = cores.iter().map(|&core| &machine.cores[core].cpus).collect();
    let first: CpuSet = sets.iter().filter_map(|set| set.lowest()).collect();
    let all = sets.iter().fold(CpuSet::new(), |all, set| all.union(set));
    let rest = all.difference(&first);
    let neighbours = sets.iter().any(|set| set.len() > 1) && sets.iter().all(|set| !set.to_string().contains(','))
        || sets.iter().any(|set| set.len() == 2 && set.highest() == set.lowest().map(|cpu| cpu + 1));
    let tone = |cpus: &CpuSet| if cpus.is_disjoint(&machine.allowed) { TextTone::Faint } else { TextTone::Plain };
    if sets.len() > FEW_CORES || (neighbours && sets.len() > FEW_CORES / 2) {
        let line = StyledLine::new().plain(format!("{} cores: ", sets.len()));
        return if neighbours || rest.is_empty() {
            line.with(tone(&all), all.to_string())
        } else {
            line.with(tone(&first), first.to_string()).faint(format!("  with {rest}"))
        };
    }
    let digits = machine.online.highest().unwrap_or_default().to_string().len();
    let mut line = StyledLine::new();
    for (place, set) in sets.iter().enumerate() {
        let text = match (neighbours, set.lowest(), set.highest()) {
            (true, Some(low), Some(high)) if low < high => format!("{low}-{high}"),
            (_, low, _) => format!("{:>digits$}", low.unwrap_or_default()),
        };
        line = line.plain(if place > 0 { " " } else { "" }).with(tone(set), text);
    }
    if neighbours || rest.is_empty() { line } else { line.faint(format!("  with {rest}")) }
}

/// Aligns rows of labels, details and cpus; the cpus go below if they do not fit beside.
fn draw_rows(rows: &[PictureRow], width: usize) -> Vec<StyledLine> {
    let indent = |row: &PictureRow| 2 * row.depth;
    let beside = |row: &&PictureRow| !row.cpus.is_empty();
    let label_width = rows.iter().filter(beside).map(|row| indent(row) + row.label.chars().count()).max().unwrap_or(0);
    let detail_width = rows.iter().filter(beside).map(|row| row.detail.chars().count()).max().unwrap_or(0);
    let start = label_width + 2 + if detail_width > 0 { detail_width + 2 } else { 0 };
    let widest = rows.iter().flat_map(|row| &row.cpus).map(StyledLine::width).max().unwrap_or(0);
    let fits = start + widest.min(24) <= width;
    let mut lines = Vec::new();
    for row in rows {
        let head = StyledLine::new().plain(" ".repeat(indent(row))).strong(&row.label);
        let separate = row.cpus.is_empty() || !fits;
        if separate {
            let parts = row.detail.split(" · ").filter(|part| !part.is_empty());
            let head = parts.fold(head, |head, part| head.plain(" · ").plain(glue_words(part)));
            lines.extend(wrap_line(&head, width, indent(row) + 2));
            lines.extend(row.cpus.iter().flat_map(|cpus| wrapped_cpus(cpus, width, indent(row) + 2)));
            continue;
        }
        let label_gap = " ".repeat(label_width - head.width());
        let detail_gap = " ".repeat(detail_width - row.detail.chars().count());
        let mut head = head.plain(label_gap);
        if detail_width > 0 {
            head = head.plain("  ").plain(&row.detail).plain(detail_gap);
        }
        let mut cpus = row.cpus.iter().flat_map(|cpus| wrapped_cpus(cpus, width - start, 0));
        lines.push(head.plain("  ").then(cpus.next().unwrap_or_default()));
        lines.extend(cpus.map(|line| line.indent_by(start)));
    }
    lines
}

/// Keeps the alignment of a line that fits, and wraps others.
fn wrapped_cpus(cpus: &StyledLine, width: usize, indent: usize) -> Vec<StyledLine> {
    if cpus.is_empty() {
        return Vec::new();
    }
    let line = cpus.clone().indent_by(indent);
    wrap_lists(&line, width, indent)
}

/// Lets a long list of ranges break after its commas.
fn break_lists(line: &StyledLine) -> StyledLine {
    line.clone().map_text(|text| {
        let mut broken = String::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            broken.push(c);
            if c == ',' && rest.peek().is_some_and(char::is_ascii_digit) {
                broken.push(' ');
            }
        }
        broken
    })
}

/// Keeps a line that fits; otherwise lets its lists break after their commas.
pub fn wrap_lists(line: &StyledLine, width: usize, hanging: usize) -> Vec<StyledLine> {
    if line.width() <= width { vec![line.clone()] } else { wrap_line(&break_lists(line), width, hanging) }
}
