//! The cost of a send between cpus through each measured channel and queue, and the effect of padded slots.

use corewise_machine::ring::RingSlots;
use corewise_model::links::conclude::FilledSeries;
use corewise_model::links::map::LinkMap;
use corewise_model::links::{LinkPair, TalkWay};

use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_decimal, format_whole};
use crate::draw::story::StoryPart;
use crate::draw::text::StyledLine;

/// Maximum number of pairs for which all are shown; otherwise only pairs of the first cpu.
const MOST_PAIRS: usize = 24;

/// Returns the table; empty if neither a channel nor a queue was measured.
pub fn compose_sends(map: &LinkMap) -> Vec<StoryPart> {
    let is_send = |what: TalkWay| matches!(what, TalkWay::Channel { .. } | TalkWay::Queue { .. });
    let series: Vec<_> = map.series.iter().filter(|series| is_send(series.what)).collect();
    let Some(first) = series.first() else { return Vec::new() };
    let all = first.links.pairs.len();
    let lowest = map.cpus.lowest();
    let rows = || first.links.pairs.iter().filter(|pair| all <= MOST_PAIRS || Some(pair.a) == lowest);
    let filled: Vec<FilledSeries> = series.iter().map(|series| FilledSeries::from_series(series, map)).collect();
    let mut columns = vec![GridColumn::number("from", "cpu", 0), GridColumn::number("to", "cpu", 0)];
    for series in &series {
        columns.push(GridColumn::number(column_title(series.what), "µs", 0).with_name(series.what.describe_way()));
        columns.push(GridColumn::number("", "MB/s", 1).with_name(format!("{} in MB/s", series.what.describe_way())));
    }
    let slots = |slots| series.iter().position(|series| series.what == TalkWay::Queue { slots });
    let both = slots(RingSlots::Packed).zip(slots(RingSlots::Padded));
    columns.extend(both.map(|_| GridColumn::number("padded", "of packed", 0)));
    let mut grid = TextGrid::new(columns);
    // A pair with a cost for each direction has two rows.
    let ways = |pair: &LinkPair| {
        let has_two = filled.iter().any(|filled| has_two_costs(filled, pair));
        let both = [(pair.a, pair.b), (pair.b, pair.a)];
        both.into_iter().take(1 + usize::from(has_two)).map(move |(from, to)| (from, to, has_two)).collect::<Vec<_>>()
    };
    for (from, to, is_way) in rows().flat_map(ways) {
        let costs: Vec<f64> = filled.iter().map(|filled| send_cost(filled, [from, to], is_way)).collect();
        let mut row = vec![StyledLine::new().plain(from.to_string()), StyledLine::new().plain(to.to_string())];
        for (series, &cost) in series.iter().zip(&costs) {
            let rate = series.what.megabytes_per_s(cost).filter(|rate| rate.is_finite());
            row.push(StyledLine::new().plain(if cost.is_finite() {
                format_decimal(cost / 1e3, 3)
            } else {
                String::new()
            }));
            row.push(StyledLine::new().faint(rate.map_or(String::new(), |rate| format_whole(rate.round() as u64))));
        }
        row.extend(both.map(|(packed, padded)| {
            let ratio = costs[padded] / costs[packed];
            StyledLine::new().strong(if ratio.is_finite() {
                format!("{}x", format_decimal(ratio, 2))
            } else {
                String::new()
            })
        }));
        grid.add_row(row);
    }
    let note = if all > MOST_PAIRS { "first cpu only; --format csv prints all" } else { "messages of 8 bytes" };
    vec![StyledLine::new().strong("Sends").plain("  ").faint(note).into_paragraph(2), grid.into()]
}

fn column_title(what: TalkWay) -> &'static str {
    match what {
        TalkWay::Channel { bound: Some(_) } => "bounded",
        TalkWay::Channel { bound: None } => "unbounded",
        TalkWay::Queue { slots: RingSlots::Packed } => "packed",
        _ => "padded",
    }
}

fn has_two_costs(filled: &FilledSeries, pair: &LinkPair) -> bool {
    let places = filled.all.place_of(pair.a).zip(filled.all.place_of(pair.b));
    places.is_some_and(|(i, j)| filled.all.two_costs(i, j).is_some())
}

/// Returns the cost of the direction if `is_way`, otherwise of the pair.
fn send_cost(filled: &FilledSeries, [from, to]: [u32; 2], is_way: bool) -> f64 {
    let places = filled.all.place_of(from).zip(filled.all.place_of(to));
    places.map_or(f64::NAN, |(i, j)| match filled.all.one_way_cost(i, j) {
        way if is_way && way.is_finite() => way,
        _ => filled.all.pair_cost(i, j),
    })
}
