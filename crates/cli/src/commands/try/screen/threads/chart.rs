//! The chart for a terminal: a bar for each number of threads, pinned and not; longer is better.

use corewise_model::trial::ThreadsReport;

use super::scaling::{ScalingPoint, ThreadScaling};
use super::table::format_times;
use crate::commands::r#try::screen::ShownExperiment;
use crate::draw::number::ABSENT;
use crate::draw::printable::printable_name;
use crate::draw::story::StoryPart;
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::{glue_words, page_width, wrap_line};

/// Minimum width at which the chart is drawn.
const NARROWEST: usize = 40;
/// Spaces between labels.
const GAP: usize = 2;
/// Cells of a bar in eighths, the emptiest first. Pinned bars differ without colour too.
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const FULL: char = '█';
const PINNED: char = '▒';
const LAW: char = '◆';
const IDEAL: char = '│';
/// Marks an ideal beyond the edge of the chart.
const BEYOND: char = '›';

/// Returns the chart with its title and legend; `None` for a single number of threads, empty if the width is too small.
pub fn compose_chart(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Option<StoryPart> {
    let scaling = ThreadScaling::from_report(shown, report)?;
    let title = draw_title(shown, &scaling);
    Some(StoryPart::from_drawing(move |width, _| {
        if width < NARROWEST { Vec::new() } else { draw_chart(&scaling, &title, page_width(width)) }
    }))
}

fn draw_chart(scaling: &ThreadScaling, title: &StyledLine, width: usize) -> Vec<StyledLine> {
    let labels = ChartLabels::from_scaling(scaling);
    let bars = ChartBars { scaling, cells: width - labels.total_width(), highest: scaling.highest_speed_up() };
    let mut lines = wrap_line(title, width, 2);
    let mut before = None;
    for point in &scaling.points {
        let is_first = before.replace(point.cell.threads) != Some(point.cell.threads);
        lines.push(labels.draw_labels(point, is_first).then(bars.draw_row(point)));
    }
    lines.extend(wrap_line(&bars.draw_legend(), width, 2));
    lines
}

fn draw_title(shown: ShownExperiment<'_>, scaling: &ThreadScaling) -> StyledLine {
    let what = if shown.is_time() {
        "Speed-up".to_owned()
    } else {
        format!("Speed-up in {}", printable_name(&shown.experiment.workload.metric.name))
    };
    StyledLine::new().strong(what).plain("  ").faint(format!("{}; longer is better", scaling.describe_base()))
}

/// The widths of the labels before the bars: number of threads, pinned or not, speed-up.
struct ChartLabels {
    threads: usize,
    way: usize,
    speed_up: usize,
}

impl ChartLabels {
    fn from_scaling(scaling: &ThreadScaling) -> Self {
        let widest =
            |texts: &mut dyn Iterator<Item = String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
        let is_both = scaling.has_column(false) && scaling.has_column(true);
        Self {
            threads: widest(&mut scaling.thread_counts().iter().map(u32::to_string)),
            way: if is_both {
                widest(&mut [false, true].into_iter().map(|pinned| way_word(pinned).to_owned())) + GAP
            } else {
                0
            },
            speed_up: widest(&mut scaling.points.iter().map(format_value)),
        }
    }

    fn total_width(&self) -> usize {
        self.threads + GAP + self.way + self.speed_up + GAP
    }

    fn draw_labels(&self, point: &ScalingPoint, is_first: bool) -> StyledLine {
        let threads = if is_first { point.cell.threads.to_string() } else { String::new() };
        let way = if self.way > 0 { way_word(point.cell.pinned) } else { "" };
        let tone = if point.has_failed { TextTone::Warn } else { TextTone::Plain };
        let (value, gap) = (format_value(point), " ".repeat(GAP));
        StyledLine::new()
            .plain(format!("{threads:>width$}{gap}", width = self.threads))
            .faint(format!("{way:<width$}", width = self.way))
            .with(tone, format!("{value:>width$}", width = self.speed_up))
            .plain(gap)
    }
}

fn way_word(pinned: bool) -> &'static str {
    if pinned { "pinned" } else { "OS" }
}

fn format_value(point: &ScalingPoint) -> String {
    match point.speed_up {
        Some(ratio) => format_times(ratio),
        None if point.has_failed => "failed".to_owned(),
        None => ABSENT.to_owned(),
    }
}

/// The bars, all on one scale that begins at 0.
struct ChartBars<'a> {
    scaling: &'a ThreadScaling,
    cells: usize,
    /// The speed-up at the right edge.
    highest: f64,
}

impl ChartBars<'_> {
    fn draw_row(&self, point: &ScalingPoint) -> StyledLine {
        let mut cells = self.draw_bar(point);
        let threads = f64::from(point.cell.threads);
        let ideal = self.scaling.ideal_speed_up(threads);
        match self.is_beyond(ideal) {
            true => cells[self.cells - 1] = (TextTone::Faint, BEYOND),
            false => cells[self.mark_cell(ideal)] = (TextTone::Faint, IDEAL),
        }
        if self.scaling.is_of_law(point.cell)
            && let Some(law) = self.scaling.law_speed_up(threads)
        {
            cells[self.mark_cell(law)] = (TextTone::Strong, LAW);
        }
        cells.into_iter().fold(StyledLine::new(), |line, (tone, cell)| line.with(tone, cell.to_string()))
    }

    fn draw_bar(&self, point: &ScalingPoint) -> Vec<(TextTone, char)> {
        let length = point.speed_up.map_or(0.0, |ratio| self.bar_length(ratio));
        let eighths = (length * 8.0).round() as usize;
        let cell = |place: usize| match eighths.saturating_sub(8 * place) {
            0 => ' ',
            // Shades have no eighths; a short bar stays visible.
            some if point.cell.pinned && (some >= 4 || place == 0) => PINNED,
            _ if point.cell.pinned => ' ',
            some => EIGHTHS.get(some).copied().unwrap_or(FULL),
        };
        (0..self.cells).map(|place| (TextTone::Plain, cell(place))).collect()
    }

    /// Returns the length in cells of a bar with this speed-up.
    fn bar_length(&self, ratio: f64) -> f64 {
        ratio / self.highest * self.cells as f64
    }

    /// Returns the cell of a mark: the last one of a bar of this length.
    fn mark_cell(&self, ratio: f64) -> usize {
        ((self.bar_length(ratio) - 1e-9).ceil() as usize).clamp(1, self.cells) - 1
    }

    fn is_beyond(&self, ratio: f64) -> bool {
        ratio > self.highest * (1.0 + 1e-9)
    }

    fn draw_legend(&self) -> StyledLine {
        let named = |line: StyledLine, mark: char, words: &str| {
            let gap = if line.is_empty() { "" } else { "   " };
            line.plain(gap).plain(mark.to_string()).faint(glue_words(&format!(" {words}")))
        };
        let mut line = StyledLine::new();
        if self.scaling.has_column(false) && self.scaling.has_column(true) {
            line = named(named(line, FULL, way_word(false)), PINNED, way_word(true));
        }
        if self.scaling.law_range().is_some() {
            line = named(line, LAW, "Universal Scalability Law");
        }
        line = named(line, IDEAL, "ideal");
        let ideals =
            self.scaling.thread_counts().into_iter().map(|threads| self.scaling.ideal_speed_up(f64::from(threads)));
        if ideals.into_iter().any(|ideal| self.is_beyond(ideal)) {
            named(line, BEYOND, "ideal is off the scale")
        } else {
            line
        }
    }
}
