//! The chart for a terminal: a bar for each number of threads, pinned and not; longer is better.

use corewise_model::trial::ThreadsReport;

use super::scaling::{Point, Scaling};
use super::table::times;
use crate::commands::r#try::screen::Shown;
use crate::draw::number::ABSENT;
use crate::draw::printable::named;
use crate::draw::story::StoryPart;
use crate::draw::text::{Line, Tone};
use crate::draw::wrap::{unbroken, wrap};

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
pub fn chart(shown: Shown<'_>, report: &ThreadsReport) -> Option<StoryPart> {
    let scaling = Scaling::of(shown, report)?;
    let title = title(shown, &scaling);
    Some(StoryPart::drawing(
        move |width, _| if width < NARROWEST { Vec::new() } else { drawn(&scaling, &title, width) },
    ))
}

fn drawn(scaling: &Scaling, title: &Line, width: usize) -> Vec<Line> {
    let labels = Labels::of(scaling);
    let bars = Bars { scaling, cells: width - labels.width(), highest: scaling.highest() };
    let mut lines = wrap(title, width, 2);
    let mut before = None;
    for point in &scaling.points {
        let is_first = before.replace(point.cell.threads) != Some(point.cell.threads);
        lines.push(labels.of_row(point, is_first).then(bars.row(point)));
    }
    lines.extend(wrap(&bars.legend(), width, 2));
    lines
}

fn title(shown: Shown<'_>, scaling: &Scaling) -> Line {
    let what = if shown.is_time() {
        "Speed-up".to_owned()
    } else {
        format!("Speed-up in {}", named(&shown.experiment.workload.metric.name))
    };
    Line::new().strong(what).plain("  ").faint(format!("{}; longer is better", scaling.against()))
}

/// The widths of the labels before the bars: number of threads, pinned or not, speed-up.
struct Labels {
    threads: usize,
    way: usize,
    speed_up: usize,
}

impl Labels {
    fn of(scaling: &Scaling) -> Self {
        let widest =
            |texts: &mut dyn Iterator<Item = String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
        let is_both = scaling.has(false) && scaling.has(true);
        Self {
            threads: widest(&mut scaling.counts().iter().map(u32::to_string)),
            way: if is_both {
                widest(&mut [false, true].into_iter().map(|pinned| way(pinned).to_owned())) + GAP
            } else {
                0
            },
            speed_up: widest(&mut scaling.points.iter().map(value)),
        }
    }

    fn width(&self) -> usize {
        self.threads + GAP + self.way + self.speed_up + GAP
    }

    fn of_row(&self, point: &Point, is_first: bool) -> Line {
        let threads = if is_first { point.cell.threads.to_string() } else { String::new() };
        let way = if self.way > 0 { way(point.cell.pinned) } else { "" };
        let tone = if point.has_failed { Tone::Warn } else { Tone::Plain };
        let (value, gap) = (value(point), " ".repeat(GAP));
        Line::new()
            .plain(format!("{threads:>width$}{gap}", width = self.threads))
            .faint(format!("{way:<width$}", width = self.way))
            .with(tone, format!("{value:>width$}", width = self.speed_up))
            .plain(gap)
    }
}

fn way(pinned: bool) -> &'static str {
    if pinned { "pinned" } else { "OS" }
}

fn value(point: &Point) -> String {
    match point.speed_up {
        Some(ratio) => times(ratio),
        None if point.has_failed => "failed".to_owned(),
        None => ABSENT.to_owned(),
    }
}

/// The bars, all on one scale that begins at 0.
struct Bars<'a> {
    scaling: &'a Scaling,
    cells: usize,
    /// The speed-up at the right edge.
    highest: f64,
}

impl Bars<'_> {
    fn row(&self, point: &Point) -> Line {
        let mut cells = self.bar(point);
        let threads = f64::from(point.cell.threads);
        let ideal = self.scaling.ideal(threads);
        match self.is_beyond(ideal) {
            true => cells[self.cells - 1] = (Tone::Faint, BEYOND),
            false => cells[self.mark(ideal)] = (Tone::Faint, IDEAL),
        }
        if self.scaling.is_of_law(point.cell)
            && let Some(law) = self.scaling.law(threads)
        {
            cells[self.mark(law)] = (Tone::Strong, LAW);
        }
        cells.into_iter().fold(Line::new(), |line, (tone, cell)| line.with(tone, cell.to_string()))
    }

    fn bar(&self, point: &Point) -> Vec<(Tone, char)> {
        let length = point.speed_up.map_or(0.0, |ratio| self.length(ratio));
        let eighths = (length * 8.0).round() as usize;
        let cell = |place: usize| match eighths.saturating_sub(8 * place) {
            0 => ' ',
            // Shades have no eighths; a short bar stays visible.
            some if point.cell.pinned && (some >= 4 || place == 0) => PINNED,
            _ if point.cell.pinned => ' ',
            some => EIGHTHS.get(some).copied().unwrap_or(FULL),
        };
        (0..self.cells).map(|place| (Tone::Plain, cell(place))).collect()
    }

    /// Returns the length in cells of a bar with this speed-up.
    fn length(&self, ratio: f64) -> f64 {
        ratio / self.highest * self.cells as f64
    }

    /// Returns the cell of a mark: the last one of a bar of this length.
    fn mark(&self, ratio: f64) -> usize {
        ((self.length(ratio) - 1e-9).ceil() as usize).clamp(1, self.cells) - 1
    }

    fn is_beyond(&self, ratio: f64) -> bool {
        ratio > self.highest * (1.0 + 1e-9)
    }

    fn legend(&self) -> Line {
        let named = |line: Line, mark: char, words: &str| {
            let gap = if line.is_empty() { "" } else { "   " };
            line.plain(gap).plain(mark.to_string()).faint(unbroken(&format!(" {words}")))
        };
        let mut line = Line::new();
        if self.scaling.has(false) && self.scaling.has(true) {
            line = named(named(line, FULL, way(false)), PINNED, way(true));
        }
        if self.scaling.law_range().is_some() {
            line = named(line, LAW, "Universal Scalability Law");
        }
        line = named(line, IDEAL, "ideal");
        let ideals = self.scaling.counts().into_iter().map(|threads| self.scaling.ideal(f64::from(threads)));
        if ideals.into_iter().any(|ideal| self.is_beyond(ideal)) {
            named(line, BEYOND, "ideal is off the scale")
        } else {
            line
        }
    }
}
