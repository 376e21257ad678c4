//! Facts about a deviating node that differ from its peers. They may be the cause; nothing here proves it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deviations::{counted_visits, group_configurations, last_configuration, median_of};
use super::{Fleet, FleetNode, NodeConfiguration};

/// Share of the peers that must have a value before it counts as the usual one.
const USUAL_SHARE: f64 = 0.8;
/// Additional share of the cpu time used by others that counts.
const LEAST_BUSY: f64 = 0.05;
/// Settings that are named first, since they often make a machine slow.
const FIRST: [&str; 8] = ["governor", "cpus", "memory", "smt", "microcode", "others", "bios", "kernel"];

/// A fact that differs from a node's peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeCause {
    /// Name of the fact: "governor", "memory", "cpus".
    pub what: String,
    /// The node's value.
    pub own: String,
    /// The value of its peers.
    pub peers: String,
    /// Possible meaning; absent for plain settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
}

/// The values that most nodes of a model have.
pub(super) struct UsualSettings<'a> {
    settings: BTreeMap<&'a str, String>,
    others_busy: Option<f64>,
}

impl<'a> UsualSettings<'a> {
    /// Finds them.
    pub fn new(fleet: &'a Fleet, nodes: &[usize], additions: Option<u32>) -> Self {
        let mut counts = BTreeMap::<&str, BTreeMap<String, usize>>::new();
        for (configuration, nodes) in group_configurations(fleet, nodes, additions) {
            for (name, value) in list_facts(&fleet.configurations[configuration]) {
                *counts.entry(name).or_default().entry(value).or_default() += nodes.len();
            }
        }
        let usual = |(name, values): (&'a str, BTreeMap<String, usize>)| {
            let all: usize = values.values().sum();
            let (value, count) = values.into_iter().max_by_key(|(_, count)| *count)?;
            (count as f64 >= USUAL_SHARE * all as f64).then_some((name, value))
        };
        let busy = nodes.iter().filter_map(|node| others_busy(fleet, &fleet.nodes[*node], additions));
        Self { settings: counts.into_iter().filter_map(usual).collect(), others_busy: median_of(busy) }
    }

    /// Returns what is unusual about a node, the most telling facts first.
    pub fn find_causes(&self, fleet: &Fleet, node: &FleetNode, additions: Option<u32>) -> Vec<NodeCause> {
        let Some(configuration) = last_configuration(fleet, node, additions) else { return Vec::new() };
        let differs = |(name, own): (&str, String)| {
            let peers = self.settings.get(name).filter(|usual| **usual != own)?.clone();
            Some(NodeCause { what: name.to_owned(), meaning: explain_fact(name, &own, &peers), own, peers })
        };
        let mut causes: Vec<NodeCause> = list_facts(configuration).into_iter().filter_map(differs).collect();
        let busy = others_busy(fleet, node, additions).zip(self.others_busy);
        if let Some((own, peers)) = busy.filter(|(own, peers)| own - peers >= LEAST_BUSY) {
            let percent = |share: f64| format!("{:.0} % of the cpu time", 100.0 * share);
            let meaning = Some("a busy neighbour".to_owned());
            causes.push(NodeCause { what: "others use".to_owned(), own: percent(own), peers: percent(peers), meaning });
        }
        let rank = |cause: &NodeCause| FIRST.iter().position(|first| cause.what.starts_with(first));
        causes.sort_by_key(|cause| rank(cause).unwrap_or(FIRST.len()));
        causes
    }
}

/// Returns all facts of a configuration by name: its settings, its memory, its numbers of cpus and cores, and corewise's version.
pub(super) fn list_facts(configuration: &NodeConfiguration) -> Vec<(&str, String)> {
    let settings = configuration.settings.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let memory = configuration.memory_bytes.map(|bytes| ("memory", gib(bytes)));
    let object =
        |name: &'static str, level: &str| configuration.objects.get(level).map(|count| (name, count.to_string()));
    let objects = [object("cpus", "cpu"), object("cores", "core")].into_iter().flatten();
    settings.chain(memory).chain(objects).chain([("corewise", configuration.corewise.clone())]).collect()
}

/// Returns the possible meaning of a difference.
fn explain_fact(name: &str, own: &str, peers: &str) -> Option<String> {
    let number = |text: &str| text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    let is_less = number(own).zip(number(peers)).is_some_and(|(own, peers)| own < 0.98 * peers);
    let meaning = match name {
        "memory" if is_less => "a memory module may be missing, and its channel with it",
        "cpus" if is_less => "cpus are offline, or SMT is off",
        "governor" => "another governor",
        "microcode" => "other microcode",
        "smt" => "another setting of SMT",
        _ => return None,
    };
    Some(meaning.to_owned())
}

/// Returns the median share of the cpu time that others used during a node's visits.
fn others_busy(fleet: &Fleet, node: &FleetNode, additions: Option<u32>) -> Option<f64> {
    median_of(counted_visits(fleet, node, additions).filter_map(|visit| visit.others_busy))
}
