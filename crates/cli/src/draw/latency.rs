//! Latency: time of the fixed piece of work on each cpu, and the shape of its tail.

mod figure;

use crate::draw::survey_row::SurveyRow;
use corewise_machine::CpuSet;
use corewise_model::Survey;

use super::grid::{GridColumn, TextGrid};
use super::number::{ABSENT, format_brief, format_decimal, format_duration, format_whole};
use super::story::StoryPart;
use super::text::{StyledLine, TextTone};

pub use figure::compose_figures;

/// Character cells of a tail's picture.
const SPARK_CELLS: usize = 9;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the latency table with its caption.
pub fn compose_latency(survey: &Survey, rows: &[SurveyRow]) -> Vec<StoryPart> {
    if rows.is_empty() {
        return Vec::new();
    }
    let scale = TailScale::from_survey(survey, rows);
    let mut grid = TextGrid::new(vec![
        GridColumn::text("cpu", 0),
        GridColumn::number("mean", "ns", 5),
        GridColumn::number("p50", "ns", 1),
        GridColumn::number("±", "ns", 7).with_name("± of p50"),
        GridColumn::number("p90", "ns", 6),
        GridColumn::number("p99", "ns", 3),
        GridColumn::number("p99.9", "ns", 1),
        GridColumn::number("±", "ns", 8).with_name("± of p99.9"),
        GridColumn::number("p99.99", "ns", 5),
        GridColumn::number("max", "µs", 2),
        GridColumn::number("lost", "%", 5),
        GridColumn::text("tail", 4),
    ]);
    for row in rows {
        grid.add_row(draw_cells(row, &scale));
    }
    vec![compose_caption(survey, rows, &scale), grid.into()]
}

fn draw_cells(row: &SurveyRow, scale: &TailScale) -> Vec<StyledLine> {
    let tail = &row.tail;
    let ns = |value: f64| StyledLine::new().plain(brief_ns(value));
    let spread = |value: Option<f64>| StyledLine::new().faint(value.map(brief_ns).unwrap_or_default());
    let marked = |quantity: &str, value: f64| StyledLine::new().with(cell_tone(row, quantity), brief_ns(value));
    let microseconds = tail.max_ns / 1e3;
    let max = if microseconds < 100.0 { format_decimal(microseconds, 1) } else { format_decimal(microseconds, 0) };
    vec![
        cpu_label(&row.cpus),
        ns(tail.mean_ns),
        marked("p50", tail.p50_ns),
        spread(row.p50_spread_ns),
        ns(tail.p90_ns),
        ns(tail.p99_ns),
        marked("p99.9", tail.p99_9_ns),
        spread(row.p99_9_spread_ns),
        ns(tail.p99_99_ns),
        StyledLine::new().plain(max),
        StyledLine::new().with(cell_tone(row, "time lost to stalls"), format_decimal(tail.lost * 100.0, 2)),
        StyledLine::new().faint(scale.draw_spark(&row.counts)),
    ]
}

/// Returns the tone of a cell: by the finding about this quantity, plain without one.
pub fn cell_tone(row: &SurveyRow, quantity: &str) -> TextTone {
    match row.marks.iter().find(|(own, _)| own == quantity) {
        Some((_, true)) => TextTone::Good,
        Some((_, false)) => TextTone::Warn,
        None => TextTone::Plain,
    }
}

/// Returns the label of a row: its cpus, or the first range and the count if the list is long.
pub fn cpu_label(cpus: &CpuSet) -> StyledLine {
    let list = cpus.to_string();
    if list.chars().count() <= 15 {
        return StyledLine::new().strong(list);
    }
    let ranges: Vec<&str> = list.split(',').collect();
    StyledLine::new().strong(ranges[0]).plain(format!(",… ({} cpus)", cpus.len()))
}

fn brief_ns(value: f64) -> String {
    if value.is_finite() { format_brief(value) } else { ABSENT.into() }
}

fn compose_caption(survey: &Survey, rows: &[SurveyRow], scale: &TailScale) -> StoryPart {
    let fewest = survey.cpus.iter().map(|cpu| cpu.tail.count()).min().unwrap_or(0);
    let timing = format_brief(survey.work.overhead_ns);
    let text = format!(
        "of a fixed piece of work, timed {} times per cpu; timing adds {timing} ns to each",
        format_whole(fewest)
    );
    let mut line = StyledLine::new().strong("Latency").plain("  ").faint(text);
    if rows.iter().any(|row| row.cpus.len() > 1) {
        line = line.faint("; rows of several cpus: median; p99.99 and max of the worst");
    }
    if scale.is_usable() {
        let ends = format!("; tail from {} to {}", format_duration(scale.low_ns), format_duration(scale.high_ns));
        line = line.faint(ends);
    }
    line.into_paragraph(2)
}

/// Common scale of all tails, so that they can be compared by eye.
struct TailScale {
    low_ns: f64,
    high_ns: f64,
    nanoseconds_per_tick: f64,
}

impl TailScale {
    fn from_survey(survey: &Survey, rows: &[SurveyRow]) -> Self {
        let nanoseconds_per_tick = survey.clock.nanoseconds_per_tick;
        let ticks = || rows.iter().flat_map(|row| row.counts.iter().map(|(ticks, _)| *ticks));
        let at = |ticks: Option<u64>| ticks.unwrap_or(0) as f64 * nanoseconds_per_tick;
        Self { low_ns: at(ticks().min()), high_ns: at(ticks().max()), nanoseconds_per_tick }
    }

    fn is_usable(&self) -> bool {
        self.low_ns > 0.0 && self.high_ns > self.low_ns
    }

    /// Draws the shape of a tail: durations along, counts up, both logarithmic; a single piece still shows.
    fn draw_spark(&self, counts: &[(u64, u64)]) -> String {
        if !self.is_usable() {
            return String::new();
        }
        let mut cells = [0_u64; SPARK_CELLS];
        for &(ticks, count) in counts {
            let place =
                (ticks as f64 * self.nanoseconds_per_tick / self.low_ns).ln() / (self.high_ns / self.low_ns).ln();
            cells[((place * SPARK_CELLS as f64) as usize).min(SPARK_CELLS - 1)] += count;
        }
        let total: u64 = cells.iter().sum();
        let bars = cells.iter().map(|&count| match count {
            0 => ' ',
            _ if total <= 1 => BARS[7],
            _ => BARS[((count as f64).ln() / (total as f64).ln() * 7.0).round() as usize],
        });
        bars.collect::<String>().trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_long_piece_among_a_million_shows() {
        let scale = TailScale { low_ns: 250.0, high_ns: 25_000.0, nanoseconds_per_tick: 0.5 };
        assert_eq!(scale.draw_spark(&[(500, 1_000_000), (50_000, 1)]), "█       ▁");
        assert_eq!(scale.draw_spark(&[(500, 1_000_000), (5000, 1000)]), "█   ▄");
        assert_eq!(scale.draw_spark(&[]), "");
    }

    #[test]
    fn long_rows_of_cpus_say_how_many() {
        let label = |list: &str| cpu_label(&CpuSet::parse_list(list).unwrap()).to_plain();
        assert_eq!(label("1-7,16-23"), "1-7,16-23");
        assert_eq!(label("1-7,9-15,17-23,25-31"), "1-7,… (28 cpus)");
    }
}
