//! Activity: other events on each cpu while it was measured.

use crate::draw::survey_row::SurveyRow;
use corewise_machine::interrupt::plain_name;

use crate::draw::grid::{Column, Grid};
use crate::draw::latency::{cpu_label, tone};
use crate::draw::number::{ABSENT, brief, decimal};
use crate::draw::story::StoryPart;
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::unbroken;

/// Returns the activity table: clock rate, interrupts, switches, and shares of time.
pub fn activity(rows: &[SurveyRow]) -> Vec<StoryPart> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::new(vec![
        Column::text("cpu", 0),
        Column::number("clock", "GHz", 1),
        Column::number("±", "GHz", 9).named("± of clock"),
        Column::number("irq", "/s", 2),
        Column::number("softirq", "/s", 4),
        Column::number("yields", "/s", 7),
        Column::number("preempted", "/s", 5),
        Column::number("user", "%", 6),
        Column::number("system", "%", 5),
        Column::number("off-cpu", "%", 3),
        Column::number("stolen", "%", 3),
    ]);
    for row in rows {
        grid.row(cells(row));
    }
    vec![caption(rows), grid.into()]
}

fn caption(rows: &[SurveyRow]) -> StoryPart {
    let estimated = rows.iter().any(|row| matches!(row.frequency, Some((_, true))));
    let remark = if estimated { "; ~ is estimated from a chain of additions, not counted" } else { "" };
    let text = format!("of each cpu while it was measured{remark}");
    Line::new().strong("Activity").plain("  ").faint(text).hanging(2)
}

fn cells(row: &SurveyRow) -> Vec<Line> {
    let plain = |text: String| Line::new().plain(text);
    let rate = |value: f64| quiet_zero(value, brief(value));
    let percent = |value: f64| quiet_zero(value, decimal(value * 100.0, 1));
    let clock = row.frequency.map_or_else(String::new, |(gigahertz, estimated)| {
        let mark = if estimated { "~" } else { "" };
        format!("{mark}{}", decimal(gigahertz, 2))
    });
    let stolen = row.shares.stolen.map_or_else(Line::new, |share| match tone(row, "share of time stolen") {
        Tone::Plain => percent(share),
        marked => Line::new().with(marked, decimal(share * 100.0, 1)),
    });
    vec![
        cpu_label(&row.cpus),
        Line::new().with(tone(row, "frequency"), clock),
        Line::new().faint(row.frequency_spread.map(|spread| decimal(spread, 2)).unwrap_or_default()),
        Line::new().with(tone(row, "interrupt rate"), brief(row.interrupt_rate)),
        plain(brief(row.softirq_rate)),
        rate(row.switch_rates.0),
        rate(row.switch_rates.1),
        percent(row.shares.user),
        percent(row.shares.system),
        percent(row.shares.off_cpu),
        stolen,
    ]
}

/// Formats a value, faint if it is 0 or absent.
fn quiet_zero(value: f64, text: String) -> Line {
    if !value.is_finite() {
        return Line::new().faint(ABSENT);
    }
    Line::new().with(if value == 0.0 { Tone::Faint } else { Tone::Plain }, text)
}

/// Returns interrupts by source, most frequent first: a line for each row of cpus.
pub fn sources(rows: &[SurveyRow]) -> Vec<StoryPart> {
    if rows.iter().all(|row| row.sources.is_empty()) {
        return Vec::new();
    }
    let caption = Line::new().strong("Interrupts").plain("  ").faint("by source, per second; then soft interrupts");
    let mut lines = vec![caption.hanging(2)];
    let label = rows.iter().map(|row| cpu_label(&row.cpus).width()).max().unwrap_or(0);
    for row in rows {
        let name = cpu_label(&row.cpus);
        let padding = " ".repeat(label - name.width() + 2);
        let hard = listed(&row.sources, row.shares.interrupts, Tone::Plain);
        let soft = listed(&row.softirq_sources, row.shares.softirqs, Tone::Faint);
        let text = if soft.is_empty() { hard } else { hard.faint(" · soft ").then(soft) };
        lines.push(name.plain(padding).then(text).hanging(label + 2));
    }
    lines
}

/// Lists sources as "timer 250, virtio1-req.0 12", with the share of time if known. Sources below a hundredth of the
/// total appear only in `--json`.
fn listed(sources: &[(String, f64)], share: Option<f64>, tone: Tone) -> Line {
    let total: f64 = sources.iter().map(|(_, rate)| rate).sum();
    let shown = sources.iter().filter(|(_, rate)| *rate >= total / 100.0);
    let mut line = Line::new();
    for (place, (source, rate)) in shown.enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        line = line.with(tone, comma).with(tone, unbroken(&format!("{} {}", plain_name(source), brief(*rate))));
    }
    let time = share.filter(|_| total > 0.0).map(|share| format!(" ({} % of the time)", decimal(share * 100.0, 2)));
    line.with(tone, time.unwrap_or_default())
}
