//! Activity: other events on each cpu while it was measured.

use crate::draw::survey_row::SurveyRow;
use corewise_machine::interrupt::plain_name;

use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::latency::{cell_tone, cpu_label};
use crate::draw::number::{ABSENT, format_brief, format_decimal};
use crate::draw::story::StoryPart;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::glue_words;

/// Returns the activity table: clock rate, interrupts, switches, and shares of time.
pub fn compose_activity(rows: &[SurveyRow]) -> Vec<StoryPart> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("cpu", 0),
        GridColumn::number("clock", "GHz", 1),
        GridColumn::number("±", "GHz", 9).with_name("± of clock"),
        GridColumn::number("irq", "/s", 2),
        GridColumn::number("softirq", "/s", 4),
        GridColumn::number("yields", "/s", 7),
        GridColumn::number("preempted", "/s", 5),
        GridColumn::number("user", "%", 6),
        GridColumn::number("system", "%", 5),
        GridColumn::number("off-cpu", "%", 3),
        GridColumn::number("stolen", "%", 3),
    ]);
    for row in rows {
        grid.add_row(draw_cells(row));
    }
    vec![compose_caption(rows), grid.into()]
}

fn compose_caption(rows: &[SurveyRow]) -> StoryPart {
    let estimated = rows.iter().any(|row| matches!(row.frequency, Some((_, true))));
    let remark = if estimated { "; ~ is estimated from a chain of additions, not counted" } else { "" };
    let text = format!("of each cpu while it was measured{remark}");
    StyledLine::new().strong("Activity").plain("  ").faint(text).into_paragraph(2)
}

fn draw_cells(row: &SurveyRow) -> Vec<StyledLine> {
    let plain = |text: String| StyledLine::new().plain(text);
    let rate = |value: f64| draw_quiet_zero(value, format_brief(value));
    let percent = |value: f64| draw_quiet_zero(value, format_decimal(value * 100.0, 1));
    let clock = row.frequency.map_or_else(String::new, |(gigahertz, estimated)| {
        let mark = if estimated { "~" } else { "" };
        format!("{mark}{}", format_decimal(gigahertz, 2))
    });
    let stolen = row.shares.stolen.map_or_else(StyledLine::new, |share| match cell_tone(row, "share of time stolen") {
        TextTone::Plain => percent(share),
        marked => StyledLine::new().with(marked, format_decimal(share * 100.0, 1)),
    });
    vec![
        cpu_label(&row.cpus),
        StyledLine::new().with(cell_tone(row, "frequency"), clock),
        StyledLine::new().faint(row.frequency_spread.map(|spread| format_decimal(spread, 2)).unwrap_or_default()),
        StyledLine::new().with(cell_tone(row, "interrupt rate"), format_brief(row.interrupt_rate)),
        plain(format_brief(row.softirq_rate)),
        rate(row.switch_rates.0),
        rate(row.switch_rates.1),
        percent(row.shares.user),
        percent(row.shares.system),
        percent(row.shares.off_cpu),
        stolen,
    ]
}

/// Formats a value, faint if it is 0 or absent.
fn draw_quiet_zero(value: f64, text: String) -> StyledLine {
    if !value.is_finite() {
        return StyledLine::new().faint(ABSENT);
    }
    StyledLine::new().with(if value == 0.0 { TextTone::Faint } else { TextTone::Plain }, text)
}

/// Returns interrupts by source, most frequent first: a line for each row of cpus.
pub fn compose_sources(rows: &[SurveyRow]) -> Vec<StoryPart> {
    if rows.iter().all(|row| row.sources.is_empty()) {
        return Vec::new();
    }
    let caption =
        StyledLine::new().strong("Interrupts").plain("  ").faint("by source, per second; then soft interrupts");
    let mut lines = vec![caption.into_paragraph(2)];
    let label = rows.iter().map(|row| cpu_label(&row.cpus).width()).max().unwrap_or(0);
    for row in rows {
        let name = cpu_label(&row.cpus);
        let padding = " ".repeat(label - name.width() + 2);
        let hard = draw_sources(&row.sources, row.shares.interrupts, TextTone::Plain);
        let soft = draw_sources(&row.softirq_sources, row.shares.softirqs, TextTone::Faint);
        let text = if soft.is_empty() { hard } else { hard.faint(" · soft ").then(soft) };
        lines.push(name.plain(padding).then(text).into_paragraph(label + 2));
    }
    lines
}

/// Lists sources as "timer 250, virtio1-req.0 12", with the share of time if known. Sources below a hundredth of the
/// total appear only in `--json`.
fn draw_sources(sources: &[(String, f64)], share: Option<f64>, tone: TextTone) -> StyledLine {
    let total: f64 = sources.iter().map(|(_, rate)| rate).sum();
    let shown = sources.iter().filter(|(_, rate)| *rate >= total / 100.0);
    let mut line = StyledLine::new();
    for (place, (source, rate)) in shown.enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        line =
            line.with(tone, comma).with(tone, glue_words(&format!("{} {}", plain_name(source), format_brief(*rate))));
    }
    let time =
        share.filter(|_| total > 0.0).map(|share| format!(" ({} % of the time)", format_decimal(share * 100.0, 2)));
    line.with(tone, time.unwrap_or_default())
}
