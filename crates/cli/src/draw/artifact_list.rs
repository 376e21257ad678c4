//! Table of stored and deleted artifacts.

use corewise_machine::identity::is_same_machine;
use corewise_machine::{SuggestedCommand, suggested_command};
use corewise_model::artifact::{ArtifactOrigin, ArtifactSummary};
use corewise_store::StoredEntry;
use jiff::tz::TimeZone;

use super::grid::{GridColumn, TextGrid};
use super::number::{format_count, format_time};
use super::suggestion;
use super::text::{StyledLine, TextScreen, TextTone};
use super::wrap::wrap_line;

/// Consecutive deleted artifacts that are listed one by one; of more, only the count is shown.
const MOST_DELETED: usize = 3;

/// Scope of a list, for its sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListContext<'a> {
    /// The kind, if the list is of one kind only.
    pub kind: Option<&'a str>,
    /// Command that makes the first of them.
    pub first: SuggestedCommand,
    /// Whether it covers all machines and not only the one corewise runs on.
    pub all: bool,
    /// Number of other stored artifacts that it leaves out.
    pub others: usize,
    /// Identity of the machine that corewise runs on, if it is known: results of others are marked.
    pub here: Option<String>,
}

/// Returns the list of stored artifacts, oldest first.
pub fn draw_screen(entries: &[StoredEntry], listed: &ListContext<'_>, zone: &TimeZone, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    if entries.is_empty() {
        let what = listed.kind.map_or_else(String::new, |kind| format!(" of the kind {kind}"));
        let whose = if listed.all { "" } else { " for this machine" };
        let text = format!("Nothing{what} is stored{whose} yet. Next:  ");
        screen.extend(wrap_line(
            &StyledLine::new().plain(text).strong(suggestion::format_typed(&listed.first)),
            width,
            2,
        ));
    } else {
        screen.extend(draw_table(entries, listed.all, listed.here.as_deref(), zone, width));
    }
    if listed.others > 0 {
        let text = format!("{} more of other machines, or of this one with other cpus:  ", listed.others);
        screen.add_block(wrap_line(
            &StyledLine::new().faint(text).strong(suggestion::format_typed(&suggested_command::history_all())),
            width,
            2,
        ));
    }
    screen
}

/// Returns the table alone; results of other machines than `here` are marked.
pub fn draw_table(
    entries: &[StoredEntry],
    with_processors: bool,
    here: Option<&str>,
    zone: &TimeZone,
    width: usize,
) -> Vec<StyledLine> {
    let mut grid = TextGrid::new(vec![
        GridColumn::number("number", "", 0),
        GridColumn::text("kind", 0),
        GridColumn::text("made", 1),
        // This column says more than those to its right, so it keeps some width while any of them is shown.
        GridColumn::text("what", 0).shrinking_to(if width < 60 { 18 } else { 30 }),
        GridColumn::text("", 2).with_name("partial"),
        GridColumn::text("kernel", 3).shrinking_to(8),
        GridColumn::text("microcode", 7),
        GridColumn::text("corewise", 8),
        GridColumn::text("processor", 4).shrinking_to(8),
    ]);
    for run in entries.chunk_by(|one, next| one.is_deleted() && next.is_deleted()) {
        if run[0].is_deleted() && run.len() > MOST_DELETED {
            let mut row = vec![StyledLine::new(); 9];
            row[3] = StyledLine::new().faint(format!("{} deleted", run.len()));
            grid.add_row(row);
        } else {
            run.iter().for_each(|entry| grid.add_row(draw_cells(entry, with_processors, here, zone)));
        }
    }
    grid.draw_lines(width)
}

fn draw_cells(entry: &StoredEntry, with_processor: bool, here: Option<&str>, zone: &TimeZone) -> Vec<StyledLine> {
    let plain = |text: &str| StyledLine::new().plain(text);
    let mut row = vec![
        StyledLine::new().strong(entry.number.to_string()),
        plain(&entry.kind),
        plain(&format_time(entry.started_unix_ms, zone)),
    ];
    let summary = entry.summary.as_ref();
    row.push(match (entry.deleted_unix_ms, summary) {
        (Some(deleted), _) => StyledLine::new().faint(format!("deleted {}", format_time(deleted, zone))),
        (None, Some(summary)) => draw_contents(entry, summary, here),
        (None, None) => StyledLine::new(),
    });
    let is_partial = summary.is_some_and(|summary| summary.partial);
    row.push(if is_partial { StyledLine::new().with(TextTone::Warn, "partial") } else { StyledLine::new() });
    let of = |text: Option<&String>| plain(text.map_or("", String::as_str));
    row.push(of(summary.and_then(|summary| summary.kernel.as_ref())));
    row.push(of(summary.and_then(|summary| summary.microcode.as_ref())));
    row.push(of(summary.map(|summary| &summary.corewise)));
    row.push(of(summary.and_then(|summary| summary.processor.as_ref()).filter(|_| with_processor)));
    row
}

/// Describes an artifact's contents. The word for an origin elsewhere stands first, since the end may be cut; the file last.
fn draw_contents(entry: &StoredEntry, summary: &ArtifactSummary, here: Option<&str>) -> StyledLine {
    let runs = match entry.trials {
        0 => String::new(),
        trials => format!("{}: ", format_count(trials as usize, "trial")),
    };
    let contents = format!("{runs}{}", summary.what);
    let is_of_other =
        here.is_some_and(|here| entry.fingerprint.as_ref().is_some_and(|machine| !is_same_machine(machine, here)));
    let (word, file) = match &summary.origin {
        ArtifactOrigin::Measured if is_of_other => ("other machine", None),
        ArtifactOrigin::Measured => return StyledLine::new().plain(contents),
        ArtifactOrigin::Simulated { file } => ("simulated", Some(file)),
        ArtifactOrigin::Imported { file, .. } => ("imported", Some(file)),
    };
    let from = file.map_or_else(String::new, |file| format!(", from {file}"));
    StyledLine::new().with(TextTone::Warn, word).plain(format!(": {contents}{from}"))
}

#[cfg(test)]
mod tests;
