//! Declares the columns of `watch`: title, width, rank, alignment, condition, and cells.

use corewise_machine::{CpuSet, Machine};
use corewise_model::watch::{CpuNow, CpuShares, ThreadNow};

use super::view::WatchView;
use crate::draw::grid::{CellAlignment, fit_by_rank};
use crate::draw::number::format_brief;
use crate::draw::printable::{split_at_width, text_width as columns_of};
use crate::draw::text::{StyledLine, TextTone};

/// Stands for an unknown value.
const UNKNOWN: &str = "–";
/// Share of the time from which the host's part is shown as a warning.
const MUCH_FOR_THE_HOST: f32 = 0.05;

/// Makes the cell of a row of cpus.
pub type CpuCell = fn(&CpuRow<'_>) -> StyledLine;
/// Makes the cell of a thread.
pub type ThreadCell = fn(&ThreadNow) -> StyledLine;

/// A column; a function of type `F` makes its cells.
pub struct WatchColumn<F> {
    title: &'static str,
    width: usize,
    /// Columns of higher ranks are dropped first.
    rank: u8,
    align: CellAlignment,
    /// Returns true if the column has content at the moment.
    is_there: fn(&WatchView) -> bool,
    /// Makes a cell.
    pub cell: F,
}

/// Cpus of one row: a single cpu, or all cpus of an object of the machine.
pub struct CpuRow<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The cpus.
    pub cpus: &'a CpuSet,
    /// State of the cpus that are online.
    pub seen: Vec<&'a CpuNow>,
}

/// The columns of cpus, from left to right.
pub const CPU_COLUMNS: [WatchColumn<CpuCell>; 8] = [
    WatchColumn {
        title: "busy%",
        width: 6,
        rank: 1,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |row| percent(row.mean_share(|shares| shares.busy)),
    },
    WatchColumn {
        title: "irq/s",
        width: 7,
        rank: 2,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |row| {
            let known: Option<f32> = row.seen.iter().map(|cpu| cpu.interrupts_per_s).sum();
            rate(known.filter(|_| !row.seen.is_empty()))
        },
    },
    WatchColumn {
        title: "soft%",
        width: 6,
        rank: 6,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |row| percent(row.mean_share(|shares| shares.soft_interrupts)),
    },
    WatchColumn {
        title: "host%",
        width: 6,
        rank: 4,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |row| {
            let share = row.mean_share(|shares| shares.host);
            warn_if(share.is_some_and(|share| share >= MUCH_FOR_THE_HOST), percent(share))
        },
    },
    WatchColumn {
        title: "worth%",
        width: 7,
        rank: 3,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |row| percent(row.mean_share(|shares| shares.worth)),
    },
    WatchColumn {
        title: "GHz",
        width: 5,
        rank: 5,
        align: CellAlignment::Right,
        is_there: |view| view.frame.cpus.iter().any(|cpu| cpu.clock_mhz.is_some()),
        cell: |row| {
            let known: Vec<f64> = row.seen.iter().filter_map(|cpu| cpu.clock_mhz).map(f64::from).collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            known_or_dash((!known.is_empty()).then(|| format!("{:.1}", mean / 1e3)))
        },
    },
    WatchColumn {
        title: "kind",
        width: 12,
        rank: 7,
        align: CellAlignment::Left,
        is_there: |view| !view.header.machine.kinds.is_empty(),
        cell: |row| {
            let kinds = row.machine.kinds.iter().filter(|kind| !kind.cpus.is_disjoint(row.cpus));
            StyledLine::new().plain(kinds.map(|kind| kind.core_type.word()).collect::<Vec<_>>().join(", "))
        },
    },
    WatchColumn {
        title: "rule",
        width: 13,
        rank: 2,
        align: CellAlignment::Left,
        is_there: |view| view.frame.cpus.iter().any(|cpu| !cpu.rules.is_empty()),
        cell: |row| {
            let mut rules: Vec<&str> = row.seen.iter().flat_map(|cpu| &cpu.rules).map(String::as_str).collect();
            rules.sort_unstable();
            rules.dedup();
            StyledLine::new().plain(rules.join(", "))
        },
    },
];

/// The columns of threads, from left to right.
pub const THREAD_COLUMNS: [WatchColumn<ThreadCell>; 7] = [
    WatchColumn {
        title: "number",
        width: 8,
        rank: 3,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |thread| StyledLine::new().plain(thread.thread.to_string()),
    },
    WatchColumn {
        title: "run%",
        width: 6,
        rank: 1,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |thread| percent(thread.running),
    },
    WatchColumn {
        title: "wait%",
        width: 6,
        rank: 1,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |thread| percent(thread.waiting),
    },
    WatchColumn {
        title: "moves/s",
        width: 8,
        rank: 2,
        align: CellAlignment::Right,
        is_there: |_| true,
        cell: |thread| rate(thread.moves_per_s),
    },
    WatchColumn {
        title: "may use",
        width: 14,
        rank: 4,
        align: CellAlignment::Left,
        // Threads with equal masks say nothing here: the rows of cpus show where they run.
        is_there: |view| view.frame.threads.windows(2).any(|pair| pair[0].allowed != pair[1].allowed),
        cell: |thread| known_or_dash(thread.allowed.as_ref().map(|cpus| head_of(&cpus.to_string(), 13))),
    },
    WatchColumn {
        title: "rule",
        width: 16,
        rank: 4,
        align: CellAlignment::Left,
        is_there: |view| view.frame.threads.iter().any(|thread| thread.rule.is_some()),
        cell: |thread| {
            let Some(rule) = &thread.rule else { return StyledLine::new() };
            let is = match thread.inside {
                Some(true) => " inside",
                Some(false) => " outside",
                None => "",
            };
            warn_if(
                thread.inside == Some(false),
                StyledLine::new().plain(format!("{}{is}", head_of(rule, 15 - is.len()))),
            )
        },
    },
    WatchColumn {
        title: "preempted by",
        width: 18,
        rank: 5,
        align: CellAlignment::Left,
        is_there: |view| view.frame.threads.iter().any(|thread| !thread.preempted_by.is_empty()),
        cell: |thread| {
            let Some(by) = thread.preempted_by.first() else { return StyledLine::new() };
            let name = if by.is_own { "this corewise" } else { &by.name };
            StyledLine::new().plain(format!("{} {}x", head_of(name, 12), by.times))
        },
    },
];

impl<F> WatchColumn<F> {
    /// Fits a cell into the column: text is cut and has a space on either side, numbers end at its right edge.
    pub fn fit_cell(&self, cell: StyledLine) -> StyledLine {
        match self.align {
            CellAlignment::Left => {
                StyledLine::new().plain(" ").then(self.align.pad(cell.cut_to(self.width - 2), self.width - 1))
            }
            CellAlignment::Right => self.align.pad(cell, self.width),
        }
    }
}

impl CpuRow<'_> {
    /// Returns the mean of a share over the cpus that have one.
    fn mean_share(&self, share: fn(&CpuShares) -> f32) -> Option<f32> {
        let known: Vec<f32> = self.seen.iter().filter_map(|cpu| cpu.shares.as_ref()).map(share).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f32>() / known.len() as f32)
    }
}

/// Returns the columns that have content and fit.
pub fn fit_columns<F>(
    columns: &'static [WatchColumn<F>],
    view: &WatchView,
    room: usize,
) -> Vec<&'static WatchColumn<F>> {
    let there: Vec<&WatchColumn<F>> = columns.iter().filter(|column| (column.is_there)(view)).collect();
    let sizes: Vec<(usize, u8)> = there.iter().map(|column| (column.width, column.rank)).collect();
    fit_by_rank(&sizes, 0, room).into_iter().map(|place| there[place]).collect()
}

/// Adds the titles of columns to a line.
pub fn add_titles<F>(line: StyledLine, columns: &[&WatchColumn<F>]) -> StyledLine {
    columns.iter().fold(line, |line, column| line.then(column.fit_cell(StyledLine::new().faint(column.title))))
}

/// Returns the beginning of a text; "…" stands for the rest.
pub fn head_of(text: &str, room: usize) -> String {
    if columns_of(text) <= room {
        return text.to_owned();
    }
    format!("{}…", split_at_width(text, room.saturating_sub(1)).0)
}

fn percent(share: Option<f32>) -> StyledLine {
    known_or_dash(share.map(|share| format!("{:.0}", 100.0 * share)))
}

fn rate(per_second: Option<f32>) -> StyledLine {
    known_or_dash(per_second.map(|rate| format_brief(f64::from(rate))))
}

fn known_or_dash(text: Option<String>) -> StyledLine {
    StyledLine::new().plain(text.as_deref().unwrap_or(UNKNOWN))
}

fn warn_if(is_bad: bool, cell: StyledLine) -> StyledLine {
    if is_bad { StyledLine::new().with(TextTone::Warn, cell.to_plain()) } else { cell }
}
