//! Remarks on the causes: how they were observed and at what cost, senders of interrupts, and periods.

use std::borrow::Cow;

use corewise_machine::event::EventSource;
use corewise_machine::suggested_command;
use corewise_model::Survey;
use corewise_model::attribution::{CpuStalls, InterruptSender, StallCause};
use corewise_model::survey::{CpuObservation, StallWatch};
use corewise_statistics::period::describe_source;

use crate::draw::number::{format_count, format_decimal, format_duration, format_whole};
use crate::draw::printable::printable_name;
use crate::draw::story::StoryPart;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_numbers;

/// Maximum number of cpus with a remark on unexplained time; others are only in the table.
const MOST_UNEXPLAINED: usize = 4;
/// Maximum number of senders that are listed; of more, only the count is shown.
const MOST_SENDERS: usize = 4;

/// Formats the threshold: "1 µs".
pub fn format_threshold(watch: &StallWatch) -> String {
    format_duration(watch.threshold_ns)
}

/// Describes the source of the causes.
pub fn describe_event_source(event_source: EventSource) -> Cow<'static, str> {
    match event_source {
        EventSource::Thread => {
            let explain = suggestion::format_typed(&suggested_command::tail_explain());
            format!("by the thread's own accounting ({explain} names them)").into()
        }
        EventSource::Perf => "named by the kernel's tracepoints".into(),
        EventSource::Ftrace => "named by the kernel's tracepoints through ftrace".into(),
    }
}

/// Describes the cost of watching, the lost events, and the explained share.
pub fn compose_watching(survey: &Survey) -> Vec<StoryPart> {
    let Some(watch) = &survey.watch else { return Vec::new() };
    let all = || survey.cpus.iter().filter_map(|seen| seen.stalls.as_ref());
    let sum = |of: fn(&CpuStalls) -> u64| all().map(of).sum::<u64>();
    let mut items = Vec::new();
    let stalls = sum(|stalls| stalls.count);
    if stalls > 0 {
        let share = |of: u64| format_decimal(of as f64 * 100.0 / stalls as f64, 1);
        let (named, explained) = (sum(|stalls| stalls.named), sum(|stalls| stalls.explained));
        let text = match watch.event_source {
            EventSource::Thread => format!("{} % of {} stalls have a cause", share(explained), format_whole(stalls)),
            _ => format!(
                "{} % of {} stalls have a cause; {} % by name",
                share(explained),
                format_whole(stalls),
                share(named)
            ),
        };
        items.push(StyledLine::new().plain(glue_numbers(&text)));
        // The explained share depends on how quiet the host is, within the time that other tasks left.
        let is_guest = survey.machine.system.hypervisor.is_some() && watch.event_source != EventSource::Thread;
        let tasks = all().flat_map(|stalls| &stalls.causes).filter(|cause| cause.cause.is_task());
        let left_s = all().map(|stalls| stalls.watched_s).sum::<f64>() - tasks.map(|cause| cause.time_s).sum::<f64>();
        if is_guest && left_s > 0.0 {
            let outside_s: f64 = all().map(CpuStalls::outside_s).sum();
            let text = format!("the host took {} % of the time", format_decimal(outside_s * 100.0 / left_s, 2));
            items.push(StyledLine::new().plain(text));
        }
    }
    if let Some(cost) = &watch.perturbation {
        let interval = cost.interval.map_or_else(String::new, |[low, high]| {
            format!(" [{}, {}]", format_decimal(low, 2), format_decimal(high, 2))
        });
        let text = format!("watching makes the timer's stalls {}x{interval} as long", format_decimal(cost.ratio, 2));
        items.push(StyledLine::new().plain(text));
    }
    let lost = sum(|stalls| stalls.events_lost);
    if lost > 0 {
        items.push(StyledLine::new().with(TextTone::Warn, format!("{} events were lost", format_whole(lost))));
    }
    let not_kept = sum(|stalls| stalls.not_kept);
    if not_kept > 0 {
        items.push(
            StyledLine::new()
                .with(TextTone::Warn, format!("{} stalls are only in the histogram", format_whole(not_kept))),
        );
    }
    if items.is_empty() {
        return Vec::new();
    }
    let line = items.into_iter().reduce(|line, item| line.faint(" · ").then(item)).unwrap_or_default();
    vec![line.into_paragraph(2)]
}

/// Describes stalls with a period; cpus with the same period are combined.
pub fn compose_periods(survey: &Survey) -> Vec<StoryPart> {
    let surroundings = survey.period_surroundings();
    let mut told: Vec<(String, Vec<u32>)> = Vec::new();
    for seen in &survey.cpus {
        for period in seen.stalls.iter().flat_map(|stalls| &stalls.periods) {
            let text = describe_source(period, surroundings);
            match told.iter_mut().find(|(other, _)| *other == text) {
                Some((_, cpus)) if cpus.last() == Some(&seen.cpu) => {}
                Some((_, cpus)) => cpus.push(seen.cpu),
                None => told.push((text, vec![seen.cpu])),
            }
        }
    }
    let line = |(text, cpus): (String, Vec<u32>)| {
        let set: corewise_machine::CpuSet = cpus.into_iter().collect();
        let who = if set.len() == 1 { format!("cpu {set}: ") } else { format!("cpus {set}: ") };
        StyledLine::new().strong(who).plain(glue_numbers(&text)).into_paragraph(2)
    };
    told.into_iter().map(line).collect()
}

/// Describes unexplained stalls, if the kernel's events were watched.
pub fn compose_unexplained(survey: &Survey) -> Vec<StoryPart> {
    /// Share of the lost time below which only the table mentions it.
    const SHARE: f64 = 0.05;
    let is_named = survey.watch.as_ref().is_some_and(|watch| watch.event_source != EventSource::Thread);
    let whence = match survey.machine.system.hypervisor {
        Some(_) => "the host, or its hardware",
        None => "firmware or hardware",
    };
    let open = |seen: &CpuObservation| {
        let stalls = seen.stalls.as_ref()?;
        let cause = stalls.causes.iter().find(|cause| cause.cause == StallCause::Unknown)?;
        let [low, high] = [0.25, 0.75].map(|quantile| format_duration(cause.lengths.quantile_ns(quantile)));
        let (share, stalls) = (format_decimal(cause.share * 100.0, 0), format_count(cause.count as usize, "stall"));
        let text = format!(
            "{share} % of the lost time is unexplained: {stalls} without a period, half of them {low} to {high}. This \
                system's kernel reports no event for them, so the cause is {whence}"
        );
        (is_named && cause.share >= SHARE && cause.count > 0).then_some((seen.cpu, text))
    };
    let line = |(cpu, text): (u32, String)| {
        StyledLine::new().strong(format!("cpu {cpu}: ")).plain(glue_numbers(&text)).into_paragraph(2)
    };
    survey.cpus.iter().filter_map(open).take(MOST_UNEXPLAINED).map(line).collect()
}

/// Lists the senders of interrupts from other cpus, most first.
pub fn compose_senders(survey: &Survey) -> Vec<StoryPart> {
    let mut all: Vec<(u32, &InterruptSender)> = survey
        .cpus
        .iter()
        .flat_map(|seen| seen.stalls.iter().flat_map(|stalls| &stalls.senders).map(|sender| (seen.cpu, sender)))
        .filter(|(_, sender)| sender.cpu.is_some())
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_by_key(|(cpu, sender)| (std::cmp::Reverse(sender.count), *cpu));
    let mut lines = vec![StyledLine::new().strong("Sent by other cpus").into_paragraph(0)];
    for (cpu, sender) in all.iter().take(MOST_SENDERS) {
        lines.push(StyledLine::new().plain(glue_numbers(&describe_sender(*cpu, sender))).into_paragraph(4));
    }
    if all.len() > MOST_SENDERS {
        lines.push(
            StyledLine::new()
                .faint(format!("  and {}", format_count(all.len() - MOST_SENDERS, "other")))
                .into_paragraph(2),
        );
    }
    lines
}

fn describe_sender(cpu: u32, sender: &InterruptSender) -> String {
    let function =
        if sender.function.is_empty() { String::new() } else { format!(" ({})", printable_name(&sender.function)) };
    let task = match (sender.task, sender.name.as_str()) {
        (Some(0), _) => "idle".to_owned(),
        (Some(number), "") => format!("task {number}"),
        (Some(number), name) => format!("{} ({number})", printable_name(name)),
        (None, _) => "an unknown task".to_owned(),
    };
    let from = sender.cpu.map_or_else(String::new, |from| format!(" on cpu {from}"));
    format!("  {} x {} to cpu {cpu} from {task}{from}{function}", format_whole(sender.count), sender.source.name())
}
