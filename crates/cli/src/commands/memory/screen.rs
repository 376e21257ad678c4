//! The screen: levels by working set, what each group of cpus pays for each node, streams, load, and what it means.

mod page;

use std::collections::BTreeSet;

use corewise_model::links::map::Origin;
use corewise_model::memory::compare::MemoryChange;
use corewise_model::memory::conclude::{Cost, CpuLevels, Load, MemoryConclusions, Stream};
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
/// Of more groups of cpus than this, those of equal costs share a row.
const MANY: usize = 8;
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
    for load in &conclusions.loads {
        screen.block(load_lines(load, width));
    }
    let remark = conclusions.findings.is_empty().then_some("Nothing stands out: leave memory to the system.");
    screen.block(meaning(remark, &conclusions.findings, &conclusions.no_difference, width));
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
        _ => vec!["memory".to_owned(), seconds],
    };
    lines.extend(headline(&map.machine, &more, width));
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

/// The rows: a group each, or where there are many, those together whose nodes are as far and cost within 5 % of the first one's.
fn rows(conclusions: &MemoryConclusions) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for cost in &conclusions.costs {
        match rows.last_mut().filter(|row| row.costs.first().is_some_and(|first| first.initiator == cost.initiator)) {
            Some(row) => row.costs.push(cost),
            None => rows.push(Row { cpus: cost.initiator.clone(), costs: vec![cost] }),
        }
    }
    if rows.len() <= MANY {
        return rows;
    }
    let near = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => (one / other - 1.0).abs() < 0.05,
        (one, other) => one.is_none() && other.is_none(),
    };
    let ns = |cost: &Cost| cost.huge_ns.map(|estimate| estimate.median);
    let mut together: Vec<Row<'_>> = Vec::new();
    for row in rows {
        let is_like =
            |known: &&mut Row<'_>| known.costs.iter().zip(&row.costs).all(|(one, other)| near(ns(one), ns(other)));
        match together.iter_mut().find(is_like) {
            Some(known) => known.cpus = known.cpus.union(&row.cpus),
            None => together.push(row),
        }
    }
    together
}

fn latencies(conclusions: &MemoryConclusions, width: usize) -> Vec<Line> {
    let rows = rows(conclusions);
    let Some(first) = rows.first() else { return Vec::new() };
    let is_predicted = conclusions.costs.iter().any(|cost| cost.predicted);
    let mut columns = vec![Column::text("cpus", 0).shrinking_to(8)];
    for (place, cost) in first.costs.iter().enumerate() {
        columns.push(Column::number(format!("node {}", cost.node), "ns", if place < 4 { 0 } else { 4 }));
    }
    columns.push(Column::number("small pages", "nearest, ns", 3));
    let mut grid = Grid::new(columns).indented(2);
    for row in &rows {
        let mut cells = vec![Line::new().plain(row.cpus.to_string())];
        for cost in &row.costs {
            let number = cost.huge_ns.as_ref().map_or_else(String::new, |ns| brief(ns.median));
            cells.push(match (cost.predicted, cost.is_nearest) {
                (true, _) => Line::new().faint(format!("~{number}")),
                (false, true) => Line::new().strong(number),
                (false, false) => Line::new().plain(number),
            });
        }
        let nearest = row.costs.iter().find(|cost| cost.is_nearest);
        cells.push(
            Line::new().plain(nearest.and_then(|cost| cost.small_ns).map_or_else(String::new, |ns| brief(ns.median))),
        );
        grid.row(cells);
    }
    let title = Line::new().strong("Latency").plain("  of a load from each node's memory, in huge pages");
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
        for stream in &cost.streams {
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
