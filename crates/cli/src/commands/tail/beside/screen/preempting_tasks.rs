//! The table of tasks that ran while threads of the program were preempted.

use corewise_model::beside::{BesideReport, PreemptedBy};

use super::{bare_percent, format_fine, format_times};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_count, format_whole};
use crate::draw::text::StyledLine;
use crate::draw::wrap::{glue_numbers, wrap_line};

/// Maximum number of tasks shown one by one.
const MOST: usize = 8;

/// Returns the tasks that ran instead; empty if the program was never preempted.
pub fn draw_preempting_tasks(report: &BesideReport, width: usize) -> Vec<StyledLine> {
    if report.instead.is_empty() {
        return Vec::new();
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("task", 0).shrinking_to(14),
        GridColumn::number("number", "", 2),
        GridColumn::number("count", "", 1),
        GridColumn::number("time", "ms", 3),
        GridColumn::number("time", "%", 0).with_name("share"),
        GridColumn::number("longest", "ms", 1),
    ]);
    let told = if report.instead.len() == MOST + 1 { MOST + 1 } else { MOST };
    for one in report.instead.iter().take(told) {
        grid.add_row(draw_cells(one));
    }
    let text = format!("{}; what ran while one of its threads was runnable", format_times(report.preemptions));
    let mut lines = wrap_line(&StyledLine::new().strong("Preempted").plain("  ").faint(glue_numbers(&text)), width, 2);
    lines.extend(grid.draw_lines(width));
    lines.extend(draw_rest(report.instead.get(told..).unwrap_or_default()));
    lines
}

fn draw_cells(one: &PreemptedBy) -> Vec<StyledLine> {
    let number = if one.task.number == 0 { String::new() } else { one.task.number.to_string() };
    vec![
        StyledLine::new().plain(format_name(one)),
        StyledLine::new().plain(number),
        StyledLine::new().plain(format_whole(one.count)),
        StyledLine::new().plain(format_fine(one.time_s * 1e3)),
        StyledLine::new().strong(bare_percent(one.share)),
        StyledLine::new().plain(format_fine(one.longest_ns as f64 / 1e6)),
    ]
}

fn format_name(one: &PreemptedBy) -> String {
    match (&one.task.is_own, one.task.name.as_str(), one.task.function.as_str()) {
        (true, ..) => "threads of its own".to_owned(),
        (_, "idle", _) => "nothing: the cpu was idle".to_owned(),
        (_, "" | "?", "") => "not named".to_owned(),
        (_, name, "") => name.to_owned(),
        (_, name, function) => format!("{name}: {function}"),
    }
}

fn draw_rest(rest: &[PreemptedBy]) -> Option<StyledLine> {
    let share: f64 = rest.iter().map(|one| one.share).sum();
    let text = format!("and {}, {} % together", format_count(rest.len(), "other task"), bare_percent(share));
    (!rest.is_empty()).then(|| StyledLine::new().faint(text))
}
