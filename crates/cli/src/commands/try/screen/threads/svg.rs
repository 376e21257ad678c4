//! The scaling of a program as a self-contained SVG picture: speed-ups against the number of threads.

mod axes;
mod legend;

use std::fmt::Write as _;

use corewise_model::trial::{Experiment, ThreadsReport};
use jiff::tz::TimeZone;

use super::format_threads;
use super::scaling::{ScalingPoint, ThreadScaling};
use super::table::format_times;
use crate::commands::r#try::screen::ShownExperiment;
use crate::commands::r#try::screen::standings::format_value;
use crate::draw::machine::model_name;
use crate::draw::number::{format_count, format_time_as};
use crate::draw::suggestion::quote_words;
use crate::draw::svg::{EDGE, SIZE, SOURCE, SUBTITLE, SvgTextBlock, TITLE, escape_xml, write_document};
use axes::ScalingAxes;

/// Size of the plot in pixels.
const WIDTH: usize = 680;
const HEIGHT: usize = 400;
/// Colours safe for colour-blind readers (Okabe and Ito, "Color Universal Design", 2008), and the greys of the ideal and the law.
const FREE: &str = "#0072b2";
const PINNED: &str = "#d55e00";
const IDEAL: &str = "#9a9a9a";
const LAW: &str = "#1a1a1a";
/// Dashes of the ideal and the law.
const IDEAL_DASHES: &str = "8 5";
const LAW_DASHES: &str = "2 4";
/// Maximum number of characters of a command in the title, on two or three lines.
const LONGEST_TITLE: usize = 160;
/// Number of straight pieces of a curve.
const PIECES: u32 = 96;

/// Returns the picture; `None` for a single number of threads, or without any value.
pub fn draw_svg(shown: ShownExperiment<'_>, report: &ThreadsReport) -> Option<String> {
    let scaling = ThreadScaling::from_report(shown, report)?;
    let plot = ScalingPlot { shown, axes: ScalingAxes::from_scaling(&scaling), scaling };
    let inner = plot.left_room() + WIDTH + plot.right_room();
    let title = SvgTextBlock::new(EDGE, TITLE, &format_command(&shown.experiment.workload.command), inner);
    let subtitle = SvgTextBlock::new(title.bottom_edge(), SUBTITLE, &describe_machine(shown, report), inner);
    let (legend, rows) = legend::draw_legend(&plot.scaling, inner);
    let legend_top = subtitle.bottom_edge() + SIZE;
    let (left, top) = (EDGE + plot.left_room(), legend_top + rows + 2 * SIZE);
    let source = SvgTextBlock::new(top + HEIGHT + plot.room_below(), SOURCE, &describe_source(shown), inner);
    let body = format!(
        "{title}{subtitle}<g transform=\"translate({EDGE} {legend_top})\" font-size=\"{SIZE}\">\n{legend}</g>\n\
         <g transform=\"translate({left} {top})\" font-size=\"{SIZE}\">\n{axes}{lines}{points}</g>\n{source}",
        title = title.draw_text(),
        subtitle = subtitle.draw_text(),
        axes = plot.draw_axes(),
        lines = plot.draw_lines(),
        points = plot.draw_points(),
        source = source.draw_text(),
    );
    let name = format!("{}: how it scales", format_command(&shown.experiment.workload.command));
    Some(write_document(inner + 2 * EDGE, source.bottom_edge() + EDGE, &name, &body))
}

/// Formats a command for a shell, cut off after the length of a title.
fn format_command(words: &[String]) -> String {
    let text = quote_words(words);
    match text.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn describe_machine(shown: ShownExperiment<'_>, report: &ThreadsReport) -> String {
    let standing = &report.standing;
    format!(
        "{} · {} · {}, {}",
        model_name(&shown.experiment.machine),
        format_count(standing.cpus as usize, "cpu"),
        format_count(standing.blocks as usize, "block"),
        format_count(standing.runs as usize, "run"),
    )
}

fn describe_source(shown: ShownExperiment<'_>) -> String {
    let stored = shown.stored.map_or_else(String::new, |number| format!(", experiment {number}"));
    let Experiment { corewise, seed, origin, started_unix_ms, .. } = shown.experiment;
    let day = format_time_as(*started_unix_ms, &TimeZone::UTC, "%Y-%m-%d");
    let origin = origin.describe_origin().map_or_else(String::new, |origin| format!(", {origin}"));
    format!("{day}, corewise {corewise}, seed {seed}{stored}{origin}")
}

fn point_colour(pinned: bool) -> &'static str {
    if pinned { PINNED } else { FREE }
}

fn way_name(pinned: bool) -> &'static str {
    if pinned { "pinned" } else { "OS default" }
}

/// Draws the mark of a point: a disc, or for pinned an open square around it, so that both are visible at equal values.
fn draw_mark(pinned: bool, x: f64, y: f64) -> String {
    let colour = point_colour(pinned);
    match pinned {
        true => {
            let (left, top) = (x - 5.5, y - 5.5);
            format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"11\" height=\"11\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            )
        }
        false => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"),
    }
}

fn draw_cross(pinned: bool, x: f64, y: f64) -> String {
    let (left, top, colour) = (x - 4.0, y - 4.0, point_colour(pinned));
    format!("<path d=\"M{left:.1} {top:.1}l8 8m0 -8l-8 8\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>")
}

/// Draws a stroke from the least to the greatest value, with ends as wide as its column's.
fn draw_whisker(pinned: bool, x: f64, low: f64, high: f64) -> String {
    let (half, colour) = (if pinned { 7.0 } else { 5.0 }, point_colour(pinned));
    let (left, width) = (x - half, 2.0 * half);
    format!(
        "<path d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h{width:.1}M{left:.1} {high:.1}h{width:.1}\" fill=\"none\" \
         stroke=\"{colour}\" stroke-opacity=\"0.7\"/>"
    )
}

fn draw_dashed(points: &str, colour: &str, dashes: &str) -> String {
    format!(
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"/>\n"
    )
}

/// The content of the picture and its scales.
struct ScalingPlot<'a> {
    shown: ShownExperiment<'a>,
    scaling: ThreadScaling,
    axes: ScalingAxes,
}

impl ScalingPlot<'_> {
    /// Draws the ideal, the law, and lines through the measurements.
    fn draw_lines(&self) -> String {
        let counts = self.scaling.thread_counts();
        let base = f64::from(self.scaling.base.threads);
        let most = f64::from(counts.last().copied().unwrap_or(1));
        let mut text =
            draw_dashed(&self.draw_curve((base, most), |n| Some(self.scaling.ideal_speed_up(n))), IDEAL, IDEAL_DASHES);
        for pinned in [true, false] {
            let points = self.scaling.points.iter().filter(|point| point.cell.pinned == pinned);
            let places = points.filter_map(|point| Some(self.place_point(point.cell.threads, point.speed_up?)));
            let joined: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            if joined.len() > 1 {
                let (points, colour) = (joined.join(" "), point_colour(pinned));
                let _ = writeln!(
                    text,
                    "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
                );
            }
        }
        if let Some((first, last)) = self.scaling.law_range() {
            let points = self.draw_curve((f64::from(first), f64::from(last)), |n| self.scaling.law_speed_up(n));
            text.push_str(&draw_dashed(&points, LAW, LAW_DASHES));
        }
        text
    }

    /// Draws a curve between two numbers of threads within the plot, with a corner at the number of cpus.
    fn draw_curve(&self, (first, last): (f64, f64), of: impl Fn(f64) -> Option<f64>) -> String {
        let (from, to) = (self.axes.x.pixel_of(first), self.axes.x.pixel_of(last));
        let even = (0..=PIECES).map(|piece| from + (to - from) * f64::from(piece) / f64::from(PIECES));
        let mut numbers: Vec<f64> = even.map(|place| self.axes.x.value_at(place)).collect();
        numbers.push(f64::from(self.scaling.cpus()).clamp(first, last));
        numbers.sort_by(f64::total_cmp);
        let inside = numbers.into_iter().filter_map(|n| Some((n, of(n)?)));
        let inside = inside.filter(|(_, ratio)| self.axes.y.is_within(*ratio));
        let points =
            inside.map(|(n, ratio)| format!("{:.1},{:.1}", self.axes.x.pixel_of(n), self.axes.y.pixel_of(ratio)));
        points.collect::<Vec<_>>().join(" ")
    }

    /// Draws marks with their whiskers; a tooltip shows the values.
    fn draw_points(&self) -> String {
        let mut text = String::new();
        for point in self.scaling.points.iter().rev() {
            let pinned = point.cell.pinned;
            let drawn = match point.speed_up {
                Some(ratio) => self.draw_measured(point, ratio),
                None if point.has_failed => {
                    let above = if pinned { 20.0 } else { 8.0 };
                    draw_cross(pinned, self.axes.x.pixel_of(f64::from(point.cell.threads)), HEIGHT as f64 - above)
                }
                None => continue,
            };
            let _ = writeln!(text, "<g>{drawn}<title>{}</title></g>", escape_xml(&self.describe_point(point)));
        }
        text
    }

    fn draw_measured(&self, point: &ScalingPoint, ratio: f64) -> String {
        let (x, y) = self.place_point(point.cell.threads, ratio);
        let end = |ratio: f64| self.axes.y.pixel_of(ratio);
        let whisker = point
            .spread
            .map_or_else(String::new, |(low, high)| draw_whisker(point.cell.pinned, x, end(low), end(high)));
        whisker + &draw_mark(point.cell.pinned, x, y)
    }

    /// Describes a point, such as "8 threads, pinned: 6.85x, 1.5 s; interquartile range of its runs 6.80x to 6.91x".
    fn describe_point(&self, point: &ScalingPoint) -> String {
        let name = format!("{}, {}", format_threads(point.cell.threads), way_name(point.cell.pinned));
        let Some(ratio) = point.speed_up else { return format!("{name}: failed") };
        let spread = point.spread.map_or_else(String::new, |(low, high)| {
            format!("; interquartile range of its runs {} to {}", format_times(low), format_times(high))
        });
        format!("{name}: {}, {}{spread}", format_times(ratio), self.format_value(ratio))
    }

    /// Formats the metric's value at a speed-up.
    fn format_value(&self, ratio: f64) -> String {
        format_value(self.shown, self.scaling.base_x - ratio.ln())
    }

    fn place_point(&self, threads: u32, ratio: f64) -> (f64, f64) {
        (self.axes.x.pixel_of(f64::from(threads)), self.axes.y.pixel_of(ratio))
    }
}
