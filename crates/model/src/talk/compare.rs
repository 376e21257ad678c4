//! Changes between two talk graphs of a program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::TalkGraph;
use super::fold::FoldedTalk;

/// Smallest ratio of two rates that counts as a change.
const MARGIN: f64 = 1.5;
/// Half the width of the interval of a ratio, in standard errors of counts: 99.9 %, since there are many edges.
const DEVIATIONS: f64 = 3.29;
/// Smallest share of all wakes that an edge of either graph must carry.
const LEAST_SHARE: f64 = 0.01;
/// Wakes that are assumed on an edge that one graph lacks.
const ABSENT_WAKES: f64 = 0.5;

/// Rate of the wakes of one vertex by another in two graphs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TalkChange {
    /// Name of the waker.
    pub waker: String,
    /// Name of the woken one.
    pub wakee: String,
    /// Wakes in a second in the earlier graph; 0 if it has none.
    pub before_per_s: f64,
    /// The same in the later graph.
    pub after_per_s: f64,
    /// Ratio of the later to the earlier rate.
    pub ratio: f64,
    /// True if it is beyond 1.5 either way, and chance counts do not explain it.
    pub is_change: bool,
}

/// Compares the rates of all strong edges, the greatest change first. Pools and threads are the same if their names are.
pub fn compare_talk(before: &TalkGraph, after: &TalkGraph) -> Vec<TalkChange> {
    let (earlier, later) = (sum_by_name(before), sum_by_name(after));
    let total = |sums: &BTreeMap<(String, String), f64>| sums.values().sum::<f64>();
    let least = [LEAST_SHARE * total(&earlier), LEAST_SHARE * total(&later)];
    let names: std::collections::BTreeSet<&(String, String)> = earlier.keys().chain(later.keys()).collect();
    let change = |names: &(String, String)| {
        let of = |sums: &BTreeMap<(String, String), f64>| sums.get(names).copied().unwrap_or(0.0);
        let (one, two) = (of(&earlier), of(&later));
        if one < least[0] && two < least[1] || one + two <= 0.0 {
            return None;
        }
        let [known, now] = [one, two].map(|wakes| wakes.max(ABSENT_WAKES));
        let ratio = (now / after.seconds) / (known / before.seconds);
        let error = DEVIATIONS * (1.0 / known + 1.0 / now).sqrt();
        let is_change = ratio.ln().abs() >= MARGIN.ln().max(error);
        let (waker, wakee) = names.clone();
        Some(TalkChange {
            waker,
            wakee,
            before_per_s: one / before.seconds,
            after_per_s: two / after.seconds,
            ratio,
            is_change,
        })
    };
    let mut changes: Vec<TalkChange> = names.into_iter().filter_map(change).collect();
    changes.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    changes
}

fn sum_by_name(graph: &TalkGraph) -> BTreeMap<(String, String), f64> {
    let folded = FoldedTalk::new(graph);
    let mut sums = BTreeMap::new();
    for edge in &folded.edges {
        let name = |vertex: usize| folded.vertices[vertex].name.clone();
        *sums.entry((name(edge.waker), name(edge.wakee))).or_insert(0.0) += edge.wakes;
    }
    sums
}
