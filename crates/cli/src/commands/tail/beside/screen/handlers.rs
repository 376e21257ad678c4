//! The tables of interrupts: by source on all cpus together, and by cpu.

use corewise_machine::event::InterruptSource;
use corewise_machine::suggested_command;
use corewise_model::attribution::StallCause;
use corewise_model::beside::{BesideReport, CpuBesideReport, HandledCause};

use super::{bare_percent, format_seconds};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_brief, format_count};
use crate::draw::suggestion;
use crate::draw::text::StyledLine;
use crate::draw::wrap::{glue_words, wrap_line};

/// Maximum number of sources shown one by one; the rest are summed.
const MOST_SOURCES: usize = 10;
const MOST_CPUS: usize = 8;
/// Share of the time from which moving a device's interrupts is suggested.
const WORTH_MOVING: f64 = 0.0005;

/// Returns interrupts by source; empty if there were none.
pub fn draw_handlers(report: &BesideReport, width: usize) -> Vec<StyledLine> {
    if report.handlers.is_empty() {
        return Vec::new();
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("source", 0).shrinking_to(14),
        GridColumn::number("count", "", 1),
        GridColumn::number("rate", "/s", 2),
        GridColumn::number("time", "%", 0),
        GridColumn::number("p50", "µs", 3),
        GridColumn::number("p99", "µs", 5),
        GridColumn::number("max", "µs", 1),
        GridColumn::text("mostly on", 4),
    ]);
    let told = if report.handlers.len() == MOST_SOURCES + 1 { MOST_SOURCES + 1 } else { MOST_SOURCES };
    for one in report.handlers.iter().take(told) {
        grid.add_row(draw_cells(one, report));
    }
    let mut lines = draw_caption(width);
    lines.extend(grid.draw_lines(width));
    if report.handlers.len() > told {
        lines.push(
            StyledLine::new().faint(format!("and {}", format_count(report.handlers.len() - told, "other source"))),
        );
    }
    let is_movable =
        |one: &HandledCause| matches!(one.cause, StallCause::Interrupt { source: InterruptSource::Device(_), .. });
    if report.handlers.iter().any(|one| is_movable(one) && one.share >= WORTH_MOVING) {
        let line = StyledLine::new().plain("Next, to see which devices' interrupts can be moved:  ");
        lines.extend(wrap_line(
            &line.strong(glue_words(&suggestion::format_typed(&suggested_command::irq()))),
            width,
            2,
        ));
    }
    lines
}

fn draw_caption(width: usize) -> Vec<StyledLine> {
    let text = "while its threads were on a cpu; rates per second of that time. Times cover only the handlers; \
        entering and leaving them costs more, on a virtual machine several times as much";
    wrap_line(&StyledLine::new().strong("Interrupted").plain("  ").faint(text), width, 2)
}

fn draw_cells(one: &HandledCause, report: &BesideReport) -> Vec<StyledLine> {
    let microseconds = |quantile: f64| {
        let is_known = one.lengths.count() > 0;
        StyledLine::new().plain(if is_known {
            format_brief(one.lengths.quantile_ns(quantile) / 1e3)
        } else {
            String::new()
        })
    };
    let time = if one.lengths.count() > 0 { bare_percent(one.share) } else { String::new() };
    vec![
        StyledLine::new().plain(one.cause.plain_name()),
        StyledLine::new().plain(crate::draw::number::format_whole(one.count)),
        StyledLine::new().plain(format_brief(one.count as f64 / report.on_cpu_s)),
        StyledLine::new().strong(time),
        microseconds(0.5),
        microseconds(0.99),
        microseconds(1.0),
        StyledLine::new().faint(format_mostly_on(&one.cause, one.count, report)),
    ]
}

/// Returns the cpu with more than half of a source's interrupts; empty for a single cpu.
fn format_mostly_on(cause: &StallCause, count: u64, report: &BesideReport) -> String {
    if report.cpus.len() < 2 {
        return String::new();
    }
    let on = |cpu: &CpuBesideReport| cpu.handlers.iter().find(|one| one.cause == *cause).map_or(0, |one| one.count);
    let most = report.cpus.iter().map(|cpu| (on(cpu), cpu.cpu)).max_by_key(|(struck, _)| *struck);
    most.filter(|(struck, _)| struck * 2 > count).map_or_else(String::new, |(_, cpu)| format!("cpu {cpu}"))
}

/// Returns a row for each cpu, the largest loss first; empty for a single cpu.
pub fn draw_cpus(report: &BesideReport, width: usize) -> Vec<StyledLine> {
    let mut cpus: Vec<&CpuBesideReport> = report.cpus.iter().filter(|cpu| cpu.on_cpu_s + cpu.waited_s > 0.0).collect();
    if cpus.len() < 2 {
        return Vec::new();
    }
    cpus.sort_by(|a, b| lost_share(b).total_cmp(&lost_share(a)));
    let mut grid = TextGrid::new(vec![
        GridColumn::text("cpu", 0),
        GridColumn::number("on cpu", "", 3),
        GridColumn::number("interrupts", "/s", 2),
        GridColumn::number("handlers", "%", 0),
        GridColumn::number("preempted", "/s", 4),
        GridColumn::number("waiting", "%", 1),
    ]);
    for cpu in cpus.iter().take(MOST_CPUS) {
        let struck: u64 = cpu.handlers.iter().map(|one| one.count).sum();
        let wanted_s = cpu.on_cpu_s + cpu.waited_s;
        grid.add_row(vec![
            StyledLine::new().strong(cpu.cpu.to_string()),
            StyledLine::new().plain(format_seconds(cpu.on_cpu_s)),
            StyledLine::new().plain(format_brief(struck as f64 / cpu.on_cpu_s)),
            StyledLine::new().plain(bare_percent(handlers_s(cpu) / wanted_s)),
            StyledLine::new().plain(format_brief(cpu.preemptions as f64 / cpu.on_cpu_s)),
            StyledLine::new().plain(bare_percent(cpu.waited_s / wanted_s)),
        ]);
    }
    let mut lines = wrap_line(&StyledLine::new().strong("By cpu").plain("  ").faint("most time lost first"), width, 2);
    lines.extend(grid.draw_lines(width));
    if cpus.len() > MOST_CPUS {
        lines.push(StyledLine::new().faint(format!("and {}", format_count(cpus.len() - MOST_CPUS, "other cpu"))));
    }
    lines
}

fn handlers_s(cpu: &CpuBesideReport) -> f64 {
    cpu.handlers.iter().map(|one| one.time_s).sum()
}

fn lost_share(cpu: &CpuBesideReport) -> f64 {
    (handlers_s(cpu) + cpu.waited_s) / (cpu.on_cpu_s + cpu.waited_s)
}
