//! Remarks: senders of interrupts, other counts, the cost of watching, and gaps.

use corewise_machine::Gap;
use corewise_machine::event::EventSource;
use corewise_model::beside::{Report, SentBy};

use super::percent;
use crate::draw::number::{count, decimal, whole};
use crate::draw::printable::named;
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::{glued, unbroken, wrap};

/// Maximum number of senders named.
const MOST_SENDERS: usize = 4;

/// Returns the senders of interrupts from other cpus, most frequent first; empty without any.
pub fn senders(report: &Report, width: usize) -> Vec<Line> {
    let known: Vec<&SentBy> = report.senders.iter().filter(|sender| sender.cpu.is_some()).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::new().strong("Sent by other cpus")];
    for sender in known.iter().take(MOST_SENDERS) {
        lines.extend(wrap(&Line::new().plain("  ").plain(glued(&sentence(sender))), width, 4));
    }
    if known.len() > MOST_SENDERS {
        lines.push(Line::new().faint(format!("  and {}", count(known.len() - MOST_SENDERS, "other"))));
    }
    lines
}

fn sentence(sender: &SentBy) -> String {
    let function = if sender.function.is_empty() { String::new() } else { format!(" ({})", named(&sender.function)) };
    let task = match (sender.task, sender.name.as_str()) {
        (Some(0), _) => "an idle cpu".to_owned(),
        (Some(number), "") => format!("task {number}"),
        (Some(number), name) => format!("{} ({number})", named(name)),
        (None, _) => "an unknown task".to_owned(),
    };
    let own = if sender.is_own { ", its own thread" } else { "" };
    let from = sender.cpu.map_or_else(String::new, |cpu| format!(" on cpu {cpu}"));
    format!("{} x {} from {task}{from}{own}{function}", whole(sender.count), sender.source.name())
}

/// Returns counts of events that are no interruptions.
pub fn besides(report: &Report, width: usize) -> Vec<Line> {
    let faults = report.page_faults_user + report.page_faults_kernel;
    let items = [
        count(report.voluntary_waits as usize, "wait") + " of its own",
        count(report.migrations as usize, "migration"),
        format!("{} ({} in the kernel)", count(faults as usize, "page fault"), whole(report.page_faults_kernel)),
    ];
    let items = items.map(|item| unbroken(&item)).join(" · ");
    wrap(&Line::new().plain("Also  ").plain(items), width, 2)
}

/// Returns the cost of watching, and the number of lost events.
pub fn cost(report: &Report, event_source: EventSource, width: usize) -> Vec<Line> {
    let by = match event_source {
        EventSource::Thread => "its own accounting",
        EventSource::Perf => "the kernel's tracepoints",
        EventSource::Ftrace => "the kernel's tracepoints through ftrace",
    };
    let cost = &report.cost;
    let text = format!(
        "Seen by {by}: {} events while it was on a cpu, at about {} µs each {} of its time on cpus.",
        whole(cost.events),
        decimal(cost.event_ns / 1e3, 2),
        percent(cost.share),
    );
    let mut lines = wrap(&Line::new().faint(glued(&text)), width, 2);
    if report.events_lost > 0 {
        let text = format!("{} events were lost and are not in these numbers.", whole(report.events_lost));
        lines.extend(wrap(&Line::new().with(Tone::Warn, text), width, 2));
    }
    lines
}

/// Returns the gaps and their cures.
pub fn gaps(gaps: &[Gap], width: usize) -> Vec<Line> {
    let line = |gap: &Gap| {
        let cure = gap.cure.as_deref().map(|cure| format!(": {cure}")).unwrap_or_default();
        wrap(&Line::new().plain(glued(&format!("Not measured: {} ({}){cure}.", gap.what, gap.why))), width, 2)
    };
    gaps.iter().flat_map(line).collect()
}
