//! The rows of the screen, each a line of columns that fit.

use std::collections::HashMap;

use corewise_machine::CpuSet;
use corewise_model::watch::{CpuNow, CpuShares, SourceNow, ThreadNow};

use super::columns::{
    CPU_COLUMNS, CpuCell, CpuRow, THREAD_COLUMNS, ThreadCell, WatchColumn, add_titles, fit_columns, head_of,
};
use super::row::{Part, Row};
use super::tree::Node;
use super::view::View;
use crate::draw::number::brief;
use crate::draw::printable::width as columns_of;
use crate::draw::text::Line;

/// Shares from nothing to all.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The least room for what grows with the screen: bars, strips, trails.
const LEAST_REST: usize = 10;

/// How rows are drawn at a width.
pub struct Rows<'a> {
    view: &'a View,
    cpus: HashMap<u32, &'a CpuNow>,
    width: usize,
    label: usize,
    cpu_columns: Vec<&'static WatchColumn<CpuCell>>,
    thread_columns: Vec<&'static WatchColumn<ThreadCell>>,
}

impl<'a> Rows<'a> {
    /// Of a view.
    pub fn new(view: &'a View, width: usize) -> Self {
        let cpus: HashMap<u32, &CpuNow> = view.frame.cpus.iter().map(|cpu| (cpu.cpu, cpu)).collect();
        let label = if width < 60 { 14 } else { 20 };
        let room = width.saturating_sub(label + LEAST_REST);
        let cpu_columns = fit_columns(&CPU_COLUMNS, view, room);
        let thread_columns = fit_columns(&THREAD_COLUMNS, view, room);
        Self { view, cpus, width, label, cpu_columns, thread_columns }
    }

    /// The line of a row.
    pub fn line(&self, row: &Row<'_>) -> Line {
        match row {
            Row::Title(part) => self.title(*part),
            Row::Node(node, depth) => self.node(node, *depth),
            Row::Thread(thread) => self.thread(thread),
            Row::Source(source) => self.source(source),
        }
        .cut(self.width)
    }

    fn title(&self, part: Part) -> Line {
        let line = Line::new().strong(padded(word(part), self.label));
        match part {
            Part::Cpus => add_titles(line, &self.cpu_columns).faint("  load: █ programs ▒ interrupts ░ host"),
            Part::Threads => add_titles(line, &self.thread_columns).faint("  where it ran"),
            Part::Interrupts => line.faint("    a second  cpus that they strike"),
        }
    }

    fn node(&self, node: &Node, depth: usize) -> Line {
        let sign = match (node.is_cpu(), self.view.is_folded(node)) {
            (true, _) => "  ",
            (false, true) => "+ ",
            (false, false) => "- ",
        };
        let indent = " ".repeat(depth.min(6));
        let note = if node.note.is_empty() { String::new() } else { format!(" {}", node.note) };
        let label = padded(&format!("{indent}{sign}{}{note}", node.label), self.label);
        let row = CpuRow {
            machine: &self.view.header.machine,
            cpus: &node.cpus,
            seen: node.cpus.iter().filter_map(|cpu| self.cpus.get(&cpu).copied()).collect(),
        };
        let line = if node.is_cpu() { Line::new().plain(label) } else { Line::new().strong(label) };
        let line = self.cpu_columns.iter().fold(line, |line, column| line.then(column.fit_cell((column.cell)(&row))));
        let rest = self.width.saturating_sub(line.width() + 2);
        line.plain("  ").plain(match &row.seen[..] {
            _ if !node.is_cpu() => self.strip(&node.cpus, rest),
            [CpuNow { shares: Some(shares), .. }] => bar(shares, rest.min(40)),
            _ => String::new(),
        })
    }

    /// A character for each cpu, or for the busiest of several where there is no room.
    fn strip(&self, cpus: &CpuSet, room: usize) -> String {
        let used: Vec<Option<f32>> =
            cpus.iter().map(|cpu| self.cpus.get(&cpu)?.shares.map(|shares| used(&shares))).collect();
        let together = used.len().div_ceil(room.max(1)).max(1);
        let most = |some: &[Option<f32>]| {
            some.iter()
                .flatten()
                .copied()
                .fold(None, |most: Option<f32>, one| Some(most.map_or(one, |most| most.max(one))))
        };
        let strip: String = used.chunks(together).map(|some| most(some).map_or('?', level)).collect();
        format!("▕{strip}▏")
    }

    fn thread(&self, thread: &ThreadNow) -> Line {
        let own = if thread.is_own { "*" } else { " " };
        let line = Line::new().plain(padded(&format!("{own} {}", thread.name), self.label));
        let line =
            self.thread_columns.iter().fold(line, |line, column| line.then(column.fit_cell((column.cell)(thread))));
        let rest = self.width.saturating_sub(line.width() + 2);
        line.plain("  ").plain(self.view.trails.text(thread.thread, rest))
    }

    fn source(&self, source: &SourceNow) -> Line {
        let line = Line::new().plain(padded(&format!("  {}", source.source), self.label));
        let all = source.per_second;
        let line = line.plain(format!("{:>12}  ", brief(f64::from(all))));
        let share = |per_second: f32| if all > 0.0 { 100.0 * per_second / all } else { 0.0 };
        let each = source.cpus.iter().map(|struck| format!("{} ({:.0} %)", struck.cpu, share(struck.per_second)));
        let more = if source.others > 0 { format!(", and {} more", source.others) } else { String::new() };
        line.plain(each.collect::<Vec<_>>().join(", ") + &more)
    }
}

/// A text of exactly so many columns, with a space at its end.
fn padded(text: &str, room: usize) -> String {
    let text = crate::draw::printable::printable(text);
    let head = head_of(&text, room.saturating_sub(1));
    format!("{head}{}", " ".repeat(room.saturating_sub(columns_of(&head))))
}

/// The end of what is typed, as far as there is room.
pub fn tail_of(text: &str, room: usize) -> String {
    let shown = crate::draw::printable::printable(text);
    let all = shown.chars().count();
    shown.chars().skip(all.saturating_sub(room)).collect()
}

fn used(shares: &CpuShares) -> f32 {
    (shares.busy + shares.interrupts + shares.soft_interrupts + shares.host).clamp(0.0, 1.0)
}

fn level(used: f32) -> char {
    LEVELS[((used * 8.0).round() as usize).min(8)]
}

/// Programs, handlers and the host, from the left.
fn bar(shares: &CpuShares, room: usize) -> String {
    let columns = |share: f32| (share.clamp(0.0, 1.0) * room as f32).round() as usize;
    let (busy, host) = (columns(shares.busy), columns(shares.host));
    let handlers = columns(shares.interrupts + shares.soft_interrupts).min(room.saturating_sub(busy));
    let host = host.min(room.saturating_sub(busy + handlers));
    format!("{}{}{}", "█".repeat(busy), "▒".repeat(handlers), "░".repeat(host))
}

/// The titles of a part's columns begin with its name.
const fn word(part: Part) -> &'static str {
    match part {
        Part::Cpus => "CPUS",
        Part::Threads => "THREADS",
        Part::Interrupts => "INTERRUPTS",
    }
}
