//! Trends over the history: the current value of each number, a figure per quantity, and a table of all.

use std::collections::BTreeMap;

use corewise_machine::suggested_command;
use corewise_model::followed::Followed;
use jiff::tz::TimeZone;

use super::grid::{Column, Grid};
use super::number::{ABSENT, brief, count, moment, when};
use super::plot::{Axis, Mark, Plot, Scale, Series};
use super::printable::named;
use super::story::{Story, StoryFigure, StoryPart, StoryRole, paragraphs};
use super::text::Line;

/// Maximum number of lines that can be distinguished in one figure.
const MOST_LINES: usize = 6;
/// Maximum number of system changes that are marked in a figure, the latest ones.
const MOST_CHANGES: usize = 4;
/// Horizontal offset between values of one quantity, as a share of a step.
const APART: f64 = 0.06;

/// One result of a trend.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Number of the result in the history.
    pub number: i64,
    /// Start of the result, in milliseconds since 1970.
    pub started_unix_ms: i64,
    /// Scheduling environment, by name.
    pub environment: BTreeMap<String, String>,
    /// Values of the result.
    pub values: Vec<Followed>,
}

/// Owner of a value: the quantity, and the thing that has it.
type Whose<'a> = (&'a str, &'a str);

/// Composes the story of a trend; `None` if no number is in two results. `name` is the noun for one result.
pub fn story(name: &str, moments: &[Moment], zone: &TimeZone) -> Option<Story> {
    let (first, last) = (moments.first()?, moments.last()?);
    let lines = followed(moments);
    let mut quantities: Vec<&str> = lines.iter().map(|(quantity, _)| *quantity).collect();
    quantities.dedup();
    let [since, until] = [first, last].map(|moment| when(moment.started_unix_ms, zone));
    let head = format!("{} of this machine, from {since} to {until}", count(moments.len(), name));
    let now = lines.iter().filter_map(|whose| now(*whose, name, moments)).collect();
    let figures = quantities.iter().filter_map(|quantity| figure(quantity, &lines, name, moments, zone));
    let told = Story::new(suggested_command::report_on(last.number))
        .with(StoryRole::Head, vec![Line::new().plain(head).hanging(2)])
        .with(StoryRole::Answer, paragraphs(now, 2))
        .with(StoryRole::Evidence, figures.map(StoryPart::Figure).collect())
        .with(StoryRole::Evidence, vec![table(&lines, name, moments, zone).into()]);
    (!lines.is_empty()).then_some(told)
}

/// Returns the values that are in the last result and in an earlier one, by quantity.
fn followed(moments: &[Moment]) -> Vec<Whose<'_>> {
    let Some((last, before)) = moments.split_last() else { return Vec::new() };
    let is_known = |whose: &Whose<'_>| before.iter().any(|moment| value(moment, *whose).is_some());
    let mut lines: Vec<Whose<'_>> = Vec::new();
    for quantity in last.values.iter().map(|value| value.quantity.as_str()) {
        if lines.iter().all(|(known, _)| *known != quantity) {
            let of = last.values.iter().filter(|value| value.quantity == quantity);
            lines
                .extend(of.map(|value| (quantity, value.of.as_str())).filter(|whose| is_known(whose)).take(MOST_LINES));
        }
    }
    lines
}

fn value<'a>(moment: &'a Moment, (quantity, of): Whose<'_>) -> Option<&'a Followed> {
    moment.values.iter().find(|value| value.quantity == quantity && value.of == of && value.value.is_finite())
}

/// Describes the current value: "the worst cpu: 1,912 in survey 12, 1,800 to 2,100 in the 8 surveys before".
fn now(whose: Whose<'_>, name: &str, moments: &[Moment]) -> Option<Line> {
    let (last, before) = moments.split_last()?;
    let latest = value(last, whose)?;
    let earlier: Vec<f64> = before.iter().filter_map(|moment| Some(value(moment, whose)?.value)).collect();
    let ends = [f64::min, f64::max].map(|end| earlier.iter().copied().reduce(end));
    let [low, high] = ends.map(|end| brief(end.unwrap_or(f64::NAN)));
    let range = if low == high { low } else { format!("{low} to {high}") };
    let (quantity, of) = whose;
    let line = Line::new().plain(format!("{}, {}: ", named(quantity), named(of))).strong(brief(latest.value));
    let before = if earlier.len() == 1 {
        format!("the {name} before")
    } else {
        format!("the {} before", count(earlier.len(), name))
    };
    Some(line.plain(format!(" in {name} {}, {range} in {before}", last.number)))
}

fn figure(quantity: &str, lines: &[Whose<'_>], name: &str, moments: &[Moment], zone: &TimeZone) -> Option<StoryFigure> {
    let of: Vec<&str> = lines.iter().filter(|(own, _)| *own == quantity).map(|(_, of)| *of).collect();
    let middle = (of.len() as f64 - 1.0) / 2.0;
    let series = of.iter().enumerate().map(|(index, of)| {
        let known = moments.iter().enumerate().filter_map(|(step, moment)| {
            Some((step as f64 + APART * (index as f64 - middle), value(moment, (quantity, *of))?))
        });
        let known: Vec<(f64, &Followed)> = known.collect();
        let intervals =
            known.iter().filter_map(|(at, value)| Some(Mark::Interval { along: 1, at: *at, ends: value.interval? }));
        let dots = known.iter().map(|(at, value)| Mark::Dot([*at, value.value]));
        let line = Mark::Line(known.iter().map(|(at, value)| [*at, value.value]).collect());
        Series { name: named(of), marks: std::iter::once(line).chain(intervals).chain(dots).collect() }
    });
    // Results of one day differ in the time, others in the date.
    let days: Vec<String> = moments.iter().map(|one| moment(one.started_unix_ms, zone, "%Y-%m-%d")).collect();
    let is_one_day = days.iter().all(|day| *day == days[0]);
    let names = moments.iter().zip(days).enumerate().map(|(step, (one, day))| {
        (step as f64, if is_one_day { moment(one.started_unix_ms, zone, "%H:%M") } else { day })
    });
    let plot = Plot {
        title: format!("{} over time", named(quantity)),
        subtitle: format!("a step for each {name}, in the order in which they were made"),
        across: Axis::of(format!("when the {name} was made"), Scale::Linear).named(names.collect()),
        up: Axis::of(named(quantity), Scale::Linear),
        series: series.collect(),
        across_rules: changes(moments),
        ..Plot::default()
    };
    StoryFigure::from_plot(
        "values",
        plot,
        "The bar around a dot is the interval of the value, if it has one. Values with overlapping bars may differ by chance. \
         A dashed line marks a change of the system. All steps are equally wide, whatever the time between them.",
    )
}

/// Returns the system changes between results: the place on the axis, and a description.
fn changes(moments: &[Moment]) -> Vec<(f64, String)> {
    let mut changes: Vec<(f64, String)> = moments
        .windows(2)
        .enumerate()
        .filter_map(|(step, pair)| {
            let [before, after] = [&pair[0].environment, &pair[1].environment];
            let changed = after.iter().filter(|(what, is)| before.get(*what).is_some_and(|was| was != *is));
            let words: Vec<String> = changed.map(|(what, is)| format!("{what} {is}")).collect();
            (!words.is_empty()).then(|| (step as f64 + 0.5, named(&words.join(", "))))
        })
        .collect();
    changes.drain(..changes.len().saturating_sub(MOST_CHANGES));
    changes
}

/// Returns every drawn value with its interval.
fn table(lines: &[Whose<'_>], name: &str, moments: &[Moment], zone: &TimeZone) -> Grid {
    let mut columns = vec![Column::number(name, "", 0), Column::text("made", 0), Column::text("kernel", 0)];
    for (quantity, of) in lines {
        columns.push(Column::number(of, quantity.rsplit_once(", ").map_or("", |(_, unit)| unit), 0));
        columns.push(Column::text("interval", 0));
    }
    let mut grid = Grid::new(columns);
    for one in moments {
        let plain = |text: String| Line::new().plain(text);
        let kernel = one.environment.get("kernel").cloned().unwrap_or_default();
        let mut row = vec![plain(one.number.to_string()), plain(when(one.started_unix_ms, zone)), plain(kernel)];
        for whose in lines {
            let value = value(one, *whose);
            row.push(plain(value.map_or_else(|| ABSENT.to_owned(), |value| brief(value.value))));
            let ends = value
                .and_then(|value| value.interval)
                .map(|ends| ends.map(|end| end.map_or_else(|| "…".to_owned(), brief)));
            row.push(Line::new().faint(ends.map_or_else(String::new, |[low, high]| format!("[{low}, {high}]"))));
        }
        grid.row(row);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> Vec<Moment> {
        let of = |(index, value): (usize, &f64)| Moment {
            number: index as i64 + 1,
            started_unix_ms: index as i64 * 86_400_000,
            environment: BTreeMap::from([("kernel".to_owned(), format!("6.{}", index / 2))]),
            values: vec![Followed::new("latency, ns", "<cpu>", *value, Some((value - 1.0, value + 1.0)))],
        };
        values.iter().enumerate().map(of).collect()
    }

    #[test]
    fn a_number_is_drawn_and_listed_with_where_it_stands_now() {
        let story = story("survey", &moments(&[100.0, 90.0, 120.0]), &TimeZone::UTC).unwrap();
        assert_eq!(story.notes(), ["3 surveys of this machine, from 1970-01-01 00:00 to 1970-01-03 00:00"]);
        assert_eq!(story.sentences(), ["latency, ns, <cpu>: 120 in survey 3, 90 to 100 in the 2 surveys before"]);
        crate::draw::story::forms::check_forms(&story);
        let svg = story.figures().next().unwrap().svg();
        for words in ["latency, ns over time", "kernel 6.1", "1970-01-02"] {
            assert!(svg.contains(words), "{words} in {}", svg);
        }
        // Three intervals along the second axis, each with two ends.
        assert_eq!(svg.matches("h10").count(), 6);
    }

    #[test]
    fn one_result_has_no_course() {
        assert!(story("survey", &moments(&[100.0]), &TimeZone::UTC).is_none());
        let mut other = moments(&[1.0, 2.0]);
        other[0].values[0].quantity = "another".to_owned();
        assert!(story("survey", &other, &TimeZone::UTC).is_none(), "another quantity is not the same");
    }
}
