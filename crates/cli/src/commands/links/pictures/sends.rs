//! The cost of a send between cpus through each measured channel and queue, and the effect of padded slots.

use corewise_machine::ring::Slots;
use corewise_model::links::conclude::Filled;
use corewise_model::links::map::LinkMap;
use corewise_model::links::{Pair, What};

use crate::draw::grid::{Column, Grid};
use crate::draw::number::{decimal, whole};
use crate::draw::story::StoryPart;
use crate::draw::text::Line;

/// Maximum number of pairs for which all are shown; otherwise only pairs of the first cpu.
const MOST_PAIRS: usize = 24;

/// Returns the table; empty if neither a channel nor a queue was measured.
pub fn sends(map: &LinkMap) -> Vec<StoryPart> {
    let is_send = |what: What| matches!(what, What::Channel { .. } | What::Queue { .. });
    let series: Vec<_> = map.series.iter().filter(|series| is_send(series.what)).collect();
    let Some(first) = series.first() else { return Vec::new() };
    let all = first.links.pairs.len();
    let lowest = map.cpus.lowest();
    let rows = || first.links.pairs.iter().filter(|pair| all <= MOST_PAIRS || Some(pair.a) == lowest);
    let filled: Vec<Filled> = series.iter().map(|series| Filled::of(series, map)).collect();
    let mut columns = vec![Column::number("from", "cpu", 0), Column::number("to", "cpu", 0)];
    for series in &series {
        columns.push(Column::number(title(series.what), "µs", 0).named(series.what.words()));
        columns.push(Column::number("", "MB/s", 1).named(format!("{} in MB/s", series.what.words())));
    }
    let slots = |slots| series.iter().position(|series| series.what == What::Queue { slots });
    let both = slots(Slots::Packed).zip(slots(Slots::Padded));
    columns.extend(both.map(|_| Column::number("padded", "of packed", 0)));
    let mut grid = Grid::new(columns);
    // A pair with a cost for each direction has two rows.
    let ways = |pair: &Pair| {
        let has_two = filled.iter().any(|filled| has_two_costs(filled, pair));
        let both = [(pair.a, pair.b), (pair.b, pair.a)];
        both.into_iter().take(1 + usize::from(has_two)).map(move |(from, to)| (from, to, has_two)).collect::<Vec<_>>()
    };
    for (from, to, is_way) in rows().flat_map(ways) {
        let costs: Vec<f64> = filled.iter().map(|filled| cost(filled, [from, to], is_way)).collect();
        let mut row = vec![Line::new().plain(from.to_string()), Line::new().plain(to.to_string())];
        for (series, &cost) in series.iter().zip(&costs) {
            let rate = series.what.megabytes_per_s(cost).filter(|rate| rate.is_finite());
            row.push(Line::new().plain(if cost.is_finite() { decimal(cost / 1e3, 3) } else { String::new() }));
            row.push(Line::new().faint(rate.map_or(String::new(), |rate| whole(rate.round() as u64))));
        }
        row.extend(both.map(|(packed, padded)| {
            let ratio = costs[padded] / costs[packed];
            Line::new().strong(if ratio.is_finite() { format!("{}x", decimal(ratio, 2)) } else { String::new() })
        }));
        grid.row(row);
    }
    let note = if all > MOST_PAIRS { "first cpu only; --format csv prints all" } else { "messages of 8 bytes" };
    vec![Line::new().strong("Sends").plain("  ").faint(note).hanging(2), grid.into()]
}

fn title(what: What) -> &'static str {
    match what {
        What::Channel { bound: Some(_) } => "bounded",
        What::Channel { bound: None } => "unbounded",
        What::Queue { slots: Slots::Packed } => "packed",
        _ => "padded",
    }
}

fn has_two_costs(filled: &Filled, pair: &Pair) -> bool {
    let places = filled.all.place(pair.a).zip(filled.all.place(pair.b));
    places.is_some_and(|(i, j)| filled.all.two_costs(i, j).is_some())
}

/// Returns the cost of the direction if `is_way`, otherwise of the pair.
fn cost(filled: &Filled, [from, to]: [u32; 2], is_way: bool) -> f64 {
    let places = filled.all.place(from).zip(filled.all.place(to));
    places.map_or(f64::NAN, |(i, j)| match filled.all.way(i, j) {
        way if is_way && way.is_finite() => way,
        _ => filled.all.cost(i, j),
    })
}
