//! The rows of the screen, each a line of columns that fit.

use std::collections::HashMap;

use corewise_machine::CpuSet;
use corewise_model::watch::{CpuNow, CpuShares, SourceNow, ThreadNow};

use super::row::{Part, Row};
use super::tree::Node;
use super::view::View;
use crate::draw::number::brief;
use crate::draw::printable::{split, width as columns_of};
use crate::draw::text::{Line, Tone};

/// What is unknown.
const UNKNOWN: &str = "–";
/// Shares from nothing to all.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The least room for what grows with the screen: bars, strips, trails.
const LEAST_REST: usize = 10;

/// A quantity of cpus that has a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpuField {
    Busy,
    Interrupts,
    SoftInterrupts,
    Host,
    Worth,
    Clock,
    Kind,
    Rules,
}

/// A quantity of a thread that has a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadField {
    Number,
    Running,
    Waiting,
    Moves,
    Rule,
    PreemptedBy,
}

/// A column of numbers or words.
#[derive(Clone, Copy)]
struct WatchColumn<F> {
    field: F,
    title: &'static str,
    width: usize,
    /// Those with higher numbers are left out first.
    rank: u8,
    is_number: bool,
}

const fn number<F>(field: F, title: &'static str, width: usize, rank: u8) -> WatchColumn<F> {
    WatchColumn { field, title, width, rank, is_number: true }
}

const fn words<F>(field: F, title: &'static str, width: usize, rank: u8) -> WatchColumn<F> {
    WatchColumn { field, title, width, rank, is_number: false }
}

const CPU_COLUMNS: [WatchColumn<CpuField>; 8] = [
    number(CpuField::Busy, "busy%", 6, 0),
    number(CpuField::Interrupts, "irq/s", 7, 1),
    number(CpuField::SoftInterrupts, "soft%", 6, 5),
    number(CpuField::Host, "host%", 6, 3),
    number(CpuField::Worth, "worth%", 7, 2),
    number(CpuField::Clock, "GHz", 5, 4),
    words(CpuField::Kind, "kind", 12, 6),
    words(CpuField::Rules, "rule", 13, 1),
];
const THREAD_COLUMNS: [WatchColumn<ThreadField>; 6] = [
    number(ThreadField::Number, "number", 8, 2),
    number(ThreadField::Running, "run%", 6, 0),
    number(ThreadField::Waiting, "wait%", 6, 0),
    number(ThreadField::Moves, "moves/s", 8, 1),
    words(ThreadField::Rule, "rule", 16, 3),
    words(ThreadField::PreemptedBy, "preempted by", 18, 4),
];

/// How rows are drawn at a width.
pub struct Rows<'a> {
    view: &'a View,
    cpus: HashMap<u32, &'a CpuNow>,
    width: usize,
    label: usize,
    cpu_columns: Vec<WatchColumn<CpuField>>,
    thread_columns: Vec<WatchColumn<ThreadField>>,
}

impl<'a> Rows<'a> {
    /// Of a view.
    pub fn new(view: &'a View, width: usize) -> Self {
        let cpus: HashMap<u32, &CpuNow> = view.frame.cpus.iter().map(|cpu| (cpu.cpu, cpu)).collect();
        let label = if width < 60 { 14 } else { 20 };
        let has_clocks = cpus.values().any(|cpu| cpu.clock_mhz.is_some());
        let has_rules = cpus.values().any(|cpu| !cpu.rules.is_empty());
        let is_cpu_field = |field| match field {
            CpuField::Clock => has_clocks,
            CpuField::Kind => !view.header.machine.kinds.is_empty(),
            CpuField::Rules => has_rules,
            _ => true,
        };
        let has_preempters = view.frame.threads.iter().any(|thread| !thread.preempted_by.is_empty());
        let is_thread_field = |field| match field {
            ThreadField::Rule => view.frame.threads.iter().any(|thread| thread.rule.is_some()),
            ThreadField::PreemptedBy => has_preempters,
            _ => true,
        };
        let room = width.saturating_sub(label + LEAST_REST);
        let cpu_columns = fitted(&CPU_COLUMNS, is_cpu_field, room);
        let thread_columns = fitted(&THREAD_COLUMNS, is_thread_field, room);
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
            Part::Cpus => with_titles(line, &self.cpu_columns).faint("  load: █ programs ▒ interrupts ░ host"),
            Part::Threads => with_titles(line, &self.thread_columns).faint("  where it ran"),
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
        let seen: Vec<&CpuNow> = node.cpus.iter().filter_map(|cpu| self.cpus.get(&cpu).copied()).collect();
        let shares = mean(&seen);
        let line = if node.is_cpu() { Line::new().plain(label) } else { Line::new().strong(label) };
        let line = self.cpu_columns.iter().fold(line, |line, column| {
            let text = self.cpu_cell(column.field, node, &seen, shares.as_ref());
            line.with(tone_of(column.field, shares.as_ref()), cell(column, &text))
        });
        let rest = self.width.saturating_sub(line.width() + 2);
        line.plain("  ").plain(match (node.is_cpu(), &shares) {
            (true, Some(shares)) => bar(shares, rest.min(40)),
            (true, None) => String::new(),
            (false, _) => self.strip(&node.cpus, rest),
        })
    }

    fn cpu_cell(&self, field: CpuField, node: &Node, seen: &[&CpuNow], shares: Option<&CpuShares>) -> String {
        let percent =
            |of: fn(&CpuShares) -> f32| shares.map_or_else(|| UNKNOWN.to_owned(), |shares| self::percent(of(shares)));
        match field {
            CpuField::Busy => percent(|shares| shares.busy),
            CpuField::SoftInterrupts => percent(|shares| shares.soft_interrupts),
            CpuField::Host => percent(|shares| shares.host),
            CpuField::Worth => percent(|shares| shares.worth),
            CpuField::Interrupts => {
                let known: Option<f32> = seen.iter().map(|cpu| cpu.interrupts_per_s).sum();
                known.filter(|_| !seen.is_empty()).map_or_else(|| UNKNOWN.to_owned(), |rate| brief(f64::from(rate)))
            }
            CpuField::Clock => {
                let known: Vec<u32> = seen.iter().filter_map(|cpu| cpu.clock_mhz).collect();
                let sum: f64 = known.iter().map(|mhz| f64::from(*mhz)).sum();
                if known.is_empty() { UNKNOWN.to_owned() } else { format!("{:.1}", sum / known.len() as f64 / 1e3) }
            }
            CpuField::Kind => {
                let machine = &self.view.header.machine;
                let kinds = machine.kinds.iter().filter(|kind| !kind.cpus.is_disjoint(&node.cpus));
                kinds.map(|kind| kind.core_type.word()).collect::<Vec<_>>().join(", ")
            }
            CpuField::Rules => {
                let mut rules: Vec<&str> = seen.iter().flat_map(|cpu| &cpu.rules).map(String::as_str).collect();
                rules.sort_unstable();
                rules.dedup();
                rules.join(", ")
            }
        }
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
        let line = self.thread_columns.iter().fold(line, |line, column| {
            let tone = if column.field == ThreadField::Rule && thread.inside == Some(false) {
                Tone::Warn
            } else {
                Tone::Plain
            };
            line.with(tone, cell(column, &thread_cell(column.field, thread)))
        });
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

fn thread_cell(field: ThreadField, thread: &ThreadNow) -> String {
    let share = |share: Option<f32>| share.map_or_else(|| UNKNOWN.to_owned(), percent);
    match field {
        ThreadField::Number => thread.thread.to_string(),
        ThreadField::Running => share(thread.running),
        ThreadField::Waiting => share(thread.waiting),
        ThreadField::Moves => thread.moves_per_s.map_or_else(|| UNKNOWN.to_owned(), |moves| brief(f64::from(moves))),
        ThreadField::Rule => thread.rule.as_ref().map_or_else(String::new, |rule| {
            let is = match thread.inside {
                Some(true) => " inside",
                Some(false) => " outside",
                None => "",
            };
            format!("{}{is}", head_of(rule, 15 - is.len()))
        }),
        ThreadField::PreemptedBy => thread.preempted_by.first().map_or_else(String::new, |by| {
            let name = if by.is_own { "this corewise" } else { &by.name };
            format!("{} {}x", head_of(name, 12), by.times)
        }),
    }
}

/// Returns the columns of the fields that are there, if they fit: those of the lowest ranks first.
fn fitted<F: Copy>(columns: &[WatchColumn<F>], is_there: impl Fn(F) -> bool, room: usize) -> Vec<WatchColumn<F>> {
    let mut by_rank: Vec<usize> = (0..columns.len()).filter(|index| is_there(columns[*index].field)).collect();
    by_rank.sort_by_key(|index| columns[*index].rank);
    let mut taken = 0;
    let mut shown: Vec<usize> = by_rank
        .into_iter()
        .take_while(|index| {
            taken += columns[*index].width;
            taken <= room
        })
        .collect();
    shown.sort_unstable();
    shown.into_iter().map(|index| columns[index]).collect()
}

fn with_titles<F>(line: Line, columns: &[WatchColumn<F>]) -> Line {
    columns.iter().fold(line, |line, column| line.faint(cell(column, column.title)))
}

fn cell<F>(column: &WatchColumn<F>, text: &str) -> String {
    match column.is_number {
        true => format!("{text:>width$}", width = column.width),
        false => format!(" {}", padded(text, column.width - 1)),
    }
}

/// A text of exactly so many columns, with a space at its end.
fn padded(text: &str, room: usize) -> String {
    let text = crate::draw::printable::printable(text);
    let head = head_of(&text, room.saturating_sub(1));
    format!("{head}{}", " ".repeat(room.saturating_sub(columns_of(&head))))
}

/// The beginning of a text; "…" stands for the rest.
fn head_of(text: &str, room: usize) -> String {
    if columns_of(text) <= room {
        return text.to_owned();
    }
    format!("{}…", split(text, room.saturating_sub(1)).0)
}

/// The end of what is typed, as far as there is room.
pub fn tail_of(text: &str, room: usize) -> String {
    let shown = crate::draw::printable::printable(text);
    let all = shown.chars().count();
    shown.chars().skip(all.saturating_sub(room)).collect()
}

fn mean(seen: &[&CpuNow]) -> Option<CpuShares> {
    let known: Vec<CpuShares> = seen.iter().filter_map(|cpu| cpu.shares).collect();
    let of = |of: fn(&CpuShares) -> f32| known.iter().map(of).sum::<f32>() / known.len() as f32;
    (!known.is_empty()).then(|| CpuShares {
        busy: of(|shares| shares.busy),
        interrupts: of(|shares| shares.interrupts),
        soft_interrupts: of(|shares| shares.soft_interrupts),
        host: of(|shares| shares.host),
        worth: of(|shares| shares.worth),
    })
}

fn tone_of(field: CpuField, shares: Option<&CpuShares>) -> Tone {
    match (field, shares) {
        (CpuField::Host, Some(shares)) if shares.host >= 0.05 => Tone::Warn,
        _ => Tone::Plain,
    }
}

fn used(shares: &CpuShares) -> f32 {
    (shares.busy + shares.interrupts + shares.soft_interrupts + shares.host).clamp(0.0, 1.0)
}

fn level(used: f32) -> char {
    LEVELS[((used * 8.0).round() as usize).min(8)]
}

fn percent(share: f32) -> String {
    format!("{:.0}", 100.0 * share)
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
