//! Effect of padding the slots of a queue.

use std::collections::BTreeMap;

use corewise_machine::ring::RingSlots;

use super::tiers::INSIDE;
use super::{FilledSeries, LinkConclusions, PairTiers};
use crate::finding::{CONFIDENCE, Finding, FindingEffect, FindingTopic};
use crate::links::map::{LinkMap, LinkSeries};
use crate::links::{LinkPair, TalkWay};
use corewise_statistics::order::{median, median_interval};

/// Smallest ratio of costs at which padding matters.
const PADDING_MARGIN: f64 = 1.1;

/// Adds the effect of padding the slots of a queue, inside groups and between them.
pub(super) fn conclude_padding(map: &LinkMap, filled: &[FilledSeries], conclusions: &mut LinkConclusions) {
    let of = |slots| map.series.iter().position(|series| series.what == TalkWay::Queue { slots });
    let (Some(packed), Some(padded)) = (of(RingSlots::Packed), of(RingSlots::Padded)) else { return };
    let tiers = PairTiers::from_series(&filled[packed], conclusions, map);
    let has_groups = conclusions.groups.is_some();
    for (inside, words_of) in [(true, "inside a group"), (false, "between groups")] {
        let is_side = |i: usize, j: usize| (tiers.tier_of(i, j) <= INSIDE) == inside;
        let ratios = series_ratios(&map.series[packed], &map.series[padded], &|a, b| {
            let place = |cpu| filled[packed].measured.place_of(cpu);
            place(a).zip(place(b)).is_some_and(|(i, j)| is_side(i, j))
        });
        if ratios.is_empty() {
            continue;
        }
        let Some((low, high)) = median_interval(&ratios, CONFIDENCE) else { continue };
        let effect = FindingEffect {
            quantity: "send".into(),
            against: "packed slots".into(),
            ratio: median(&ratios),
            low,
            high,
            p_value: None,
        };
        let place = if has_groups { format!(" {words_of}") } else { String::new() };
        let statement =
            format!("A queue with padded slots costs {} of one with packed slots{place}.", effect.format_times());
        if high <= 1.0 / PADDING_MARGIN || low >= PADDING_MARGIN {
            let advice = if high < 1.0 {
                "Pad the slots of queues whose ends run on different cpus (128 bytes: lines are fetched in pairs)."
            } else {
                "Packed slots are better here: one line carries several messages."
            };
            let cpus = map.cpus.clone();
            conclusions.findings.push(Finding {
                topic: FindingTopic::Links,
                cpus,
                statement,
                advice: advice.into(),
                command: None,
                effects: vec![effect],
            });
        } else {
            conclusions.no_difference.push(statement.trim_end_matches('.').to_owned());
        }
    }
}

/// Returns ratios of a second series' costs to a first's: one for each pair, or one for each visit if there are few
/// pairs. Both were visited in turn.
pub(crate) fn series_ratios(first: &LinkSeries, second: &LinkSeries, is_side: &dyn Fn(u32, u32) -> bool) -> Vec<f64> {
    const FEW: usize = 8;
    let others: BTreeMap<(u32, u32), &LinkPair> =
        second.links.pairs.iter().map(|pair| ((pair.a, pair.b), pair)).collect();
    let first = first.links.pairs.iter().filter(|pair| is_side(pair.a, pair.b));
    let both = first.filter_map(|pair| Some((pair, *others.get(&(pair.a, pair.b))?)));
    let both: Vec<(&LinkPair, &LinkPair)> = both.collect();
    let ratios: Vec<f64> = if both.len() < FEW {
        let visits = |(pair, other): &(&LinkPair, &LinkPair)| {
            let pairs =
                pair.visits_ns().iter().zip(other.visits_ns()).chain(pair.back_ns().iter().zip(other.back_ns()));
            pairs.map(|(first, second)| second / first).collect::<Vec<_>>()
        };
        both.iter().flat_map(visits).collect()
    } else {
        both.iter().map(|(pair, other)| other.one_way_ns() / pair.one_way_ns()).collect()
    };
    ratios.into_iter().filter(|ratio| ratio.is_finite()).collect()
}
