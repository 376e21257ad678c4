//! Plots with axes as SVG pictures: dots, lines and intervals in a few series, which differ in shape and colour.

use std::fmt::Write as _;

use super::number::{format_brief, format_decimal, format_whole};
use super::svg::{EDGE, FAINT, SOURCE, SUBTITLE, SvgTextBlock, TEXT, TITLE, escape_xml, write_document};

/// Width of the whole picture, in pixels.
const WIDTH: f64 = 860.0;
/// Font size of the text along the axes, in pixels; readable on a small screen, too.
const SIZE: usize = 14;
/// Approximate width of a letter, in pixels.
const LETTER: f64 = 8.0;
/// Height of a line of text, in pixels.
const LINE: f64 = 17.0;
/// Height of a row in pixels, if the vertical axis has names.
const ROW: f64 = 26.0;
/// Colour of grid lines.
const GRID: &str = "#d8d8d8";
/// Colours that readers with colour-blindness can distinguish (Okabe and Ito), dark enough for white paper and light
/// enough for black.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#b4649a", "#a87400", "#2f8fc9"];
/// Colour of all further series.
const OTHERS: &str = "#8a8a8a";

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal steps are equal differences.
    #[default]
    Linear,
    /// Equal steps are equal ratios; all values are above zero.
    Logarithmic,
}

/// Axis: its title with the unit, its scale and its marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotAxis {
    /// Quantity along the axis with its unit: "latency, ns".
    pub title: String,
    /// Scale of the values.
    pub scale: AxisScale,
    /// Marks with their own text instead of round numbers: names of rows, percentiles.
    pub names: Vec<(f64, String)>,
}

impl PlotAxis {
    /// Returns an axis of round numbers.
    pub fn new(title: impl Into<String>, scale: AxisScale) -> Self {
        Self { title: title.into(), scale, names: Vec::new() }
    }

    /// Replaces the numbers by names.
    #[must_use]
    pub fn with_names(self, names: Vec<(f64, String)>) -> Self {
        Self { names, ..self }
    }

    fn position_of(&self, value: f64) -> f64 {
        if self.scale == AxisScale::Logarithmic { value.max(f64::MIN_POSITIVE).ln() } else { value }
    }
}

/// Element of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum PlotMark {
    /// Value.
    Dot([f64; 2]),
    /// Value that is off the scale or that failed: a cross.
    Cross([f64; 2]),
    /// Values in order.
    Line(Vec<[f64; 2]>),
    /// Interval along one axis; open if an end is unknown.
    Interval {
        /// Axis: 0 from left to right, 1 from bottom to top.
        along: usize,
        /// Position along the other axis.
        at: f64,
        /// Ends.
        ends: [Option<f64>; 2],
    },
}

/// Marks with one meaning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotSeries {
    /// Name for the legend; empty if there is only one kind.
    pub name: String,
    pub marks: Vec<PlotMark>,
}

/// Plot with two axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigurePlot {
    /// Quantity that it shows.
    pub title: String,
    /// Subject.
    pub subtitle: String,
    /// Source of the values; may be empty.
    pub source: String,
    /// Horizontal axis.
    pub across: PlotAxis,
    /// Vertical axis.
    pub up: PlotAxis,
    /// Series, the first one at the bottom.
    pub series: Vec<PlotSeries>,
    /// Values along the horizontal axis with a vertical line each, and the meaning of each.
    pub across_rules: Vec<(f64, String)>,
    /// Values along the vertical axis with a horizontal line each, and the meaning of each.
    pub up_rules: Vec<(f64, String)>,
}

/// Position of the values in the picture, in pixels.
struct PlotFrame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// Least and greatest position along each axis.
    ends: [[f64; 2]; 2],
}

impl FigurePlot {
    /// Returns true if any value can be drawn.
    pub fn is_drawn(&self) -> bool {
        self.axis_ends().is_some()
    }

    /// Returns the picture; `None` if no value can be drawn.
    pub fn to_svg(&self) -> Option<String> {
        let ends = self.axis_ends()?;
        let text = (WIDTH as usize) - 2 * EDGE;
        let title = SvgTextBlock::new(EDGE, TITLE, &self.title, text);
        let subtitle = SvgTextBlock::new(title.bottom_edge(), SUBTITLE, &self.subtitle, text);
        let legend = self.draw_legend(subtitle.bottom_edge() as f64 + 8.0);
        let top = legend.1 + 14.0 + LINE * self.across_rules.len() as f64;
        let labels = self.marks_along(1, ends[1]).iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
        let is_of_rows = !self.up.names.is_empty();
        let left = EDGE as f64 + labels as f64 * LETTER + if is_of_rows { 12.0 } else { 34.0 };
        let height = if is_of_rows { self.up.names.len() as f64 * ROW } else { 300.0 };
        let frame = PlotFrame { left, top, width: WIDTH - left - EDGE as f64, height, ends };
        let mut body = title.draw_text() + &subtitle.draw_text() + &legend.0;
        self.draw_axes(&frame, &mut body);
        for (index, series) in self.series.iter().enumerate() {
            self.draw_series(&frame, index, series, &mut body);
        }
        let source = SvgTextBlock::new((top + height) as usize + 52, SOURCE, &self.source, text);
        body.push_str(&source.draw_text());
        Some(write_document(WIDTH as usize, source.bottom_edge() + EDGE / 2, &self.title, &body))
    }

    fn axis_at(&self, which: usize) -> &PlotAxis {
        [&self.across, &self.up][which]
    }

    /// Returns the ends of both axes as positions; all elements lie between them.
    fn axis_ends(&self) -> Option<[[f64; 2]; 2]> {
        let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        let mut take = |which: usize, value: f64| {
            if value.is_finite() {
                let position = self.axis_at(which).position_of(value);
                ends[which] = [ends[which][0].min(position), ends[which][1].max(position)];
            }
        };
        for mark in self.series.iter().flat_map(|series| &series.marks) {
            match mark {
                PlotMark::Dot(at) | PlotMark::Cross(at) => (0..2).for_each(|which| take(which, at[which])),
                PlotMark::Line(points) => points.iter().for_each(|at| (0..2).for_each(|which| take(which, at[which]))),
                PlotMark::Interval { along, at, ends } => {
                    take(1 - along, *at);
                    ends.iter().flatten().for_each(|end| take(*along, *end));
                }
            }
        }
        self.across_rules.iter().for_each(|(value, _)| take(0, *value));
        self.up_rules.iter().for_each(|(value, _)| take(1, *value));
        let is_drawn = ends.iter().all(|[low, high]| low.is_finite() && high.is_finite());
        for (which, [low, high]) in ends.iter_mut().enumerate() {
            match self.axis_at(which).names.as_slice() {
                // Rows: half a row around the first and the last.
                [_, ..] if which == 1 => (*low, *high) = (-0.5, self.up.names.len() as f64 - 0.5),
                _ if high > low => {
                    let room = 0.04 * (*high - *low);
                    (*low, *high) = (*low - room, *high + room);
                }
                _ => (*low, *high) = (*low - 0.5, *high + 0.5),
            }
        }
        is_drawn.then_some(ends)
    }

    /// Returns the marks along an axis: names, or round numbers between its ends.
    fn marks_along(&self, which: usize, [low, high]: [f64; 2]) -> Vec<(f64, String)> {
        let axis = self.axis_at(which);
        if !axis.names.is_empty() {
            return axis.names.clone();
        }
        let values = match axis.scale {
            AxisScale::Linear => round_steps(low, high),
            AxisScale::Logarithmic => round_ratios(low.exp(), high.exp()),
        };
        let step = values.windows(2).map(|two| two[1] - two[0]).fold(f64::INFINITY, f64::min);
        values.into_iter().map(|value| (value, format_number(value, step))).collect()
    }

    fn draw_axes(&self, frame: &PlotFrame, body: &mut String) {
        let PlotFrame { left, top, width, height, .. } = *frame;
        let (right, bottom) = (left + width, top + height);
        let _ = write!(body, "<g font-size=\"{SIZE}\" fill=\"{FAINT}\">");
        let mut room = f64::NEG_INFINITY;
        for (value, name) in self.marks_along(0, frame.ends[0]) {
            let x = frame.place_of(0, self.across.position_of(value));
            let half = name.chars().count() as f64 * LETTER / 2.0;
            if x < left - 1.0 || x > right + 1.0 || x - half < room {
                continue;
            }
            room = x + half + 6.0;
            let _ = write!(
                body,
                "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{GRID}\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                escape_xml(&name)
            );
        }
        for (value, name) in self.marks_along(1, frame.ends[1]) {
            let y = frame.place_of(1, self.up.position_of(value));
            if y < top - 1.0 || y > bottom + 1.0 {
                continue;
            }
            let _ = write!(
                body,
                "<path d=\"M{left:.1} {y:.1}H{right:.1}\" stroke=\"{GRID}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                y + 5.0,
                escape_xml(&name)
            );
        }
        let middle = left + width / 2.0;
        let _ = write!(
            body,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 40.0,
            escape_xml(&self.across.title)
        );
        if !self.up.title.is_empty() {
            let (x, y) = (EDGE as f64 + 4.0, top + height / 2.0);
            let title = escape_xml(&self.up.title);
            let _ = write!(
                body,
                "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\">{title}</text>"
            );
        }
        for (index, (value, meaning)) in self.across_rules.iter().enumerate() {
            let x = frame.place_of(0, self.across.position_of(*value));
            let _ = write!(
                body,
                "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{TEXT}\" stroke-dasharray=\"4 3\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                top - 4.0 - LINE * index as f64,
                escape_xml(meaning)
            );
        }
        for (value, meaning) in &self.up_rules {
            let y = frame.place_of(1, self.up.position_of(*value));
            let _ = write!(
                body,
                "<path d=\"M{left:.1} {y:.1}H{right:.1}\" stroke=\"{TEXT}\" stroke-dasharray=\"4 3\"/><text x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                y - 4.0,
                escape_xml(meaning)
            );
        }
        body.push_str("</g>\n");
    }

    fn draw_series(&self, frame: &PlotFrame, index: usize, series: &PlotSeries, body: &mut String) {
        let colour = series_colour(index);
        let at = |[across, up]: [f64; 2]| {
            [frame.place_of(0, self.across.position_of(across)), frame.place_of(1, self.up.position_of(up))]
        };
        let (mut filled, mut stroked) = (String::new(), String::new());
        for mark in &series.marks {
            match mark {
                PlotMark::Dot(value) => filled.push_str(&draw_shape(index, at(*value))),
                PlotMark::Cross(value) => {
                    let [x, y] = at(*value);
                    let _ = write!(stroked, "M{:.1} {:.1}l6 6m0-6l-6 6", x - 3.0, y - 3.0);
                }
                PlotMark::Line(points) => {
                    for (place, value) in points.iter().enumerate() {
                        let [x, y] = at(*value);
                        let _ = write!(stroked, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
                    }
                }
                PlotMark::Interval { along, at, ends } => {
                    stroked.push_str(&self.draw_interval(frame, *along, *at, *ends))
                }
            }
        }
        if !stroked.is_empty() {
            let _ = writeln!(body, "<path d=\"{stroked}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>");
        }
        if !filled.is_empty() {
            let _ = writeln!(body, "<path d=\"{filled}\" fill=\"{colour}\" fill-opacity=\"0.85\"/>");
        }
    }

    /// Draws an interval with its ends; an unknown end continues to the frame.
    fn draw_interval(&self, frame: &PlotFrame, along: usize, at: f64, ends: [Option<f64>; 2]) -> String {
        let place = |which: usize, value: f64| frame.place_of(which, self.axis_at(which).position_of(value));
        let at = place(1 - along, at);
        let edges = frame.ends[along].map(|position| frame.place_of(along, position));
        let known = ends.map(|end| end.map(|end| place(along, end)));
        let [low, high] = [0, 1].map(|end| known[end].unwrap_or(edges[end]));
        let mut path =
            if along == 0 { format!("M{low:.1} {at:.1}H{high:.1}") } else { format!("M{at:.1} {low:.1}V{high:.1}") };
        for end in known.into_iter().flatten() {
            let _ = match along {
                0 => write!(path, "M{end:.1} {:.1}v10", at - 5.0),
                _ => write!(path, "M{:.1} {end:.1}h10", at - 5.0),
            };
        }
        path
    }

    /// Draws the legend below `top`; also returns its bottom.
    fn draw_legend(&self, top: f64) -> (String, f64) {
        let named: Vec<(usize, &PlotSeries)> =
            self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()).collect();
        if named.len() < 2 {
            return (String::new(), top);
        }
        let (mut x, mut y) = (EDGE as f64, top + 8.0);
        let mut text = format!("<g font-size=\"{SIZE}\" fill=\"{TEXT}\">");
        for (index, series) in named {
            let width = series.name.chars().count() as f64 * LETTER + 30.0;
            if x + width > WIDTH - EDGE as f64 {
                (x, y) = (EDGE as f64, y + LINE);
            }
            let _ = write!(
                text,
                "<path d=\"{}\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                draw_shape(index, [x + 4.0, y - 4.0]),
                series_colour(index),
                x + 12.0,
                y,
                escape_xml(&series.name)
            );
            x += width;
        }
        (text + "</g>\n", y + 6.0)
    }
}

impl PlotFrame {
    /// Converts a position along an axis to pixels.
    fn place_of(&self, which: usize, position: f64) -> f64 {
        let [low, high] = self.ends[which];
        let share = (position - low) / (high - low);
        if which == 0 { self.left + share * self.width } else { self.top + (1.0 - share) * self.height }
    }
}

fn series_colour(index: usize) -> &'static str {
    COLOURS.get(index).copied().unwrap_or(OTHERS)
}

/// Draws a filled shape around a point; series differ in it without colour.
fn draw_shape(index: usize, [x, y]: [f64; 2]) -> String {
    match index % 6 {
        0 => format!("M{:.1} {y:.1}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0", x - 3.5),
        1 => format!("M{:.1} {:.1}h6v6h-6z", x - 3.0, y - 3.0),
        2 => format!("M{x:.1} {:.1}l4 7h-8z", y - 4.0),
        3 => format!("M{x:.1} {:.1}l4.2 4.2l-4.2 4.2l-4.2-4.2z", y - 4.2),
        4 => format!("M{x:.1} {:.1}l4-7h-8z", y + 4.0),
        _ => format!("M{:.1} {:.1}h8v4h-8z", x - 4.0, y - 2.0),
    }
}

/// Returns about five round numbers between two.
fn round_steps(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = (low / step).ceil();
    (0..=20).map(|place| (first + f64::from(place)) * step).take_while(|value| *value <= high).collect()
}

/// Returns round numbers with about equal ratios: powers of ten, with 2 and 5 if these are few. Within less than a
/// decade, they are linear steps.
fn round_ratios(low: f64, high: f64) -> Vec<f64> {
    if high / low < 5.0 {
        return round_steps(low, high);
    }
    let times: &[f64] = if high / low < 300.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| times.iter().map(move |times| times * 10_f64.powi(power)));
    all.filter(|value| (low..=high).contains(value)).collect()
}

/// Formats a number along an axis, with as many decimals as its neighbours need.
fn format_number(value: f64, step: f64) -> String {
    match () {
        () if value != 0.0 && value.abs() >= 1e9 => format!("{}G", format_brief(value / 1e9)),
        () if value.abs() >= 1e6 => format!("{}M", format_brief(value / 1e6)),
        () if value.fract().abs() < 1e-9 && value >= 0.0 => format_whole(value.round() as u64),
        () => {
            let decimals = if step > 0.0 && step.is_finite() { (-step.log10().floor()).clamp(0.0, 6.0) } else { 2.0 };
            let least = if value != 0.0 { (-value.abs().log10().floor()).clamp(0.0, 6.0) } else { 0.0 };
            format_decimal(value, decimals.max(least) as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_along_an_axis_are_round_and_few() {
        assert_eq!(round_steps(0.0, 97.0), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(round_ratios(90.0, 12_000.0), [100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4]);
        assert_eq!(round_ratios(1.0, 1e6), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        assert!(round_steps(1.0, 1.000_001).len() <= 21);
        assert_eq!(
            [format_number(0.25, 0.05), format_number(1200.0, 100.0), format_number(3e9, 1e9)],
            ["0.25", "1,200", "3.0G"]
        );
    }

    #[test]
    fn all_that_is_drawn_lies_in_the_frame() {
        let dots = [[1.0, 5.0], [2.0, 50_000.0], [3.0, 7.0]];
        let plot = FigurePlot {
            title: "Runs <&>".to_owned(),
            across: PlotAxis::new("time, s", AxisScale::Linear),
            up: PlotAxis::new("ms", AxisScale::Logarithmic),
            series: vec![PlotSeries { name: "a".into(), marks: dots.into_iter().map(PlotMark::Dot).collect() }],
            ..FigurePlot::default()
        };
        let svg = plot.to_svg().unwrap();
        let read = roxmltree::Document::parse(&svg).unwrap();
        let of = |name: &str| read.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
        let (width, height) = (of("width"), of("height"));
        let filled =
            read.descendants().filter_map(|node| node.attribute("d")).find(|path| path.contains("a3.5")).unwrap();
        for dot in filled.split('M').skip(1) {
            let at: Vec<f64> = dot.split(['a', ' ']).take(2).map(|number| number.parse().unwrap()).collect();
            assert!(at[0] > 0.0 && at[0] < width && at[1] > 0.0 && at[1] < height, "{dot}");
        }
        assert!(svg.contains("Runs &lt;&amp;&gt;"));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(FigurePlot::default().to_svg(), None);
        let nan = PlotSeries { name: String::new(), marks: vec![PlotMark::Dot([f64::NAN, 1.0])] };
        assert_eq!(FigurePlot { series: vec![nan], ..FigurePlot::default() }.to_svg(), None);
    }
}
