//! Draws the rows of the screen, each a line with the columns that fit.

use std::collections::HashMap;

use corewise_machine::CpuSet;
use corewise_model::watch::{CpuNow, CpuShares, SourceNow, ThreadNow};

use super::columns::{
    CPU_COLUMNS, CpuCell, CpuRow, THREAD_COLUMNS, ThreadCell, WatchColumn, add_titles, fit_columns, head_of,
};
use super::row::{ScreenPart, WatchRow};
use super::tree::TreeNode;
use super::view::WatchView;
use crate::draw::number::format_brief;
use crate::draw::printable::text_width as columns_of;
use crate::draw::text::StyledLine;

/// Characters for shares from 0 to 1, in eighths.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Minimum width of the parts that grow with the screen: bars, strips, trails. The legend of bars needs 18 columns.
const LEAST_REST: usize = 18;
/// The same on narrow screens.
const LEAST_NARROW_REST: usize = 10;
/// The legend of bars.
pub const LOAD_LEGEND: &str = "load: █ programs ▒ interrupts ░ host";
/// Shorter legends; the last one refers to the help.
const SHORT_LEGENDS: [&str; 3] = ["█ programs ▒ irq ░ host", "█prog ▒irq ░host", "load (?)"];

/// Layout of rows at a width.
pub struct RowLayout<'a> {
    view: &'a WatchView,
    cpus: HashMap<u32, &'a CpuNow>,
    width: usize,
    label: usize,
    cpu_columns: Vec<&'static WatchColumn<CpuCell>>,
    thread_columns: Vec<&'static WatchColumn<ThreadCell>>,
}

impl<'a> RowLayout<'a> {
    /// Creates the layout of a view.
    pub fn new(view: &'a WatchView, width: usize) -> Self {
        let cpus: HashMap<u32, &CpuNow> = view.frame.cpus.iter().map(|cpu| (cpu.cpu, cpu)).collect();
        let (label, rest) = if width < 60 { (14, LEAST_NARROW_REST) } else { (20, LEAST_REST) };
        let room = width.saturating_sub(label + rest);
        let cpu_columns = fit_columns(&CPU_COLUMNS, view, room);
        let thread_columns = fit_columns(&THREAD_COLUMNS, view, room);
        Self { view, cpus, width, label, cpu_columns, thread_columns }
    }

    /// Draws the line of a row.
    pub fn draw_row(&self, row: &WatchRow<'_>) -> StyledLine {
        match row {
            WatchRow::Title(part) => self.draw_title(*part),
            WatchRow::Node(node, depth) => self.draw_node(node, *depth),
            WatchRow::Thread(thread) => self.draw_thread(thread),
            WatchRow::Source(source) => self.draw_source(source),
        }
        .cut_to(self.width)
    }

    fn draw_title(&self, part: ScreenPart) -> StyledLine {
        let line = StyledLine::new().strong(pad_text(part_word(part), self.label));
        match part {
            ScreenPart::Cpus => {
                let line = add_titles(line, &self.cpu_columns);
                let room = self.width.saturating_sub(line.width() + 2);
                let legends = [LOAD_LEGEND].into_iter().chain(SHORT_LEGENDS);
                let legend = legends.into_iter().find(|legend| columns_of(legend) <= room).unwrap_or_default();
                line.faint(format!("  {legend}"))
            }
            ScreenPart::Threads => add_titles(line, &self.thread_columns).faint("  where it ran"),
            ScreenPart::Interrupts => line.faint("    a second  cpus that they strike"),
        }
    }

    fn draw_node(&self, node: &TreeNode, depth: usize) -> StyledLine {
        let sign = match (node.is_cpu(), self.view.is_folded(node)) {
            (true, _) => "  ",
            (false, true) => "+ ",
            (false, false) => "- ",
        };
        let indent = " ".repeat(depth.min(6));
        let note = if node.note.is_empty() { String::new() } else { format!(" {}", node.note) };
        let label = pad_text(&format!("{indent}{sign}{}{note}", node.label), self.label);
        let row = CpuRow {
            machine: &self.view.header.machine,
            cpus: &node.cpus,
            seen: node.cpus.iter().filter_map(|cpu| self.cpus.get(&cpu).copied()).collect(),
        };
        let line = if node.is_cpu() { StyledLine::new().plain(label) } else { StyledLine::new().strong(label) };
        let line = self.cpu_columns.iter().fold(line, |line, column| line.then(column.fit_cell((column.cell)(&row))));
        let rest = self.width.saturating_sub(line.width() + 2);
        line.plain("  ").plain(match &row.seen[..] {
            _ if !node.is_cpu() => self.draw_strip(&node.cpus, rest),
            [CpuNow { shares: Some(shares), .. }] => draw_bar(shares, rest.min(40)),
            _ => String::new(),
        })
    }

    /// Draws a character for each cpu, or for the busiest of several if there is no room.
    fn draw_strip(&self, cpus: &CpuSet, room: usize) -> String {
        let used: Vec<Option<f32>> =
            cpus.iter().map(|cpu| self.cpus.get(&cpu)?.shares.map(|shares| used_share(&shares))).collect();
        let together = used.len().div_ceil(room.max(1)).max(1);
        let most = |some: &[Option<f32>]| {
            some.iter()
                .flatten()
                .copied()
                .fold(None, |most: Option<f32>, one| Some(most.map_or(one, |most| most.max(one))))
        };
        let strip: String = used.chunks(together).map(|some| most(some).map_or('?', level_character)).collect();
        format!("▕{strip}▏")
    }

    fn draw_thread(&self, thread: &ThreadNow) -> StyledLine {
        let own = if thread.is_own { "*" } else { " " };
        let line = StyledLine::new().plain(pad_text(&format!("{own} {}", thread.name), self.label));
        let line =
            self.thread_columns.iter().fold(line, |line, column| line.then(column.fit_cell((column.cell)(thread))));
        let rest = self.width.saturating_sub(line.width() + 2);
        line.plain("  ").plain(self.view.trails.format_trail(thread.thread, rest))
    }

    fn draw_source(&self, source: &SourceNow) -> StyledLine {
        let line = StyledLine::new().plain(pad_text(&format!("  {}", source.source), self.label));
        let all = source.per_second;
        let line = line.plain(format!("{:>12}  ", format_brief(f64::from(all))));
        let share = |per_second: f32| if all > 0.0 { 100.0 * per_second / all } else { 0.0 };
        let each = source.cpus.iter().map(|struck| format!("{} ({:.0} %)", struck.cpu, share(struck.per_second)));
        let more = if source.others > 0 { format!(", and {} more", source.others) } else { String::new() };
        line.plain(each.collect::<Vec<_>>().join(", ") + &more)
    }
}

/// Cuts or pads a text to exactly `room` columns, the last of which is a space.
fn pad_text(text: &str, room: usize) -> String {
    let text = crate::draw::printable::make_printable(text);
    let head = head_of(&text, room.saturating_sub(1));
    format!("{head}{}", " ".repeat(room.saturating_sub(columns_of(&head))))
}

/// Returns the end of a typed text, cut at its beginning to `room` characters.
pub fn cut_tail(text: &str, room: usize) -> String {
    let shown = crate::draw::printable::make_printable(text);
    let all = shown.chars().count();
    shown.chars().skip(all.saturating_sub(room)).collect()
}

fn used_share(shares: &CpuShares) -> f32 {
    (shares.busy + shares.interrupts + shares.soft_interrupts + shares.host).clamp(0.0, 1.0)
}

fn level_character(used: f32) -> char {
    LEVELS[((used * 8.0).round() as usize).min(8)]
}

/// Draws the shares of programs, interrupt handlers and the host, from the left.
fn draw_bar(shares: &CpuShares, room: usize) -> String {
    let columns = |share: f32| (share.clamp(0.0, 1.0) * room as f32).round() as usize;
    let (busy, host) = (columns(shares.busy), columns(shares.host));
    let handlers = columns(shares.interrupts + shares.soft_interrupts).min(room.saturating_sub(busy));
    let host = host.min(room.saturating_sub(busy + handlers));
    format!("{}{}{}", "█".repeat(busy), "▒".repeat(handlers), "░".repeat(host))
}

/// Returns the name with which a part's line of titles begins.
const fn part_word(part: ScreenPart) -> &'static str {
    match part {
        ScreenPart::Cpus => "CPUS",
        ScreenPart::Threads => "THREADS",
        ScreenPart::Interrupts => "INTERRUPTS",
    }
}
