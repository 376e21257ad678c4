//! The screen of `corewise history`: the stored surveys and experiments of a machine.

use corewise_store::{Entry, ExperimentEntry};
use jiff::tz::TimeZone;

use crate::draw::grid::{Column, Grid};
use crate::draw::number::{decimal, when};
use crate::draw::text::{Line, Screen, Tone, printable};
use crate::draw::wrap::wrap;

/// What a list shows, for its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the machine corewise runs on; so many other things are stored too.
    ThisMachine {
        /// How many surveys and experiments of other machines are stored.
        others: usize,
    },
    /// All.
    All,
}

/// The lists of stored surveys and of stored experiments, oldest first.
pub fn screen(
    surveys: &[Entry],
    experiments: &[ExperimentEntry],
    scope: Scope,
    zone: &TimeZone,
    width: usize,
) -> Screen {
    let mut screen = Screen::new();
    if surveys.is_empty() {
        let whose = if scope == Scope::All { "" } else { " of this machine" };
        let text = format!("No survey{whose} is stored yet. Next:  ");
        screen.extend(wrap(&Line::new().plain(text).strong("corewise"), width, 2));
    } else {
        screen.extend(grid(surveys, scope, zone).fit(width).with_remark(width, 0));
    }
    if !experiments.is_empty() {
        screen.block(experiment_grid(experiments, zone).fit(width).with_remark(width, 0));
    }
    if let Scope::ThisMachine { others: others @ 1.. } = scope {
        let text = format!("{others} more of other machines, or of this one with other cpus:  ");
        screen.block(wrap(&Line::new().faint(text).strong("corewise history --all"), width, 2));
    }
    screen
}

fn experiment_grid(experiments: &[ExperimentEntry], zone: &TimeZone) -> Grid {
    let mut grid = Grid::new(vec![
        Column::number("experiment", "", 0),
        Column::text("begun", 2),
        Column::number("runs", "", 1),
        Column::text("command", 0).shrinking_to(8),
    ]);
    for entry in experiments {
        grid.row(vec![
            Line::new().strong(entry.id.to_string()),
            Line::new().plain(when(entry.started_unix_ms, zone)),
            Line::new().plain(entry.trials.to_string()),
            Line::new().plain(printable(&entry.command)),
        ]);
    }
    grid
}

fn grid(entries: &[Entry], scope: Scope, zone: &TimeZone) -> Grid {
    let mut grid = Grid::new(vec![
        Column::number("survey", "", 0),
        Column::text("made", 1),
        Column::number("cpus", "", 4),
        Column::number("seconds", "", 6),
        Column::number("rounds", "", 5),
        Column::text("", 2),
        Column::text("kernel", 3).shrinking_to(8),
        Column::text("microcode", 7),
        Column::text("corewise", 8),
        Column::text("processor", 4).shrinking_to(8),
    ]);
    for entry in entries {
        let plain = |text: String| Line::new().plain(text);
        let known = |text: &Option<String>| plain(text.clone().unwrap_or_default());
        let processor = if scope == Scope::All { known(&entry.model_name) } else { Line::new() };
        grid.row(vec![
            Line::new().strong(entry.id.to_string()),
            plain(when(entry.started_unix_ms, zone)),
            plain(entry.cpus.to_string()),
            plain(decimal(entry.elapsed_s, 0)),
            plain(entry.rounds.to_string()),
            remark(entry),
            known(&entry.kernel),
            known(&entry.microcode),
            plain(entry.corewise.clone()),
            processor,
        ]);
    }
    grid
}

/// What a survey is of, where that is not everything, and whether it is whole.
fn remark(entry: &Entry) -> Line {
    let tail = if entry.scope.is_machine() { "" } else { "tail" };
    let line = Line::new().plain(tail);
    match (entry.partial, tail.is_empty()) {
        (false, _) => line,
        (true, true) => line.with(Tone::Warn, "partial"),
        (true, false) => line.plain(", ").with(Tone::Warn, "partial"),
    }
}
