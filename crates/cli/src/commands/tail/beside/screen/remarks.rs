//! Remarks: senders of interrupts, other counts, the cost of watching, and gaps.

use corewise_machine::Gap;
use corewise_machine::event::EventSource;
use corewise_model::beside::{BesideReport, ProgramInterruptSender};

use super::format_percent;
use crate::draw::number::{format_count, format_decimal, format_whole};
use crate::draw::printable::printable_name;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::{glue_numbers, glue_words, wrap_line};

/// Maximum number of senders named.
const MOST_SENDERS: usize = 4;

/// Returns the senders of interrupts from other cpus, most frequent first; empty without any.
pub fn draw_senders(report: &BesideReport, width: usize) -> Vec<StyledLine> {
    let known: Vec<&ProgramInterruptSender> = report.senders.iter().filter(|sender| sender.cpu.is_some()).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![StyledLine::new().strong("Sent by other cpus")];
    for sender in known.iter().take(MOST_SENDERS) {
        lines.extend(wrap_line(&StyledLine::new().plain("  ").plain(glue_numbers(&describe_sender(sender))), width, 4));
    }
    if known.len() > MOST_SENDERS {
        lines.push(StyledLine::new().faint(format!("  and {}", format_count(known.len() - MOST_SENDERS, "other"))));
    }
    lines
}

fn describe_sender(sender: &ProgramInterruptSender) -> String {
    let function =
        if sender.function.is_empty() { String::new() } else { format!(" ({})", printable_name(&sender.function)) };
    let task = match (sender.task, sender.name.as_str()) {
        (Some(0), _) => "an idle cpu".to_owned(),
        (Some(number), "") => format!("task {number}"),
        (Some(number), name) => format!("{} ({number})", printable_name(name)),
        (None, _) => "an unknown task".to_owned(),
    };
    let own = if sender.is_own { ", its own thread" } else { "" };
    let from = sender.cpu.map_or_else(String::new, |cpu| format!(" on cpu {cpu}"));
    format!("{} x {} from {task}{from}{own}{function}", format_whole(sender.count), sender.source.name())
}

/// Returns counts of events that are no interruptions.
pub fn draw_other_counts(report: &BesideReport, width: usize) -> Vec<StyledLine> {
    let faults = report.page_faults_user + report.page_faults_kernel;
    let items = [
        format_count(report.voluntary_waits as usize, "wait") + " of its own",
        format_count(report.migrations as usize, "migration"),
        format!(
            "{} ({} in the kernel)",
            format_count(faults as usize, "page fault"),
            format_whole(report.page_faults_kernel)
        ),
    ];
    let items = items.map(|item| glue_words(&item)).join(" · ");
    wrap_line(&StyledLine::new().plain("Also  ").plain(items), width, 2)
}

/// Returns the cost of watching, and the number of lost events.
pub fn draw_cost(report: &BesideReport, event_source: EventSource, width: usize) -> Vec<StyledLine> {
    let by = match event_source {
        EventSource::Thread => "its own accounting",
        EventSource::Perf => "the kernel's tracepoints",
        EventSource::Ftrace => "the kernel's tracepoints through ftrace",
    };
    let cost = &report.cost;
    let text = format!(
        "Seen by {by}: {} events while it was on a cpu, at about {} µs each {} of its time on cpus.",
        format_whole(cost.events),
        format_decimal(cost.event_ns / 1e3, 2),
        format_percent(cost.share),
    );
    let mut lines = wrap_line(&StyledLine::new().faint(glue_numbers(&text)), width, 2);
    if report.events_lost > 0 {
        let text = format!("{} events were lost and are not in these numbers.", format_whole(report.events_lost));
        lines.extend(wrap_line(&StyledLine::new().with(TextTone::Warn, text), width, 2));
    }
    lines
}

/// Returns the gaps and their cures.
pub fn draw_gaps(gaps: &[Gap], width: usize) -> Vec<StyledLine> {
    let line = |gap: &Gap| {
        let cure = gap.cure.as_deref().map(|cure| format!(": {cure}")).unwrap_or_default();
        wrap_line(
            &StyledLine::new().plain(glue_numbers(&format!("Not measured: {} ({}){cure}.", gap.what, gap.why))),
            width,
            2,
        )
    };
    gaps.iter().flat_map(line).collect()
}
