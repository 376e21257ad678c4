//! The screen: levels by working set, what each group of cpus pays for each node, streams, load, and what it means.

mod page;

use std::collections::BTreeSet;

use corewise_model::links::map::Origin;
use corewise_model::memory::compare::MemoryChange;
use corewise_model::memory::conclude::{Cost, CpuLevels, Load, LoadPoint, MemoryConclusions, Stream};
use corewise_model::memory::estimate::Estimate;
use corewise_model::memory::{MemoryMap, Operation};
use corewise_model::stats::order::median;
use corewise_model::{CpuSet, Level};

use crate::draw::findings::{gaps, meaning};
use crate::draw::grid::{Column, Grid};
use crate::draw::machine::headline;
use crate::draw::number::{brief, bytes, count, decimal};
use crate::draw::survey::Kept;
use crate::draw::text::{Line, Screen, Tone};
use crate::draw::wrap::{glued, wrap};

pub use page::story;

/// The width of the bar of the greatest load.
const BAR: f64 = 20.0;
/// Groups of cpus whose streams differ by less than this share a row.
const ALIKE: f64 = 0.1;
/// A working set that costs more than this share of the farthest level lies in no cache.
const AS_MEMORY: f64 = 0.7;

/// The whole screen of a map.
pub fn screen(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept, width: usize) -> Screen {
    let mut screen = Screen::new();
    screen.extend(head(map, conclusions, kept, width));
    for levels in &conclusions.levels {
        screen.block(level_lines(map, levels, width));
    }
    screen.block(latencies(conclusions, width));
    screen.block(streams(map, conclusions, width));
    match &conclusions.loads[..] {
        [load] => screen.block(load_lines(load, width)),
        loads => screen.block(loads_lines(loads, width)),
    }
    let is_measured = !map.is_empty();
    let remark =
        (is_measured && conclusions.findings.is_empty()).then_some("Nothing stands out: leave memory to the system.");
    let says_something = is_measured || !conclusions.findings.is_empty();
    screen.block(if says_something {
        meaning(remark, &conclusions.findings, &conclusions.no_difference, width)
    } else {
        Vec::new()
    });
    screen.block(foot(map, conclusions, kept, width));
    screen
}

fn head(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut warn = |text: &str, rest: String| {
        lines.extend(wrap(&Line::new().with(Tone::Warn, text).plain(rest), width, 2));
    };
    if map.machine.system.emulated && map.provenance.origin == Origin::Measured {
        warn("EMULATED: every instruction of this machine is emulated", "; the times below mean nothing.".into());
    }
    if map.provenance.partial {
        warn(
            "PARTIAL: ended early",
            format!(", after {}; partial results follow.", count(map.rounds as usize, "whole round")),
        );
    }
    if conclusions.is_cache {
        let words = format!(
            "; buffers of {} are less than four times the caches ({}). Latency and bandwidth of nodes are those of caches in part.",
            bytes(map.buffer_bytes),
            bytes(map.caches_bytes)
        );
        warn("CACHE", words);
    }
    if let Kept::Recalled(number, when) = kept {
        lines.extend(wrap(&Line::new().faint(format!("map {number} of memory, made {when}")), width, 2));
    }
    let seconds = format!("{} s", decimal(map.provenance.elapsed_s, 0));
    let more = match &map.provenance.origin {
        Origin::Simulated { file } => vec![format!("memory of {file}, simulated with made-up costs")],
        Origin::Imported { file, format, .. } => vec![format!("memory by {format}, imported from {file}")],
        Origin::Measured => vec!["memory".to_owned(), seconds],
    };
    lines.extend(headline(&map.machine, &more, width));
    if let Origin::Imported { remarks, .. } = &map.provenance.origin {
        remarks.iter().for_each(|remark| lines.extend(wrap(&Line::new().faint(format!("note: {remark}")), width, 2)));
    }
    let balancing = map.machine.system.scheduling.get("numa_balancing").filter(|value| *value != "0");
    if balancing.is_some() && map.provenance.origin == Origin::Measured && map.machine.nodes.len() > 1 {
        let words = "note: automatic NUMA balancing is on (kernel.numa_balancing): it may move pages while programs run. The buffers here were \
                     looked up before and after.";
        lines.extend(wrap(&Line::new().faint(words), width, 2));
    }
    lines
}

fn some(estimate: Option<&Estimate>) -> Line {
    estimate.map_or_else(Line::new, |estimate| Line::new().strong(brief(estimate.median)))
}

/// "116–124": faint.
fn interval(estimate: Option<&Estimate>) -> Line {
    let words = |estimate: &Estimate| format!("{}–{}", brief(estimate.low), brief(estimate.high));
    estimate.map_or_else(Line::new, |estimate| Line::new().faint(words(estimate)))
}

fn level_lines(map: &MemoryMap, levels: &CpuLevels, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::new().strong("Levels").plain(format!("  of cpu {}", levels.cpu))];
    if levels.alike.len() > 1 {
        lines[0] = lines[0].clone().faint(format!(", which stands for {}", levels.alike));
    }
    if levels.levels.is_empty() {
        lines.push(Line::new().faint("  no working sets over which a load costs the same"));
        return lines;
    }
    let columns = vec![
        Column::text("working set", 0),
        Column::number("a load", "ns", 0),
        Column::number("", "95 %", 2).named("interval"),
        Column::number("cycles", "", 1),
        Column::text("the system reports", 3),
    ];
    let mut grid = Grid::new(columns).indented(2);
    let mut named = BTreeSet::new();
    for level in &levels.levels {
        let is_last = levels.levels.last().is_some_and(|last| level.ns.median > AS_MEMORY * last.ns.median);
        let is_memory = is_last && level.until_bytes > map.caches_bytes;
        let reported = match is_last {
            true if is_memory => "memory".to_owned(),
            true => String::new(),
            false => reported(map, levels.cpu, level.until_bytes, &mut named),
        };
        let from_to = if level.from_bytes == map.staircases[0].steps[0].bytes {
            format!("to {}", bytes(level.until_bytes))
        } else {
            format!("{} to {}", bytes(level.from_bytes), bytes(level.until_bytes))
        };
        grid.row(vec![
            Line::new().plain(from_to),
            some(Some(&level.ns)),
            interval(Some(&level.ns)),
            Line::new()
                .plain(level.cycles.map_or_else(String::new, |cycles| decimal(cycles, usize::from(cycles < 20.0)))),
            Line::new().faint(reported),
        ]);
    }
    lines.extend(grid.fit(width).with_remark(width, 2));
    lines
}

/// "L2 2 MiB": the caches of a cpu that a working set of this size needs, and that no level before it had.
fn reported(map: &MemoryMap, cpu: u32, until_bytes: u64, named: &mut BTreeSet<u8>) -> String {
    let sizes = (1..=4).filter_map(|level| {
        let cache = map.machine.data_caches(level).find(|cache| cache.cpus.contains(cpu))?;
        Some((level, cache.size_bytes?))
    });
    // A level ends at the last working set that was measured of it: its cache is up to three times as large.
    let near = sizes.filter(|(_, size)| (until_bytes..3 * until_bytes).contains(size));
    let new: Vec<String> = near
        .filter(|(level, _)| named.insert(*level))
        .map(|(level, size)| format!("L{level} {}", bytes(size)))
        .collect();
    new.join(", ")
}

/// A row of costs: groups of cpus that share it.
struct Row<'a> {
    cpus: CpuSet,
    costs: Vec<&'a Cost>,
}

/// The rows: groups whose nodes cost within 5 % of the first one's share one.
fn rows(conclusions: &MemoryConclusions) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for cost in &conclusions.costs {
        match rows.last_mut().filter(|row| row.costs.first().is_some_and(|first| first.initiator == cost.initiator)) {
            Some(row) => row.costs.push(cost),
            None => rows.push(Row { cpus: cost.initiator.clone(), costs: vec![cost] }),
        }
    }
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
                // Of several that cost the same one that was measured stands for them.
                known.costs.iter_mut().zip(row.costs).filter(|(cost, _)| cost.predicted).for_each(|(cost, other)| {
                    *cost = other;
                });
            }
            None => together.push(row),
        }
    }
    together
}

fn latencies(conclusions: &MemoryConclusions, width: usize) -> Vec<Line> {
    let rows = rows(conclusions);
    let Some(first) = rows.first() else { return Vec::new() };
    let is_predicted = conclusions.costs.iter().any(|cost| cost.predicted);
    let only_distances = conclusions.costs.iter().all(|cost| cost.huge_ns.is_none()) && conclusions.levels.is_empty();
    let unit = if only_distances { "" } else { "ns" };
    let mut columns = vec![Column::text("cpus", 0).shrinking_to(8)];
    for (place, cost) in first.costs.iter().enumerate() {
        columns.push(Column::number(format!("node {}", cost.node), unit, if place < 4 { 0 } else { 4 }));
    }
    let has_small = conclusions.costs.iter().any(|cost| cost.small_ns.is_some());
    columns.extend(has_small.then(|| Column::number("small pages", "nearest, ns", 3)));
    let mut grid = Grid::new(columns).indented(2);
    for row in &rows {
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
    let title = match only_distances {
        true => Line::new()
            .strong("Distance")
            .plain("  from cpus to each node's memory, as reported: 10 is the own; no latency was measured"),
        false => Line::new().strong("Latency").plain("  of a load from each node's memory, in huge pages"),
    };
    let mut lines = wrap(&title, width, 2);
    lines.extend(grid.fit(width).with_remark(width, 2));
    if is_predicted {
        let error = conclusions.held_out.map_or_else(
            || "of unknown error".to_owned(),
            |error| format!("held-out error {} %", decimal(100.0 * error.median, 1)),
        );
        lines.extend(wrap(
            &Line::new().faint(format!("  ~ predicted from cells of the same distance, {error}")),
            width,
            2,
        ));
    }
    lines
}

/// Who streams, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Core,
    Siblings,
    Cache,
    Node,
}

impl Who {
    fn of(map: &MemoryMap, cost: &Cost, stream: &Stream) -> Self {
        let is_core = |core: &CpuSet| stream.cpus.is_subset(core);
        match stream.cpus.len() {
            1 => Self::Core,
            _ if map.machine.objects(Level::Core).iter().any(is_core) => Self::Siblings,
            _ if stream.cpus.is_subset(&cost.initiator) => Self::Cache,
            _ => Self::Node,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Core => "one core",
            Self::Siblings => "one core, all its cpus",
            Self::Cache => "all cores of a cache",
            Self::Node => "all cores of a node",
        }
    }
}

/// Whose memory it is to who streams.
fn whose(cost: &Cost) -> &'static str {
    match (cost.own_node == Some(cost.node), cost.is_nearest) {
        (true, _) => "own",
        (false, true) => "nearest",
        (false, false) => "other",
    }
}

/// What is streamed alike: by whom, from whose memory, by which groups of cpus, and the streams by operation.
struct Alike<'a> {
    who: Who,
    whose: &'static str,
    cpus: CpuSet,
    streams: Vec<&'a Stream>,
}

impl Alike<'_> {
    /// The median over the groups.
    fn of(&self, operation: Operation) -> Option<f64> {
        let all = self.streams.iter().filter(|stream| stream.operation == operation);
        let all: Vec<f64> = all.map(|stream| stream.gb_s.median).collect();
        (!all.is_empty()).then(|| median(&all))
    }

    /// Whether a stream reads as the others do; what is no read is with the reads of its cpus.
    fn takes(&self, cost: &Cost, stream: &Stream) -> bool {
        let read = cost.stream(Operation::Read, |cpus| *cpus == stream.cpus).map(|read| read.gb_s.median);
        let known = self.of(Operation::Read);
        read.zip(known).is_none_or(|(read, known)| (read / known - 1.0).abs() < ALIKE)
    }
}

fn alike<'a>(map: &MemoryMap, conclusions: &'a MemoryConclusions) -> Vec<Alike<'a>> {
    let mut rows: Vec<Alike<'a>> = Vec::new();
    for cost in &conclusions.costs {
        // What siblings get is a finding, or no difference.
        let streams = cost.streams.iter().filter(|stream| Who::of(map, cost, stream) != Who::Siblings);
        for stream in streams {
            let (who, whose) = (Who::of(map, cost, stream), whose(cost));
            let is_like = |row: &&mut Alike<'_>| row.who == who && row.whose == whose && row.takes(cost, stream);
            match rows.iter_mut().find(is_like) {
                Some(row) => {
                    row.cpus = row.cpus.union(&cost.initiator);
                    row.streams.push(stream);
                }
                None => rows.push(Alike { who, whose, cpus: cost.initiator.clone(), streams: vec![stream] }),
            }
        }
    }
    rows.sort_by_key(|row| (row.who, ["own", "nearest", "other"].iter().position(|word| *word == row.whose)));
    rows
}

fn streams(map: &MemoryMap, conclusions: &MemoryConclusions, width: usize) -> Vec<Line> {
    let columns = vec![
        Column::text("who", 0).shrinking_to(8),
        Column::text("memory", 0),
        Column::number("read", "GB/s", 0),
        Column::number("write", "GB/s", 1),
        Column::number("past caches", "GB/s", 2),
        Column::number("copy", "GB/s", 1),
        Column::text("of cpus", 3).shrinking_to(8),
    ];
    let mut grid = Grid::new(columns).indented(2);
    let rows = alike(map, conclusions);
    if rows.is_empty() {
        return Vec::new();
    }
    for row in rows {
        let of = |operation| row.of(operation).map_or_else(Line::new, |gb_s| Line::new().plain(brief(gb_s)));
        grid.row(vec![
            Line::new().plain(row.who.words()),
            Line::new().plain(row.whose),
            row.of(Operation::Read).map_or_else(Line::new, |gb_s| Line::new().strong(brief(gb_s))),
            of(Operation::Write),
            of(Operation::WritePast),
            of(Operation::Copy),
            Line::new().faint(row.cpus.to_string()),
        ]);
    }
    let title = Line::new().strong("Bandwidth").plain("  of streams, one thread on each core or cpu");
    let mut lines = wrap(&title, width, 2);
    lines.extend(grid.fit(width).with_remark(width, 2));
    lines
}

fn load_lines(load: &Load, width: usize) -> Vec<Line> {
    let words = format!("  latency of cpu {} while {} read from node {}", load.cpu, cpus(&load.loaders), load.node);
    let mut lines = wrap(&Line::new().strong("Under load").plain(glued(&words)), width, 2);
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
    lines.extend(grid.fit(width).with_remark(width, 2));
    lines
}

/// The same for several nodes: a row each, with a small picture.
fn loads_lines(loads: &[Load], width: usize) -> Vec<Line> {
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
    let mut lines = wrap(&title, width, 2);
    lines.extend(grid.fit(width).with_remark(width, 2));
    lines
}

/// "▁▁▁▂▂▃▅█": the latency of each load, from nothing to the greatest.
fn picture(load: &Load) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = load.points.iter().map(|point| point.ns.median).fold(f64::MIN_POSITIVE, f64::max);
    let bar = |point: &LoadPoint| BARS[((point.ns.median / most * 8.0).ceil() as usize).clamp(1, 8) - 1];
    load.points.iter().map(bar).collect()
}

fn cpus(cpus: &CpuSet) -> String {
    format!("cpu{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}

fn foot(map: &MemoryMap, conclusions: &MemoryConclusions, kept: &Kept, width: usize) -> Vec<Line> {
    let visits = conclusions.costs.iter().filter_map(|cost| cost.huge_ns).map(|ns| ns.visits).max().unwrap_or(0);
    let mut lines = Vec::new();
    if visits < 6 && visits > 0 && !map.provenance.partial {
        let words = format!(
            "{} only: the ends of intervals are the least and the greatest (--budget)",
            count(map.rounds as usize, "round")
        );
        lines.extend(wrap(&Line::new().faint(words), width, 2));
    }
    lines.extend(gaps(&map.gaps, width));
    let mut end = vec![
        format!("buffers of {}", bytes(map.buffer_bytes)),
        count(map.rounds as usize, "round"),
        format!("seed {}", map.provenance.seed),
    ];
    end.extend(map.clock.as_ref().map(|clock| format!("clock {}", clock.source)));
    end.extend(match kept {
        Kept::Stored(number) => Some(format!("stored as map {number}")),
        Kept::No => Some("not stored".to_owned()),
        Kept::Failed | Kept::Recalled(..) => None,
    });
    lines.extend(wrap(&Line::new().faint(end.join(", ")), width, 2));
    lines
}

/// What changed between two maps.
pub fn comparison(numbers: [i64; 2], changes: &[MemoryChange], width: usize) -> Screen {
    let mut screen = Screen::new();
    let [before, after] = numbers;
    let changed: Vec<&MemoryChange> = changes.iter().filter(|change| change.is_change).collect();
    let head = format!(
        "{} of {} changed by more than 5 % between map {before} and map {after}.",
        changed.len(),
        count(changes.len(), "number")
    );
    screen.block(wrap(&Line::new().strong(head), width, 2));
    if changed.is_empty() {
        return screen;
    }
    let columns = vec![
        Column::text("what", 0).shrinking_to(12),
        Column::text("cpus", 1).shrinking_to(6),
        Column::number("before", "", 1),
        Column::number("after", "", 1),
        Column::text("unit", 2),
        Column::text("ratio", 0),
    ];
    let mut grid = Grid::new(columns);
    for change in changed {
        grid.row(vec![
            Line::new().plain(&change.what),
            Line::new().plain(change.cpus.to_string()),
            some(Some(&change.before)),
            some(Some(&change.after)),
            Line::new().plain(&change.unit),
            Line::new().strong(change.effect.times()),
        ]);
    }
    screen.block(grid.fit(width).with_remark(width, 0));
    screen
}
