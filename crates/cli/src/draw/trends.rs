//! Trends over the history: the current value of each number, a figure per quantity, and a table of all.

use std::collections::BTreeMap;

use corewise_machine::suggested_command;
use corewise_model::trend::TrendValue;
use jiff::tz::TimeZone;

use super::grid::{GridColumn, TextGrid};
use super::number::{ABSENT, format_brief, format_count, format_time, format_time_as};
use super::plot::{AxisScale, FigurePlot, PlotAxis, PlotMark, PlotSeries};
use super::printable::printable_name;
use super::story::{Story, StoryFigure, StoryPart, StoryRole, compose_paragraphs};
use super::text::StyledLine;

/// Maximum number of lines that can be distinguished in one figure.
const MOST_LINES: usize = 6;
/// Maximum number of system changes that are marked in a figure, the latest ones.
const MOST_CHANGES: usize = 4;
/// Horizontal offset between values of one quantity, as a share of a step.
const APART: f64 = 0.06;

/// One result of a trend.
#[derive(Clone, Debug)]
pub struct ResultMoment {
    /// Number of the result in the history.
    pub number: i64,
    /// Start of the result, in milliseconds since 1970.
    pub started_unix_ms: i64,
    /// Scheduling environment, by name.
    pub environment: BTreeMap<String, String>,
    /// Values of the result.
    pub values: Vec<TrendValue>,
}

impl ResultMoment {
    /// Returns true if both have a value of the same quantity.
    pub fn shares_quantity(&self, other: &Self) -> bool {
        self.values.iter().any(|value| other.values.iter().any(|one| one.quantity == value.quantity))
    }
}

/// Owner of a value: the quantity, and the thing that has it.
type FollowedLine<'a> = (&'a str, &'a str);

/// Composes the story of a trend; `None` if no number is in two results. `name` is the noun for one result.
pub fn compose_story(name: &str, moments: &[ResultMoment], zone: &TimeZone) -> Option<Story> {
    let (first, last) = (moments.first()?, moments.last()?);
    let lines = followed_lines(moments);
    let mut quantities: Vec<&str> = lines.iter().map(|(quantity, _)| *quantity).collect();
    quantities.dedup();
    let [since, until] = [first, last].map(|moment| format_time(moment.started_unix_ms, zone));
    let head = format!("{} of this machine, from {since} to {until}", format_count(moments.len(), name));
    let now = lines.iter().filter_map(|whose| draw_now(*whose, name, moments)).collect();
    let figures = quantities.iter().filter_map(|quantity| line_figure(quantity, &lines, name, moments, zone));
    let told = Story::new(suggested_command::report_on(last.number))
        .with(StoryRole::Head, vec![StyledLine::new().plain(head).into_paragraph(2)])
        .with(StoryRole::Answer, compose_paragraphs(now, 2))
        .with(StoryRole::Evidence, figures.map(StoryPart::Figure).collect())
        .with(StoryRole::Evidence, vec![draw_table(&lines, name, moments, zone).into()]);
    (!lines.is_empty()).then_some(told)
}

/// Returns the values that are in the last result and in an earlier one, by quantity.
fn followed_lines(moments: &[ResultMoment]) -> Vec<FollowedLine<'_>> {
    let Some((last, before)) = moments.split_last() else { return Vec::new() };
    let is_known = |whose: &FollowedLine<'_>| before.iter().any(|moment| find_value(moment, *whose).is_some());
    let mut lines: Vec<FollowedLine<'_>> = Vec::new();
    for quantity in last.values.iter().map(|value| value.quantity.as_str()) {
        if lines.iter().all(|(known, _)| *known != quantity) {
            let of = last.values.iter().filter(|value| value.quantity == quantity);
            lines
                .extend(of.map(|value| (quantity, value.of.as_str())).filter(|whose| is_known(whose)).take(MOST_LINES));
        }
    }
    lines
}

fn find_value<'a>(moment: &'a ResultMoment, (quantity, of): FollowedLine<'_>) -> Option<&'a TrendValue> {
    moment.values.iter().find(|value| value.quantity == quantity && value.of == of && value.value.is_finite())
}

/// Describes the current value: "the worst cpu: 1,912 in survey 12, 1,800 to 2,100 in the 8 surveys before".
fn draw_now(whose: FollowedLine<'_>, name: &str, moments: &[ResultMoment]) -> Option<StyledLine> {
    let (last, before) = moments.split_last()?;
    let latest = find_value(last, whose)?;
    let earlier: Vec<&TrendValue> = before.iter().filter_map(|moment| find_value(moment, whose)).collect();
    let ends = [f64::min, f64::max].map(|end| earlier.iter().map(|value| value.value).reduce(end));
    let [low, high] = ends.map(|end| format_brief(end.unwrap_or(f64::NAN)));
    let range = if low == high { low } else { format!("{low} to {high}") };
    let (quantity, of) = whose;
    let line = StyledLine::new()
        .plain(format!("{}, {}: ", printable_name(quantity), printable_name(of)))
        .strong(format_brief(latest.value));
    let before = if earlier.len() == 1 {
        format!("the {name} before")
    } else {
        format!("the {} before", format_count(earlier.len(), name))
    };
    let proven = if is_apart(latest, &earlier) { "" } else { "; no change is proven" };
    Some(line.plain(format!(" in {name} {}, {range} in {before}{proven}", last.number)))
}

/// Returns true if the value's interval is on one side of all earlier intervals.
fn is_apart(latest: &TrendValue, earlier: &[&TrendValue]) -> bool {
    let ends = |value: &TrendValue| {
        value.interval.map(|ends| (ends[0].unwrap_or(f64::NEG_INFINITY), ends[1].unwrap_or(f64::INFINITY)))
    };
    let Some((low, high)) = ends(latest) else { return false };
    let is_on = |side: &dyn Fn((f64, f64)) -> bool| earlier.iter().all(|value| ends(value).is_some_and(side));
    is_on(&|earlier| earlier.1 < low) || is_on(&|earlier| earlier.0 > high)
}

fn line_figure(
    quantity: &str,
    lines: &[FollowedLine<'_>],
    name: &str,
    moments: &[ResultMoment],
    zone: &TimeZone,
) -> Option<StoryFigure> {
    let of: Vec<&str> = lines.iter().filter(|(own, _)| *own == quantity).map(|(_, of)| *of).collect();
    let middle = (of.len() as f64 - 1.0) / 2.0;
    let series = of.iter().enumerate().map(|(index, of)| {
        let known = moments.iter().enumerate().filter_map(|(step, moment)| {
            Some((step as f64 + APART * (index as f64 - middle), find_value(moment, (quantity, *of))?))
        });
        let known: Vec<(f64, &TrendValue)> = known.collect();
        let intervals = known
            .iter()
            .filter_map(|(at, value)| Some(PlotMark::Interval { along: 1, at: *at, ends: value.interval? }));
        let dots = known.iter().map(|(at, value)| PlotMark::Dot([*at, value.value]));
        let line = PlotMark::Line(known.iter().map(|(at, value)| [*at, value.value]).collect());
        PlotSeries { name: printable_name(of), marks: std::iter::once(line).chain(intervals).chain(dots).collect() }
    });
    // Results of one day differ in the time, others in the date.
    let days: Vec<String> = moments.iter().map(|one| format_time_as(one.started_unix_ms, zone, "%Y-%m-%d")).collect();
    let is_one_day = days.iter().all(|day| *day == days[0]);
    let names = moments.iter().zip(days).enumerate().map(|(step, (one, day))| {
        (step as f64, if is_one_day { format_time_as(one.started_unix_ms, zone, "%H:%M") } else { day })
    });
    let plot = FigurePlot {
        title: format!("{} over time", printable_name(quantity)),
        subtitle: format!("a step for each {name}, in the order in which they were made"),
        across: PlotAxis::new(format!("when the {name} was made"), AxisScale::Linear).with_names(names.collect()),
        up: PlotAxis::new(printable_name(quantity), AxisScale::Linear),
        series: series.collect(),
        across_rules: system_changes(moments),
        ..FigurePlot::default()
    };
    StoryFigure::from_plot(
        "values",
        plot,
        "The bar around a dot is the 95 % interval of the value, if it has one; that of a survey includes the drift between \
         surveys. Values with overlapping bars may differ by chance. A dashed line marks a change of the system. All steps are equally wide, whatever the time between them.",
    )
}

/// Returns the system changes between results: the place on the axis, and a description.
fn system_changes(moments: &[ResultMoment]) -> Vec<(f64, String)> {
    let mut changes: Vec<(f64, String)> = moments
        .windows(2)
        .enumerate()
        .filter_map(|(step, pair)| {
            let [before, after] = [&pair[0].environment, &pair[1].environment];
            let changed = after.iter().filter(|(what, is)| before.get(*what).is_some_and(|was| was != *is));
            let words: Vec<String> = changed.map(|(what, is)| format!("{what} {is}")).collect();
            (!words.is_empty()).then(|| (step as f64 + 0.5, printable_name(&words.join(", "))))
        })
        .collect();
    changes.drain(..changes.len().saturating_sub(MOST_CHANGES));
    changes
}

/// Returns every drawn value with its interval.
fn draw_table(lines: &[FollowedLine<'_>], name: &str, moments: &[ResultMoment], zone: &TimeZone) -> TextGrid {
    let mut columns = vec![GridColumn::number(name, "", 0), GridColumn::text("made", 0), GridColumn::text("kernel", 0)];
    for (quantity, of) in lines {
        columns.push(GridColumn::number(of, quantity.rsplit_once(", ").map_or("", |(_, unit)| unit), 0));
        columns.push(GridColumn::text("interval", 0));
    }
    let mut grid = TextGrid::new(columns);
    for one in moments {
        let plain = |text: String| StyledLine::new().plain(text);
        let kernel = one.environment.get("kernel").cloned().unwrap_or_default();
        let mut row = vec![plain(one.number.to_string()), plain(format_time(one.started_unix_ms, zone)), plain(kernel)];
        for whose in lines {
            let value = find_value(one, *whose);
            row.push(plain(value.map_or_else(|| ABSENT.to_owned(), |value| format_brief(value.value))));
            let ends = value
                .and_then(|value| value.interval)
                .map(|ends| ends.map(|end| end.map_or_else(|| "…".to_owned(), format_brief)));
            row.push(StyledLine::new().faint(ends.map_or_else(String::new, |[low, high]| format!("[{low}, {high}]"))));
        }
        grid.add_row(row);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> Vec<ResultMoment> {
        let of = |(index, value): (usize, &f64)| ResultMoment {
            number: index as i64 + 1,
            started_unix_ms: index as i64 * 86_400_000,
            environment: BTreeMap::from([("kernel".to_owned(), format!("6.{}", index / 2))]),
            values: vec![TrendValue::new("latency, ns", "<cpu>", *value, Some((value - 1.0, value + 1.0)))],
        };
        values.iter().enumerate().map(of).collect()
    }

    #[test]
    fn a_number_is_drawn_and_listed_with_where_it_stands_now() {
        let story = compose_story("survey", &moments(&[100.0, 90.0, 120.0]), &TimeZone::UTC).unwrap();
        assert_eq!(story.note_sentences(), ["3 surveys of this machine, from 1970-01-01 00:00 to 1970-01-03 00:00"]);
        assert_eq!(
            story.answer_sentences(),
            ["latency, ns, <cpu>: 120 in survey 3, 90 to 100 in the 2 surveys before"]
        );
        crate::draw::story::forms::check_forms(&story);
        let svg = story.list_figures().next().unwrap().to_svg();
        for words in ["latency, ns over time", "kernel 6.1", "1970-01-02"] {
            assert!(svg.contains(words), "{words} in {}", svg);
        }
        // Three intervals along the second axis, each with two ends.
        assert_eq!(svg.matches("h10").count(), 6);
    }

    #[test]
    fn a_value_within_an_earlier_interval_proves_no_change() {
        let answer = |values: &[f64]| {
            compose_story("survey", &moments(values), &TimeZone::UTC).unwrap().answer_sentences()[0].clone()
        };
        assert!(answer(&[100.0, 104.0, 101.0]).ends_with("in the 2 surveys before; no change is proven"));
        assert!(answer(&[100.0, 104.0, 102.0]).ends_with("no change is proven"), "between both is no change either");
        assert!(answer(&[100.0, 104.0, 107.0]).ends_with("in the 2 surveys before"));
    }

    #[test]
    fn one_result_has_no_course() {
        assert!(compose_story("survey", &moments(&[100.0]), &TimeZone::UTC).is_none());
        let mut other = moments(&[1.0, 2.0]);
        other[0].values[0].quantity = "another".to_owned();
        assert!(compose_story("survey", &other, &TimeZone::UTC).is_none(), "another quantity is not the same");
    }
}
