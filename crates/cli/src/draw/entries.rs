//! Table of stored and deleted artifacts.

use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_store::Entry;
use jiff::tz::TimeZone;

use super::grid::{Column, Grid};
use super::number::{count, when};
use super::suggestion;
use super::text::{Line, Screen, Tone};
use super::wrap::wrap;

/// Consecutive deleted artifacts that are listed one by one; of more, only the count is shown.
const MOST_DELETED: usize = 3;

/// Scope of a list, for its sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// The kind, if the list is of one kind only.
    pub kind: Option<&'a str>,
    /// Command that makes the first of them.
    pub first: SuggestedCommand,
    /// Whether it covers all machines and not only the one corewise runs on.
    pub all: bool,
    /// Number of other stored artifacts that it leaves out.
    pub others: usize,
}

/// Returns the list of stored artifacts, oldest first.
pub fn screen(entries: &[Entry], listed: &Listed<'_>, zone: &TimeZone, width: usize) -> Screen {
    let mut screen = Screen::new();
    if entries.is_empty() {
        let what = listed.kind.map_or_else(String::new, |kind| format!(" of the kind {kind}"));
        let whose = if listed.all { "" } else { " for this machine" };
        let text = format!("Nothing{what} is stored{whose} yet. Next:  ");
        screen.extend(wrap(&Line::new().plain(text).strong(suggestion::typed(&listed.first)), width, 2));
    } else {
        screen.extend(table(entries, listed.all, zone, width));
    }
    if listed.others > 0 {
        let text = format!("{} more of other machines, or of this one with other cpus:  ", listed.others);
        screen.block(wrap(
            &Line::new().faint(text).strong(suggestion::typed(&suggested_command::history_all())),
            width,
            2,
        ));
    }
    screen
}

/// Returns the table alone.
pub fn table(entries: &[Entry], with_processors: bool, zone: &TimeZone, width: usize) -> Vec<Line> {
    let mut grid = Grid::new(vec![
        Column::number("number", "", 0),
        Column::text("kind", 0),
        Column::text("made", 1),
        // This column says more than those to its right, so it keeps some width while any of them is shown.
        Column::text("what", 0).shrinking_to(if width < 60 { 18 } else { 30 }),
        Column::text("", 2).named("partial"),
        Column::text("kernel", 3).shrinking_to(8),
        Column::text("microcode", 7),
        Column::text("corewise", 8),
        Column::text("processor", 4).shrinking_to(8),
    ]);
    for run in entries.chunk_by(|one, next| one.is_deleted() && next.is_deleted()) {
        if run[0].is_deleted() && run.len() > MOST_DELETED {
            let mut row = vec![Line::new(); 9];
            row[3] = Line::new().faint(format!("{} deleted", run.len()));
            grid.row(row);
        } else {
            run.iter().for_each(|entry| grid.row(cells(entry, with_processors, zone)));
        }
    }
    grid.lines(width)
}

fn cells(entry: &Entry, with_processor: bool, zone: &TimeZone) -> Vec<Line> {
    let plain = |text: &str| Line::new().plain(text);
    let mut row = vec![
        Line::new().strong(entry.number.to_string()),
        plain(&entry.kind),
        plain(&when(entry.started_unix_ms, zone)),
    ];
    let summary = entry.summary.as_ref();
    row.push(match (entry.deleted_unix_ms, summary) {
        (Some(deleted), _) => Line::new().faint(format!("deleted {}", when(deleted, zone))),
        (None, Some(summary)) if entry.trials > 0 => {
            plain(&format!("{}: {}", count(entry.trials as usize, "run"), summary.what))
        }
        (None, summary) => plain(summary.map_or("", |summary| &summary.what)),
    });
    let is_partial = summary.is_some_and(|summary| summary.partial);
    row.push(if is_partial { Line::new().with(Tone::Warn, "partial") } else { Line::new() });
    let of = |text: Option<&String>| plain(text.map_or("", String::as_str));
    row.push(of(summary.and_then(|summary| summary.kernel.as_ref())));
    row.push(of(summary.and_then(|summary| summary.microcode.as_ref())));
    row.push(of(summary.map(|summary| &summary.corewise)));
    row.push(of(summary.and_then(|summary| summary.processor.as_ref()).filter(|_| with_processor)));
    row
}

#[cfg(test)]
mod tests;
