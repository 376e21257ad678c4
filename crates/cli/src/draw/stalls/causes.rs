//! Table of causes: per cpu if there are few cpus, combined otherwise.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_model::Survey;
use corewise_model::attribution::{CauseSummary, CpuStalls, StallCause};
use corewise_model::survey::StallWatch;
use corewise_statistics::histogram::TickHistogram;

use super::remarks::{describe_event_source, format_threshold};
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_brief, format_count, format_decimal};
use crate::draw::story::StoryPart;
use crate::draw::text::{StyledLine, TextTone};

/// Maximum number of cpus with rows of their own.
const FEW_CPUS: usize = 4;
/// Maximum number of causes per cpu; the rest is combined.
const MOST_CAUSES: usize = 7;
/// Maximum number of causes in the combined table.
const MOST_TOGETHER: usize = 14;
/// Maximum number of tasks per cpu.
const MOST_TASKS: usize = 3;
/// Causes below this share of the lost time are combined, except the first.
const LITTLE: f64 = 0.005;

/// Row of the table.
struct CauseRow<'a> {
    cpus: String,
    name: String,
    tone: TextTone,
    count: u64,
    watched_s: f64,
    share: f64,
    in_handler: Option<f64>,
    lengths: Option<std::borrow::Cow<'a, TickHistogram>>,
}

/// Returns the table with its caption; empty if stalls were not watched.
pub fn compose_causes(survey: &Survey) -> Vec<StoryPart> {
    let Some(watch) = &survey.watch else { return Vec::new() };
    let seen: Vec<(u32, &CpuStalls)> =
        survey.cpus.iter().filter_map(|seen| Some((seen.cpu, seen.stalls.as_ref()?))).collect();
    if seen.is_empty() {
        return Vec::new();
    }
    let rows = if seen.len() <= FEW_CPUS { cpu_by_cpu(&seen) } else { join_cpus(&seen) };
    let mut grid = TextGrid::new(vec![
        GridColumn::text("cpu", 0),
        GridColumn::text("cause", 0).shrinking_to(18),
        GridColumn::number("stalls", "/s", 2),
        GridColumn::number("share", "%", 0).with_name("share of the time"),
        GridColumn::number("p50", "µs", 1),
        GridColumn::number("p99", "µs", 3),
        GridColumn::number("max", "µs", 1),
        GridColumn::number("running", "%", 4).with_name("share in handlers"),
    ]);
    let mut last = String::new();
    for row in rows {
        let cpus = if row.cpus == last { String::new() } else { row.cpus.clone() };
        last.clone_from(&row.cpus);
        grid.add_row(draw_cells(&row, cpus));
    }
    vec![compose_caption(watch, &seen), grid.into()]
}

fn compose_caption(watch: &StallWatch, seen: &[(u32, &CpuStalls)]) -> StoryPart {
    let watched_s: f64 = seen.iter().map(|(_, stalls)| stalls.watched_s).sum();
    let lost_s: f64 = seen.iter().map(|(_, stalls)| stalls.lost_s).sum();
    let cpus = if seen.len() == 1 { "the cpu's time" } else { "the cpus' time" };
    let text = format!(
        "of stalls of {} and more, {}: {} % of {cpus}",
        format_threshold(watch),
        describe_event_source(watch.event_source),
        brief_percent(lost_s / watched_s)
    );
    StyledLine::new().strong("Causes").plain("  ").faint(text).into_paragraph(2)
}

fn brief_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.is_finite() { format_decimal(percent, if percent < 1.0 { 2 } else { 1 }) } else { "0".into() }
}

fn draw_cells(row: &CauseRow<'_>, cpus: String) -> Vec<StyledLine> {
    let microseconds = |quantile: f64| {
        let lengths = row.lengths.as_ref().filter(|lengths| lengths.count() > 0);
        StyledLine::new()
            .plain(lengths.map(|lengths| format_brief(lengths.quantile_ns(quantile) / 1e3)).unwrap_or_default())
    };
    let rate = if row.count == 0 { String::new() } else { format_brief(row.count as f64 / row.watched_s) };
    vec![
        StyledLine::new().strong(cpus),
        StyledLine::new().with(row.tone, &row.name),
        StyledLine::new().plain(rate),
        StyledLine::new().plain(format_decimal(row.share * 100.0, 1)),
        microseconds(0.5),
        microseconds(0.99),
        microseconds(1.0),
        StyledLine::new().faint(row.in_handler.map(|share| format_decimal(share * 100.0, 0)).unwrap_or_default()),
    ]
}

fn cpu_by_cpu<'a>(seen: &[(u32, &'a CpuStalls)]) -> Vec<CauseRow<'a>> {
    seen.iter().flat_map(|(cpu, stalls)| rows_of_cpu(*cpu, stalls)).collect()
}

/// Returns a cpu's rows: the tasks that took most, and the other causes; small ones are combined.
fn rows_of_cpu(cpu: u32, stalls: &CpuStalls) -> Vec<CauseRow<'_>> {
    let (tasks, others): (Vec<&CauseSummary>, Vec<&CauseSummary>) =
        stalls.causes.iter().partition(|cause| cause.cause.is_task());
    let mut rows = Vec::new();
    for (causes, most, noun) in [(tasks, MOST_TASKS, "other task"), (others, MOST_CAUSES, "other")] {
        let is_told = |(place, cause): &(usize, &&CauseSummary)| *place == 0 || cause.share >= LITTLE;
        let told = causes.iter().enumerate().filter(is_told).count().min(most);
        // A row for the one remaining cause says more than "1 other".
        let told = if causes.len() == told + 1 { told + 1 } else { told };
        let mut each: Vec<CauseRow<'_>> = causes.iter().map(|cause| new_row(cpu.to_string(), cause, stalls)).collect();
        let rest = each.split_off(told);
        rows.extend(each);
        if !rest.is_empty() {
            rows.push(merge_rest(cpu.to_string(), &rest, noun, stalls.watched_s));
        }
    }
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    rows
}

/// Names a source by its period: "every 10.00 ms", and "every 10.00 ms (2)" if an earlier one has the same.
fn name_period(stalls: &CpuStalls, rank: usize) -> Option<String> {
    let name = |hertz: f64| format!("every {} ms", format_decimal(1e3 / hertz, 2));
    let own = name(stalls.periods.get(rank)?.hertz);
    let same = stalls.periods[..rank].iter().filter(|earlier| name(earlier.hertz) == own).count();
    Some(if same == 0 { own } else { format!("{own} ({})", same + 1) })
}

fn new_row<'a>(cpus: String, cause: &'a CauseSummary, stalls: &'a CpuStalls) -> CauseRow<'a> {
    let name = match &cause.cause {
        StallCause::Periodic { rank } => {
            name_period(stalls, usize::from(*rank)).unwrap_or_else(|| cause.cause.plain_name())
        }
        other => other.plain_name(),
    };
    CauseRow {
        cpus,
        name,
        tone: cause_tone(&cause.cause),
        count: cause.count,
        watched_s: stalls.watched_s,
        share: cause.share,
        in_handler: cause.cause.is_named().then(|| cause.running_s / cause.time_s),
        lengths: Some(std::borrow::Cow::Borrowed(&cause.lengths)),
    }
}

/// Highlights unknown causes, which readers look for first.
const fn cause_tone(cause: &StallCause) -> TextTone {
    match cause {
        StallCause::Unknown | StallCause::Stolen => TextTone::Warn,
        _ => TextTone::Plain,
    }
}

/// Combines rows into one.
fn merge_rest<'a>(cpus: String, rest: &[CauseRow<'_>], noun: &str, watched_s: f64) -> CauseRow<'a> {
    let lengths = join_histograms(rest.iter().filter_map(|row| row.lengths.as_deref()));
    CauseRow {
        cpus,
        name: format_count(rest.len(), noun),
        tone: TextTone::Faint,
        count: rest.iter().map(|row| row.count).sum(),
        watched_s,
        share: rest.iter().map(|row| row.share).sum(),
        in_handler: None,
        lengths: Some(std::borrow::Cow::Owned(lengths)),
    }
}

fn join_histograms<'h>(all: impl Iterator<Item = &'h TickHistogram>) -> TickHistogram {
    all.fold(TickHistogram::new_collecting(1.0), |mut sum, one| {
        sum.merge_from(one);
        sum
    })
}

/// Combines all cpus in one table: tasks of one name are one cause, and each cause shows its main cpu.
fn join_cpus<'a>(seen: &[(u32, &'a CpuStalls)]) -> Vec<CauseRow<'a>> {
    let mut by_name: BTreeMap<String, Vec<(u32, &CpuStalls, &CauseSummary)>> = BTreeMap::new();
    for (cpu, stalls) in seen {
        for cause in &stalls.causes {
            by_name.entry(describe_kind(&cause.cause)).or_default().push((*cpu, stalls, cause));
        }
    }
    let lost_s: f64 = seen.iter().map(|(_, stalls)| stalls.lost_s).sum();
    let watched_s: f64 = seen.iter().map(|(_, stalls)| stalls.watched_s).sum();
    let mut rows: Vec<CauseRow<'a>> = by_name
        .into_iter()
        .map(|(name, parts)| {
            let time_s: f64 = parts.iter().map(|(_, _, cause)| cause.time_s).sum();
            let running_s: f64 = parts.iter().map(|(_, _, cause)| cause.running_s).sum();
            CauseRow {
                cpus: format_most_on(&parts, time_s),
                name,
                tone: cause_tone(&parts[0].2.cause),
                count: parts.iter().map(|(_, _, cause)| cause.count).sum(),
                watched_s,
                share: time_s / lost_s,
                in_handler: parts[0].2.cause.is_named().then_some(running_s / time_s),
                lengths: Some(std::borrow::Cow::Owned(join_histograms(
                    parts.iter().map(|(_, _, cause)| &cause.lengths),
                ))),
            }
        })
        .collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    if rows.len() > MOST_TOGETHER + 1 {
        let rest = rows.split_off(MOST_TOGETHER);
        rows.push(merge_rest(String::new(), &rest, "other", watched_s));
    }
    rows
}

fn describe_kind(cause: &StallCause) -> String {
    match cause {
        StallCause::Task { name, function, .. } if function.is_empty() => format!("task {name}"),
        other => other.plain_name(),
    }
}

/// Names the cpu that has half of a cause's time, or counts the cpus.
fn format_most_on(parts: &[(u32, &CpuStalls, &CauseSummary)], time_s: f64) -> String {
    let most = parts.iter().max_by(|a, b| a.2.time_s.total_cmp(&b.2.time_s));
    match most {
        Some((cpu, _, cause)) if parts.len() > 1 && cause.time_s * 2.0 >= time_s => format!("most on {cpu}"),
        _ => {
            let cpus: CpuSet = parts.iter().map(|(cpu, _, _)| *cpu).collect();
            if cpus.len() == 1 { cpus.to_string() } else { format!("{} cpus", cpus.len()) }
        }
    }
}
