//! The tables of interrupts: by source on all cpus together, and by cpu.

use corewise_machine::event::Source;
use corewise_machine::suggested_command;
use corewise_model::attribution::Cause;
use corewise_model::beside::{Handled, OnCpu, Report};

use super::{bare_percent, seconds};
use crate::draw::grid::{Column, Grid};
use crate::draw::number::{brief, count};
use crate::draw::suggestion;
use crate::draw::text::Line;
use crate::draw::wrap::{unbroken, wrap};

/// Maximum number of sources shown one by one; the rest are summed.
const MOST_SOURCES: usize = 10;
const MOST_CPUS: usize = 8;
/// Share of the time from which moving a device's interrupts is suggested.
const WORTH_MOVING: f64 = 0.0005;

/// Returns interrupts by source; empty if there were none.
pub fn handlers(report: &Report, width: usize) -> Vec<Line> {
    if report.handlers.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::new(vec![
        Column::text("source", 0).shrinking_to(14),
        Column::number("count", "", 1),
        Column::number("rate", "/s", 2),
        Column::number("time", "%", 0),
        Column::number("p50", "µs", 3),
        Column::number("p99", "µs", 5),
        Column::number("max", "µs", 1),
        Column::text("mostly on", 4),
    ]);
    let told = if report.handlers.len() == MOST_SOURCES + 1 { MOST_SOURCES + 1 } else { MOST_SOURCES };
    for one in report.handlers.iter().take(told) {
        grid.row(cells(one, report));
    }
    let mut lines = caption(width);
    lines.extend(grid.lines(width));
    if report.handlers.len() > told {
        lines.push(Line::new().faint(format!("and {}", count(report.handlers.len() - told, "other source"))));
    }
    let is_movable = |one: &Handled| matches!(one.cause, Cause::Interrupt { source: Source::Device(_), .. });
    if report.handlers.iter().any(|one| is_movable(one) && one.share >= WORTH_MOVING) {
        let line = Line::new().plain("Next, to see which devices' interrupts can be moved:  ");
        lines.extend(wrap(&line.strong(unbroken(&suggestion::typed(&suggested_command::irq()))), width, 2));
    }
    lines
}

fn caption(width: usize) -> Vec<Line> {
    let text = "while its threads were on a cpu; rates per second of that time. Times cover only the handlers; \
        entering and leaving them costs more, on a virtual machine several times as much";
    wrap(&Line::new().strong("Interrupted").plain("  ").faint(text), width, 2)
}

fn cells(one: &Handled, report: &Report) -> Vec<Line> {
    let microseconds = |quantile: f64| {
        let is_known = one.lengths.count() > 0;
        Line::new().plain(if is_known { brief(one.lengths.quantile_ns(quantile) / 1e3) } else { String::new() })
    };
    let time = if one.lengths.count() > 0 { bare_percent(one.share) } else { String::new() };
    vec![
        Line::new().plain(one.cause.name()),
        Line::new().plain(crate::draw::number::whole(one.count)),
        Line::new().plain(brief(one.count as f64 / report.on_cpu_s)),
        Line::new().strong(time),
        microseconds(0.5),
        microseconds(0.99),
        microseconds(1.0),
        Line::new().faint(mostly_on(&one.cause, one.count, report)),
    ]
}

/// Returns the cpu with more than half of a source's interrupts; empty for a single cpu.
fn mostly_on(cause: &Cause, count: u64, report: &Report) -> String {
    if report.cpus.len() < 2 {
        return String::new();
    }
    let on = |cpu: &OnCpu| cpu.handlers.iter().find(|one| one.cause == *cause).map_or(0, |one| one.count);
    let most = report.cpus.iter().map(|cpu| (on(cpu), cpu.cpu)).max_by_key(|(struck, _)| *struck);
    most.filter(|(struck, _)| struck * 2 > count).map_or_else(String::new, |(_, cpu)| format!("cpu {cpu}"))
}

/// Returns a row for each cpu, the largest loss first; empty for a single cpu.
pub fn cpus(report: &Report, width: usize) -> Vec<Line> {
    let mut cpus: Vec<&OnCpu> = report.cpus.iter().filter(|cpu| cpu.on_cpu_s + cpu.waited_s > 0.0).collect();
    if cpus.len() < 2 {
        return Vec::new();
    }
    cpus.sort_by(|a, b| lost_share(b).total_cmp(&lost_share(a)));
    let mut grid = Grid::new(vec![
        Column::text("cpu", 0),
        Column::number("on cpu", "", 3),
        Column::number("interrupts", "/s", 2),
        Column::number("handlers", "%", 0),
        Column::number("preempted", "/s", 4),
        Column::number("waiting", "%", 1),
    ]);
    for cpu in cpus.iter().take(MOST_CPUS) {
        let struck: u64 = cpu.handlers.iter().map(|one| one.count).sum();
        let wanted_s = cpu.on_cpu_s + cpu.waited_s;
        grid.row(vec![
            Line::new().strong(cpu.cpu.to_string()),
            Line::new().plain(seconds(cpu.on_cpu_s)),
            Line::new().plain(brief(struck as f64 / cpu.on_cpu_s)),
            Line::new().plain(bare_percent(handlers_s(cpu) / wanted_s)),
            Line::new().plain(brief(cpu.preemptions as f64 / cpu.on_cpu_s)),
            Line::new().plain(bare_percent(cpu.waited_s / wanted_s)),
        ]);
    }
    let mut lines = wrap(&Line::new().strong("By cpu").plain("  ").faint("most time lost first"), width, 2);
    lines.extend(grid.lines(width));
    if cpus.len() > MOST_CPUS {
        lines.push(Line::new().faint(format!("and {}", count(cpus.len() - MOST_CPUS, "other cpu"))));
    }
    lines
}

fn handlers_s(cpu: &OnCpu) -> f64 {
    cpu.handlers.iter().map(|one| one.time_s).sum()
}

fn lost_share(cpu: &OnCpu) -> f64 {
    (handlers_s(cpu) + cpu.waited_s) / (cpu.on_cpu_s + cpu.waited_s)
}
