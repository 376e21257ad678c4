//! The axes: numbers of threads below, speed-ups on the left, the metric's values at the same heights on the right.

use std::fmt::Write as _;

use super::{HEIGHT, ScalingPlot, ThreadScaling, WIDTH};
use crate::draw::number::{format_count, format_decimal};
use crate::draw::printable::{printable_name, text_width};
use crate::draw::svg::{FAINT, SIZE, TEXT, escape_xml};

/// Ratio of the most to the fewest threads from which the axis of threads is logarithmic.
const WIDE: f64 = 33.0;
/// Highest speed-up from which the other axis is then logarithmic too, which makes the ideal a straight line.
const HIGH: f64 = 4.0;
/// Assumed width of a character, and distance between an axis and its labels, in pixels.
const CHARACTER: usize = 7;
const AWAY: usize = 8;
/// Approximate number of horizontal lines.
const LINES: f64 = 6.0;
/// Limits of lines and decimals, in case the scale has no height.
const MOST_LINES: u32 = 40;
const MOST_DECIMALS: f64 = 6.0;
const LINE: &str = "#e6e6e6";

/// The scales of both directions.
pub struct ScalingAxes {
    pub x: PixelScale,
    pub y: PixelScale,
}

/// Converts between values and pixels.
#[derive(Clone, Copy)]
pub struct PixelScale {
    low: f64,
    high: f64,
    is_log: bool,
    /// The pixels of the lowest and of the highest value.
    ends: [f64; 2],
}

impl PixelScale {
    /// Returns the pixel of a value.
    pub fn pixel_of(&self, value: f64) -> f64 {
        let [from, to] = self.ends;
        from + (to - from) * (self.scale_value(value) - self.scale_value(self.low))
            / (self.scale_value(self.high) - self.scale_value(self.low))
    }

    /// Returns the value of a pixel.
    pub fn value_at(&self, place: f64) -> f64 {
        let [from, to] = self.ends;
        let (low, high) = (self.scale_value(self.low), self.scale_value(self.high));
        let turned = low + (high - low) * (place - from) / (to - from);
        if self.is_log { turned.exp() } else { turned }
    }

    /// Returns true if a value is on the scale.
    pub fn is_within(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn scale_value(&self, value: f64) -> f64 {
        if self.is_log { value.ln() } else { value }
    }

    /// Returns round speed-ups and their labels: even steps, or doublings.
    fn round_marks(&self) -> Vec<(f64, String)> {
        if self.is_log {
            let doublings = (-20..=20).map(|power| 2_f64.powi(power));
            return doublings
                .filter(|value| self.is_within(*value))
                .map(|value| (value, format!("{value}x")))
                .collect();
        }
        let step = round_step((self.high - self.low) / LINES);
        let decimals = (-step.log10()).ceil().clamp(0.0, MOST_DECIMALS) as usize;
        let steps = (0..=MOST_LINES).map(|index| f64::from(index) * step).take_while(|value| *value <= self.high);
        steps.map(|value| (value, format!("{}x", format_decimal(value, decimals)))).collect()
    }
}

/// Returns the smallest of 1, 2, 5, 10, … that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

impl ScalingAxes {
    pub fn from_scaling(scaling: &ThreadScaling) -> Self {
        let counts = scaling.thread_counts();
        let [fewest, most] = [counts.first(), counts.last()].map(|count| f64::from(*count.unwrap_or(&1)));
        let spreads =
            || scaling.points.iter().filter_map(|point| point.spread.or(Some((point.speed_up?, point.speed_up?))));
        let lowest = spreads().map(|(low, _)| low).fold(1.0, f64::min);
        let highest = spreads().map(|(_, high)| high).fold(scaling.highest_speed_up(), f64::max);
        let x_ends = [0.0, WIDTH as f64];
        let y_ends = [HEIGHT as f64, 0.0];
        let is_log = most / fewest >= WIDE;
        let x = match is_log {
            true => PixelScale { low: fewest / 1.3, high: most * 1.3, is_log, ends: x_ends },
            false => PixelScale { low: 0.0, high: most * 1.04, is_log, ends: x_ends },
        };
        let y = match is_log && highest >= HIGH {
            true => PixelScale { low: lowest / 1.4, high: highest * 1.4, is_log: true, ends: y_ends },
            false => PixelScale { low: 0.0, high: highest * 1.06, is_log: false, ends: y_ends },
        };
        Self { x, y }
    }
}

impl ScalingPlot<'_> {
    /// Returns the room left of the plot, in pixels.
    pub fn left_room(&self) -> usize {
        longest_width(self.axes.y.round_marks().iter().map(|(_, words)| words.as_str())) * CHARACTER + 2 * AWAY + SIZE
    }

    /// Returns the room right of the plot.
    pub fn right_room(&self) -> usize {
        let values: Vec<String> = self.axes.y.round_marks().iter().map(|(ratio, _)| self.value_at(*ratio)).collect();
        longest_width(values.iter().map(String::as_str)) * CHARACTER + 2 * AWAY + SIZE
    }

    /// Returns the room below the plot.
    pub fn room_below(&self) -> usize {
        2 * AWAY + 3 * SIZE
    }

    /// Formats the metric's value at a speed-up; empty for a time at speed-up 0.
    fn value_at(&self, ratio: f64) -> String {
        let is_rate = self.shown.experiment.workload.metric.higher_is_better;
        if ratio > 0.0 || is_rate { self.format_value(ratio) } else { String::new() }
    }

    /// Draws everything but the lines and points.
    pub fn draw_axes(&self) -> String {
        format!("{}{}{}{}", self.draw_across(), self.draw_beside(), self.draw_numbers(), self.most_cpus())
    }

    fn draw_across(&self) -> String {
        let mut lines = String::new();
        for (ratio, _) in self.axes.y.round_marks() {
            let _ = write!(lines, "M0 {:.1}h{WIDTH}", self.axes.y.pixel_of(ratio));
        }
        format!(
            "<path d=\"{lines}\" stroke=\"{LINE}\" shape-rendering=\"crispEdges\"/>\n\
             <path d=\"M0 0V{HEIGHT}H{WIDTH}V0\" fill=\"none\" stroke=\"{FAINT}\" shape-rendering=\"crispEdges\"/>\n"
        )
    }

    fn draw_beside(&self) -> String {
        let right = WIDTH + AWAY;
        let mut text = format!("<g fill=\"{TEXT}\">\n");
        for (ratio, words) in self.axes.y.round_marks() {
            let (y, value) = (self.axes.y.pixel_of(ratio) + SIZE as f64 * 0.35, escape_xml(&self.value_at(ratio)));
            let _ = writeln!(text, "<text x=\"-{AWAY}\" y=\"{y:.1}\" text-anchor=\"end\">{words}</text>");
            let _ = writeln!(text, "<text x=\"{right}\" y=\"{y:.1}\">{value}</text>");
        }
        let (middle, out) = (HEIGHT / 2, self.left_room() - SIZE);
        let far = WIDTH + self.right_room();
        let log = if self.axes.y.is_log { ", logarithmic" } else { "" };
        let against = escape_xml(&format!("speed-up {}{log}", self.scaling.describe_base()));
        let name = escape_xml(&printable_name(&self.shown.experiment.workload.metric.name));
        let _ = writeln!(
            text,
            "</g>\n<g fill=\"{FAINT}\" text-anchor=\"middle\">\
             <text transform=\"translate(-{out} {middle}) rotate(-90)\">{against}</text>\
             <text transform=\"translate({far} {middle}) rotate(-90)\">{name}</text></g>"
        );
        text
    }

    /// Draws the tried numbers of threads, as many as fit; the most and the fewest have priority.
    fn draw_numbers(&self) -> String {
        let counts = self.scaling.thread_counts();
        let (tick, line, title) = (HEIGHT, HEIGHT + AWAY + SIZE, HEIGHT + 2 * AWAY + 2 * SIZE);
        let mut text = format!("<g fill=\"{TEXT}\" text-anchor=\"middle\">\n");
        for count in &counts {
            let x = self.axes.x.pixel_of(f64::from(*count));
            let _ = write!(text, "<path d=\"M{x:.1} {tick}v4\" stroke=\"{FAINT}\"/>");
        }
        text.push('\n');
        for (count, x) in self.labelled_counts(&counts) {
            let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{line}\">{count}</text>");
        }
        let (middle, log) = (WIDTH / 2, if self.axes.x.is_log { ", logarithmic" } else { "" });
        let _ = writeln!(text, "<text x=\"{middle}\" y=\"{title}\" fill=\"{FAINT}\">threads{log}</text>\n</g>");
        text
    }

    fn labelled_counts(&self, counts: &[u32]) -> Vec<(u32, f64)> {
        let mut chosen: Vec<(u32, f64)> = Vec::new();
        let others = counts.iter().rev().skip(1);
        for &count in counts.last().into_iter().chain(counts.first()).chain(others) {
            let (x, width) = (self.axes.x.pixel_of(f64::from(count)), (count.to_string().len() + 1) * CHARACTER);
            if chosen.iter().all(|(_, other)| (other - x).abs() >= width as f64) {
                chosen.push((count, x));
            }
        }
        chosen.sort_unstable_by_key(|(count, _)| *count);
        chosen
    }

    /// Marks the number of cpus, if more threads were tried.
    fn most_cpus(&self) -> String {
        let cpus = self.scaling.cpus();
        let is_inside = self.scaling.thread_counts().last().is_some_and(|most| *most > cpus);
        let x = self.axes.x.pixel_of(f64::from(cpus));
        if !is_inside || !(0.0..=WIDTH as f64).contains(&x) {
            return String::new();
        }
        let words = format_count(cpus as usize, "cpu");
        format!(
            "<path d=\"M{x:.1} 0V{HEIGHT}\" stroke=\"{LINE}\" stroke-width=\"2\"/>\
             <text x=\"{x:.1}\" y=\"-5\" text-anchor=\"middle\" fill=\"{FAINT}\">{words}</text>\n"
        )
    }
}

fn longest_width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(text_width).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_of_any_height_has_few_marks() {
        for [low, high] in [[0.0, 3.5], [1.0, 1.0], [0.0, 0.0], [0.0, 1e300], [0.0, 1e-300], [f64::NAN, f64::INFINITY]]
        {
            let marks = PixelScale { low, high, is_log: false, ends: [0.0, 1.0] }.round_marks();
            assert!(marks.len() <= MOST_LINES as usize + 1, "{low} {high}");
        }
    }
}
