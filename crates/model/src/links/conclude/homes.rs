//! Best node for the memory of a line: nodes between which communication is dearer with the memory on one of them.

use std::collections::BTreeMap;

use corewise_machine::Level;

use super::LinkConclusions;
use crate::finding::{CONFIDENCE, Finding, FindingEffect, FindingTopic};
use crate::links::TalkWay;
use crate::links::map::{LinkMap, LinkSeries};
use corewise_machine::suggested_command;
use corewise_statistics::order::{median, median_interval};

/// Smallest ratio of costs at which homes differ.
const HOME_MARGIN: f64 = 1.1;

/// Adds the effect of the memory's node, for each way to talk; returns true if it matters for one.
pub(super) fn conclude_homes(map: &LinkMap, conclusions: &mut LinkConclusions) -> bool {
    let before = conclusions.findings.len();
    for series in &map.series {
        let homes = node_homes(series, map);
        // Only the pair of nodes with the strongest effect is described.
        let most = homes.iter().max_by(|one, other| one.effect.low.total_cmp(&other.effect.low));
        match most {
            Some(home) if home.effect.low >= HOME_MARGIN => {
                conclusions.findings.push(home_finding(series, map, home, &homes));
            }
            Some(home) => conclusions.no_difference.push(format!(
                "{}: the memory's node changes a cost by at most {} (nodes {} and {})",
                series.what.describe_way(),
                home.effect.format_times(),
                home.dear,
                home.cheap
            )),
            None => {}
        }
    }
    conclusions.findings.len() > before
}

/// Two nodes, and the ratio of communication costs between their cpus with the memory on one or the other.
struct NodeHomes {
    /// The node, by the system's number, on which memory is dearer.
    dear: u32,
    cheap: u32,
    effect: FindingEffect,
}

/// Returns the effect of the home between each two nodes, over the pairs that were visited from both sides. The
/// intervals hold simultaneously.
fn node_homes(series: &LinkSeries, map: &LinkMap) -> Vec<NodeHomes> {
    let Some(machine) = &map.machine else { return Vec::new() };
    if matches!(
        series.what,
        TalkWay::Oneway | TalkWay::Bandwidth { .. } | TalkWay::Channel { .. } | TalkWay::Queue { .. }
    ) {
        return Vec::new();
    }
    let node = |cpu| machine.index_of(Level::Node, cpu).map(|index| machine.nodes[index].number);
    let mut ratios = BTreeMap::<(u32, u32), Vec<f64>>::new();
    for pair in &series.links.pairs {
        let (Some(a), Some(b)) = (node(pair.a), node(pair.b)) else { continue };
        // The memory is on the node of the cpu that begins.
        let ratio = pair.from_b_ns() / pair.from_a_ns();
        if a != b && ratio.is_finite() {
            let turned = if a < b { ratio } else { 1.0 / ratio };
            ratios.entry((a.min(b), a.max(b))).or_default().push(turned);
        }
    }
    let confidence = 1.0 - (1.0 - CONFIDENCE) / ratios.len().max(1) as f64;
    let known = ratios.iter().filter_map(|(&(low_node, high_node), ratios)| {
        let (low, high) = median_interval(ratios, confidence)?;
        let middle = median(ratios);
        let is_high_dear = middle >= 1.0;
        let (ratio, low, high) = if is_high_dear { (middle, low, high) } else { (1.0 / middle, 1.0 / high, 1.0 / low) };
        let (dear, cheap) = if is_high_dear { (high_node, low_node) } else { (low_node, high_node) };
        let against = format!("with the memory on node {cheap}");
        Some(NodeHomes {
            dear,
            cheap,
            effect: FindingEffect { quantity: "cost".into(), against, ratio, low, high, p_value: None },
        })
    });
    known.collect()
}

fn home_finding(series: &LinkSeries, map: &LinkMap, most: &NodeHomes, all: &[NodeHomes]) -> Finding {
    let others = all.iter().filter(|home| home.effect.low >= HOME_MARGIN).count() - 1;
    let more = match others {
        0 => String::new(),
        1 => "; one more pair of nodes is like that".to_owned(),
        _ => format!("; {others} more pairs of nodes are like that"),
    };
    Finding {
        topic: FindingTopic::Links,
        cpus: map.cpus.clone(),
        statement: format!(
            "The memory's node matters: {} between nodes {} and {} costs {} with the memory on node {}{more}.",
            series.what.describe_way(),
            most.cheap,
            most.dear,
            most.effect.format_times(),
            most.dear
        ),
        advice: "Let the thread on the cheaper node touch shared memory first, or bind it:".into(),
        command: Some(suggested_command::run_with_memory(&format!("bind:node:{}", most.cheap))),
        effects: vec![most.effect.clone()],
    }
}
