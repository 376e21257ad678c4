//! Percentiles of all cpus in one picture: the duration of pieces, by the share of pieces that took no longer.

use corewise_machine::CpuSet;
use corewise_statistics::histogram::TickHistogram;
use corewise_statistics::order;

use crate::draw::latency::cpu_label;
use crate::draw::number::{format_count, format_duration};
use crate::draw::text::{StyledLine, TextTone};
use crate::draw::wrap::{glue_words, wrap_line};

/// Rows of the picture, without its axis.
const ROWS: usize = 12;
/// Maximum number of lines. More curves become a band, with the worst as lines outside of it.
const MOST_LINES: usize = 6;
const WORST_LINES: usize = 3;
/// The quantile by which curves are ranked as worst.
const WORST_BY: f64 = 0.999;
const AXIS: [&str; 7] = ["50", "90", "99", "99.9", "99.99", "99.999", "99.9999"];
/// Cells left of the axis for durations: "999 µs" with a space on either side.
const MARGIN: usize = 8;
/// Minimum ratio of durations shown, so that noise does not look like a cliff.
const LEAST_RATIO: f64 = 4.0;
/// A curve ends in the first column after its end, within this distance.
const SLACK_DECADES: f64 = 0.05;
const BAND: char = '░';
const MIDDLE: char = '─';
const SEVERAL: char = '●';

/// Returns the picture with its legend; empty if nothing was recorded. `step_ns` is the step of the clock.
pub fn draw_percentiles(curves: &[(CpuSet, TickHistogram)], step_ns: f64, width: usize) -> Vec<StyledLine> {
    let curves = curves.iter();
    let curves = curves.filter_map(|(cpus, histogram)| PercentileCurve::from_histogram(cpus, histogram, step_ns));
    let mut curves: Vec<PercentileCurve> = curves.collect();
    if curves.is_empty() {
        return Vec::new();
    }
    let all: CpuSet = curves.iter().flat_map(|curve| curve.cpus.iter()).collect();
    let others = if curves.len() > MOST_LINES { take_worst(&mut curves) } else { Vec::new() };
    let axes = PercentileAxes::from_curves(curves.iter().chain(&others), width);
    let mut canvas = CharacterCanvas::new(axes.columns);
    canvas.draw_band(&axes, &others);
    // A curve that never leaves the band needs no line and counts among the others.
    let mut mark = b'a';
    curves.retain(|curve| {
        let seen = canvas.draw_curve(&axes, char::from(mark), curve);
        mark += u8::from(seen);
        seen
    });
    let text = "of the durations of all pieces; both scales logarithmic";
    let mut lines = wrap_line(&StyledLine::new().strong("Percentiles").plain("  ").faint(text), width, 2);
    lines.extend(canvas.draw_lines(&axes));
    lines.extend(axes.draw_foot());
    let lined: usize = curves.iter().map(|curve| curve.cpus.len()).sum();
    lines.extend(draw_legend(&curves, all.len() - lined, &canvas, width));
    lines
}

struct PercentileCurve<'a> {
    cpus: &'a CpuSet,
    histogram: &'a TickHistogram,
    /// The extent of the curve: the decimal logarithm of the number of pieces.
    decades: f64,
    step_ns: f64,
}

impl<'a> PercentileCurve<'a> {
    fn from_histogram(cpus: &'a CpuSet, histogram: &'a TickHistogram, step_ns: f64) -> Option<Self> {
        let pieces = histogram.count();
        (pieces > 1).then(|| Self { cpus, histogram, decades: (pieces as f64).log10(), step_ns })
    }

    /// Returns the duration in nanoseconds at a quantile of `1 - 10^-decades`; `None` beyond the last piece.
    ///
    /// A piece stands at the middle of its share of all (Hazen's plotting position), so that the longest ends the curve.
    fn duration_at(&self, decades: f64) -> Option<f64> {
        let quantile = 1.0 - 10_f64.powf(-decades) + 0.5 / self.histogram.count() as f64;
        let value = self.histogram.quantile_ns(quantile.min(1.0));
        (decades <= self.decades + SLACK_DECADES && value > 0.0).then_some(value)
    }

    fn worst_ns(&self) -> f64 {
        self.histogram.interpolate_ns(WORST_BY, self.step_ns)
    }
}

/// Leaves the worst curves, worst first, and returns the others.
fn take_worst<'a>(curves: &mut Vec<PercentileCurve<'a>>) -> Vec<PercentileCurve<'a>> {
    curves.sort_by(|a, b| b.worst_ns().total_cmp(&a.worst_ns()));
    curves.split_off(WORST_LINES)
}

struct PercentileAxes {
    columns: usize,
    /// The decades of the first and the last column.
    decades: (f64, f64),
    low_ns: f64,
    high_ns: f64,
}

impl PercentileAxes {
    fn from_curves<'a>(curves: impl Iterator<Item = &'a PercentileCurve<'a>> + Clone, width: usize) -> Self {
        let first = 2_f64.log10();
        let last = curves.clone().map(|curve| curve.decades).fold(1.0, f64::max).min((AXIS.len() - 1) as f64);
        let shown =
            |decades: f64| curves.clone().filter_map(move |curve| curve.duration_at(decades.min(curve.decades)));
        let low_ns = shown(first).fold(f64::INFINITY, f64::min);
        let high_ns = shown(last).fold(low_ns * LEAST_RATIO, f64::max);
        Self { columns: width.saturating_sub(MARGIN + 1).max(2), decades: (first, last), low_ns, high_ns }
    }

    fn decades_at(&self, column: usize) -> f64 {
        let (first, last) = self.decades;
        first + (last - first) * column as f64 / (self.columns - 1) as f64
    }

    /// Returns the column of a number of decades, or `None` outside of the picture.
    fn column_of(&self, decades: f64) -> Option<usize> {
        let (first, last) = self.decades;
        let place = (decades - first) / (last - first);
        (-1e-9..=1.0 + 1e-9).contains(&place).then(|| (place * (self.columns - 1) as f64).round() as usize)
    }

    /// Returns the row of a duration, 0 for the longest.
    fn row_of(&self, ns: f64) -> usize {
        let place = ((ns / self.low_ns).ln() / (self.high_ns / self.low_ns).ln()).clamp(0.0, 1.0);
        ROWS - 1 - (place * (ROWS - 1) as f64).round() as usize
    }

    /// Returns the labels of the rows: round durations, at the nearest rows.
    fn row_labels(&self) -> [String; ROWS] {
        let steps: &[f64] = if self.high_ns / self.low_ns < 30.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let mut labels = [const { String::new() }; ROWS];
        for power in -1..=12 {
            for ns in steps.iter().map(|step| step * 10_f64.powi(power)) {
                if (self.low_ns * 0.9..=self.high_ns * 1.1).contains(&ns) {
                    labels[self.row_of(ns)] = round_duration(ns);
                }
            }
        }
        if labels[ROWS - 1].is_empty() {
            labels[ROWS - 1] = format_duration(self.low_ns);
        }
        labels
    }

    /// Returns the axis with a tick at each percentile, and the labels that fit.
    fn draw_foot(&self) -> [StyledLine; 2] {
        let mut axis = vec!['─'; self.columns];
        let mut labels = String::new();
        for (decade, label) in AXIS.iter().enumerate() {
            let decades = if decade == 0 { self.decades.0 } else { decade as f64 };
            let Some(column) = self.column_of(decades) else { continue };
            axis[column] = '┬';
            let at = MARGIN + 1 + column;
            let last = MARGIN + 1 + self.columns;
            let start = (at - label.len() / 2).min(last.saturating_sub(label.len()));
            let taken = labels.chars().count();
            if start > taken {
                labels.push_str(&" ".repeat(start - taken));
                labels.push_str(label);
            }
        }
        let axis: String = axis.into_iter().collect();
        [StyledLine::new().faint(format!("{:>MARGIN$}└{axis}", "")), StyledLine::new().faint(labels)]
    }
}

/// Formats a round duration without decimals, such as "10 µs".
fn round_duration(ns: f64) -> String {
    format_duration(ns).replace(".0 ", " ")
}

struct CharacterCanvas {
    cells: Vec<Vec<Option<char>>>,
}

impl CharacterCanvas {
    fn new(columns: usize) -> Self {
        Self { cells: vec![vec![None; columns]; ROWS] }
    }

    /// Draws the range of all curves, and their median.
    fn draw_band(&mut self, axes: &PercentileAxes, curves: &[PercentileCurve<'_>]) {
        let values = |decades: f64| curves.iter().filter_map(|curve| curve.duration_at(decades)).collect::<Vec<f64>>();
        let mut before = ROWS;
        for column in 0..axes.columns {
            let values = values(axes.decades_at(column));
            let (low, high) = (order::quantile(&values, 0.0), order::quantile(&values, 1.0));
            if low.is_finite() {
                let (top, bottom) = (axes.row_of(high), axes.row_of(low));
                (top..=bottom.max(before - 1)).for_each(|row| self.cells[row][column] = Some(BAND));
                before = top.max(1);
            }
        }
        let middle = |decades: f64| Some(order::median(&values(decades))).filter(|ns| ns.is_finite());
        for column in 0..axes.columns {
            if let Some(ns) = middle(axes.decades_at(column)) {
                self.cells[axes.row_of(ns)][column] = Some(MIDDLE);
            }
        }
    }

    /// Draws a curve, with the rows between two columns filled. Cells shared with another curve get a common mark,
    /// and the band hides the curve. Returns true if any part is visible.
    fn draw_curve(&mut self, axes: &PercentileAxes, mark: char, curve: &PercentileCurve<'_>) -> bool {
        let (mut before, mut seen) = (None, false);
        for column in 0..axes.columns {
            let Some(row) = curve.duration_at(axes.decades_at(column)).map(|ns| axes.row_of(ns)) else { break };
            let from = before.map_or(row, |before: usize| if before > row { before - 1 } else { row });
            for cell in self.cells[row..=from.max(row)].iter_mut().map(|cells| &mut cells[column]) {
                if !matches!(*cell, Some(BAND | MIDDLE)) {
                    *cell = Some(if cell.is_none() { mark } else { SEVERAL });
                    seen = true;
                }
            }
            before = Some(row);
        }
        seen
    }

    fn draw_lines(&self, axes: &PercentileAxes) -> Vec<StyledLine> {
        let row = |(cells, label): (&Vec<Option<char>>, String)| {
            let mut line = StyledLine::new().faint(format!("{label:>width$} │", width = MARGIN - 1));
            for cell in cells {
                let mark = cell.unwrap_or(' ');
                line = line.with(mark_tone(mark), mark.to_string());
            }
            line
        };
        self.cells.iter().zip(axes.row_labels()).map(row).collect()
    }

    fn has_mark(&self, mark: char) -> bool {
        self.cells.iter().flatten().any(|cell| *cell == Some(mark))
    }
}

fn mark_tone(mark: char) -> TextTone {
    match mark {
        BAND => TextTone::Faint,
        MIDDLE | SEVERAL | ' ' => TextTone::Plain,
        _ => TextTone::Strong,
    }
}

/// Returns the legend: the mark of each cpu with the durations of its rare pieces, and the number of cpus in the band.
fn draw_legend(curves: &[PercentileCurve<'_>], band: usize, canvas: &CharacterCanvas, width: usize) -> Vec<StyledLine> {
    let mut line = StyledLine::new();
    for (mark, curve) in ('a'..='z').zip(curves) {
        let figures =
            format!(" p99.9 {}, max {}", format_duration(curve.worst_ns()), format_duration(curve.histogram.max_ns()));
        let cpu = format!(" cpu {}", cpu_label(curve.cpus).to_plain());
        line = line.strong(mark.to_string()).plain(glue_words(&cpu)).faint(glue_words(&figures)).plain("   ");
    }
    if canvas.has_mark(SEVERAL) {
        line = line.plain(SEVERAL.to_string()).faint(glue_words(" several of them")).plain("   ");
    }
    if band > 0 {
        let which = if curves.is_empty() { "" } else { "the other " };
        let text = format!(" {which}{}, {MIDDLE} their median", format_count(band, "cpu"));
        line = line.plain(BAND.to_string()).faint(glue_words(&text));
    }
    wrap_line(&line, width, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cpu on which most pieces take 250 ns, one in 2,000 meets a timer interrupt, and `bad` in a million take a
    /// millisecond.
    fn cpu(number: u32, bad: u64) -> (CpuSet, TickHistogram) {
        let mut histogram = TickHistogram::new(1.0);
        let pieces = 1_000_000_u64;
        for piece in 0..pieces {
            let varied = (piece * 7919 + u64::from(number) * 104_729) % 1000;
            histogram.record_ticks(match piece {
                _ if piece < bad => 700_000 + 300 * varied,
                _ if piece < bad + 500 => 3_000 + 9 * varied + 100 * u64::from(number % 7),
                _ if piece % 40 == 0 => 290 + varied / 10,
                _ => 250 + varied / 50,
            });
        }
        // As a survey has them.
        let mut collected = TickHistogram::new_collecting(1.0);
        collected.merge_from(&histogram);
        (CpuSet::from_cpu(number), collected)
    }

    fn drawn(cpus: &[(CpuSet, TickHistogram)], width: usize) -> String {
        let lines: Vec<String> = draw_percentiles(cpus, 1.0, width).iter().map(StyledLine::to_plain).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
        lines.join("\n")
    }

    #[test]
    fn two_cpus_are_two_lines() {
        insta::assert_snapshot!(drawn(&[cpu(0, 40), cpu(1, 2)], 80), @r"
        Percentiles  of the durations of all pieces; both scales logarithmic
           1 ms │                                                   aaaaaaaaaaaaaaa●●●●●
                │                                                   a              b
                │                                                   a              b
         100 µs │                                                   a              b
                │                                                   a              b
                │                                                   a              b
          10 µs │                                        a●●●●●●●●●●bbbbbbbbbbbbbbb
                │                                     a●●b
                │                                     ●
           1 µs │                                     ●
                │                             ●●●●●●●●
         260 ns │●●●●●●●●●●●●●●●●●●●●●●●●●●●●●
                └┬────────┬───────────┬───────────┬───────────┬────────────┬───────────┬
                50       90          99         99.9        99.99       99.999   99.9999
        a cpu 0 p99.9 386 ns, max 993 µs   b cpu 1 p99.9 386 ns, max 919 µs
          ● several of them
        ");
    }

    #[test]
    fn of_sixteen_cpus_the_bad_one_stands_apart() {
        let cpus: Vec<_> =
            (0..16).map(|number| cpu(number, if number == 3 { 2000 } else { u64::from(number % 3) })).collect();
        insta::assert_snapshot!(drawn(&cpus, 80), @r"
        Percentiles  of the durations of all pieces; both scales logarithmic
           1 ms │                              aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa░░───
                │                              a                                   ░░░░░
                │                              a                                   ░░░░░
         100 µs │                              a                                   ░░░░░
                │                              a                                   ░░░░░
                │                              a                                   ░░░░░
          10 µs │                             a           ───────────────────────────░░░
                │                             a       ░───
                │                             a       ─
           1 µs │                             a       ░
                │                         aa──────────
         260 ns │───────────────────────────░░
                └┬────────┬───────────┬───────────┬───────────┬────────────┬───────────┬
                50       90          99         99.9        99.99       99.999   99.9999
        a cpu 3 p99.9 850 µs, max 1,000 µs   ░ the other 15 cpus, ─ their median
        ");
    }

    #[test]
    fn five_hundred_and_twelve_cpus_are_a_band() {
        let few: Vec<_> = (0..24).map(|number| cpu(number, u64::from(number % 5) * 3)).collect();
        let mut cpus: Vec<_> =
            (0..512).map(|number| (CpuSet::from_cpu(number), few[number as usize % 24].1.clone())).collect();
        cpus[17] = cpu(17, 900);
        insta::assert_snapshot!(drawn(&cpus, 120), @r"
        Percentiles  of the durations of all pieces; both scales logarithmic
           1 ms │                                                     aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa░░░░░░────────────────
                │                                                     a                                   ░░░░░░░░░░░░░░░░░░░░░░
                │                                                     a                                   ░░░░░░░░░░░░░░░░░░░░░░
         100 µs │                                                     a                                   ░░░░░░░░░░░░░░░░░░░░░░
                │                                                     a                                   ░░░░░░░░░░░░░░░░░░░░░░
                │                                                     a                                   ░░░░░░░░░░░░░░░░░░░░░░
          10 µs │                                                   aa          ░───────────────────────────────░░░░░░░░░░░░░░░░
                │                                                  a       ░─────
                │                                                  a       ─
           1 µs │                                                  a       ░
                │                                        aa────────────────
         260 ns │──────────────────────────────────────────░░░
                └┬────────────┬───────────────────┬──────────────────┬──────────────────┬───────────────────┬──────────────────┬
                50           90                  99                99.9               99.99              99.999          99.9999
        a cpu 17 p99.9 10 µs, max 1,000 µs   ░ the other 511 cpus, ─ their median
        ");
    }

    /// Cpus that are alike need no line of their own.
    #[test]
    fn like_cpus_are_a_band_alone() {
        let one = cpu(0, 3).1;
        let cpus: Vec<_> = (0..8).map(|number| (CpuSet::from_cpu(number), one.clone())).collect();
        let drawn = drawn(&cpus, 60);
        assert!(drawn.ends_with("\n░ 8 cpus, ─ their median"), "{drawn}");
    }

    #[test]
    fn one_cpu_with_few_pieces_ends_where_they_do() {
        let mut histogram = TickHistogram::new(1.0);
        (0..2000).for_each(|piece| histogram.record_ticks(if piece == 7 { 21_000 } else { 250 + piece % 30 }));
        insta::assert_snapshot!(drawn(&[(CpuSet::from_cpu(5), histogram)], 80), @r"
        Percentiles  of the durations of all pieces; both scales logarithmic
                │                                                                  aaaaa
                │                                                                  a
          10 µs │                                                                  a
                │                                                                  a
                │                                                                  a
                │                                                                  a
                │                                                                  a
                │                                                                  a
           1 µs │                                                                  a
                │                                                                  a
                │                                                                  a
         264 ns │aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                └┬───────────────┬───────────────────────┬──────────────────────┬───────
                50              90                      99                    99.9
        a cpu 5 p99.9 279 ns, max 21 µs
        ");
    }

    #[test]
    fn forty_columns_are_enough() {
        let group = (CpuSet::parse_list("1-7,9-15,17-23").unwrap(), cpu(1, 2).1);
        insta::assert_snapshot!(drawn(&[cpu(0, 40), group], 40), @r"
        Percentiles  of the durations of all
          pieces; both scales logarithmic
           1 ms │                      aaaaaa●●●
                │                      a     b
                │                      a     b
         100 µs │                      a     b
                │                      a     b
                │                      a     b
          10 µs │                  ●●●●bbbbbb
                │                ●●
                │                ●
           1 µs │                ●
                │             ●●●
         260 ns │●●●●●●●●●●●●●
                └┬───┬────┬────┬────┬─────┬────┬
                50  90   99  99.9 99.99  99.9999
        a cpu 0 p99.9 386 ns, max 993 µs
          b cpu 1-7,9-15,17-23 p99.9 386 ns, max
          919 µs   ● several of them
        ");
    }

    #[test]
    fn equal_durations_are_a_level_line_and_nothing_is_nothing() {
        let mut even = TickHistogram::new(1.0);
        (0..1000).for_each(|_| even.record_ticks(250));
        let lines = drawn(&[(CpuSet::from_cpu(0), even)], 40);
        assert_eq!(lines.lines().filter(|line| line.contains('a') && line.contains('│')).count(), 1, "{lines}");
        assert!(drawn(&[(CpuSet::from_cpu(0), TickHistogram::new(1.0))], 40).is_empty());
        assert!(drawn(&[], 40).is_empty());
    }
}
