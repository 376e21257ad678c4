//! The table of tasks that ran while threads of the program were preempted.

use corewise_model::beside::{Instead, Report};

use super::{bare_percent, fine, times};
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{count, whole};
use crate::draw::text::Line;
use crate::draw::wrap::{glued, wrap};

/// Maximum number of tasks shown one by one.
const MOST: usize = 8;

/// Returns the tasks that ran instead; empty if the program was never preempted.
pub fn instead(report: &Report, width: usize) -> Vec<Line> {
    if report.instead.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::new(vec![
        Column::text("task", 0).shrinking_to(14),
        Column::number("number", "", 2),
        Column::number("count", "", 1),
        Column::number("time", "ms", 3),
        Column::number("time", "%", 0).named("share"),
        Column::number("longest", "ms", 1),
    ]);
    let told = if report.instead.len() == MOST + 1 { MOST + 1 } else { MOST };
    for one in report.instead.iter().take(told) {
        grid.row(cells(one));
    }
    let text = format!("{}; what ran while one of its threads was runnable", times(report.preemptions));
    let mut lines = wrap(&Line::new().strong("Preempted").plain("  ").faint(glued(&text)), width, 2);
    lines.extend(grid.lines(width));
    lines.extend(rest(report.instead.get(told..).unwrap_or_default()));
    lines
}

fn cells(one: &Instead) -> Vec<Line> {
    let number = if one.task.number == 0 { String::new() } else { one.task.number.to_string() };
    vec![
        Line::new().plain(name(one)),
        Line::new().plain(number),
        Line::new().plain(whole(one.count)),
        Line::new().plain(fine(one.time_s * 1e3)),
        Line::new().strong(bare_percent(one.share)),
        Line::new().plain(fine(one.longest_ns as f64 / 1e6)),
    ]
}

fn name(one: &Instead) -> String {
    match (&one.task.is_own, one.task.name.as_str(), one.task.function.as_str()) {
        (true, ..) => "threads of its own".to_owned(),
        (_, "idle", _) => "nothing: the cpu was idle".to_owned(),
        (_, "" | "?", "") => "not named".to_owned(),
        (_, name, "") => name.to_owned(),
        (_, name, function) => format!("{name}: {function}"),
    }
}

fn rest(rest: &[Instead]) -> Option<Line> {
    let share: f64 = rest.iter().map(|one| one.share).sum();
    let text = format!("and {}, {} % together", count(rest.len(), "other task"), bare_percent(share));
    (!rest.is_empty()).then(|| Line::new().faint(text))
}
