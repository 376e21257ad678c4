//! Drift of configuration: settings that differ between machines of one model, and whether that goes with their speed.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::causes::list_facts;
use super::deviations::{FleetDeviations, MachineModel, group_configurations};
use super::{Fleet, FleetQuantity};
use corewise_statistics::normal::two_sided_deviate;
use corewise_statistics::order::median;

/// Share of wrong claims about settings and speed, over all settings of all models.
const ERROR_RATE: f64 = 0.05;
/// Minimum number of nodes with a value, and without it, for a test.
const LEAST_TESTED: usize = 5;
/// Maximum number of values of a setting: one with more names each machine.
const MOST_VALUES: usize = 16;
/// Maximum number of nodes that are named for each value.
const MOST_NAMED: usize = 20;

/// A setting that differs between nodes of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingDrift {
    /// Short name of the model.
    pub fingerprint: String,
    /// The processor's name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Name of the setting: "kernel", "governor", "memory".
    pub setting: String,
    /// Its values, the most common one first.
    pub values: Vec<SettingValue>,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingValue {
    /// The value; absent if these nodes do not have the setting.
    pub value: Option<String>,
    /// Number of nodes with it.
    pub nodes: usize,
    /// Names of the first 20 of them; none of the most common value.
    pub names: Vec<String>,
    /// How its nodes compare with those of the most common value; absent for that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<SettingSpeed>,
}

/// Whether a value goes with another speed than the most common value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum SettingSpeed {
    /// Fewer than 5 nodes, or no rack has nodes of both values.
    Untested,
    /// No difference was found.
    NoDifference,
    /// The nodes are slower or faster. That does not prove that the setting is the cause.
    Differs {
        /// Difference of the medians of time, within racks: 0.03 is 3 % slower.
        change: f64,
    },
}

/// The two groups of nodes of a test, in racks: deviations of nodes without and with the value.
type RackGroups = BTreeMap<String, [Vec<f64>; 2]>;

/// Finds the settings that differ, the one in which the fewest nodes deviate first.
pub(super) fn find_drift(fleet: &Fleet, deviations: &FleetDeviations) -> Vec<SettingDrift> {
    let speeds = node_speeds(deviations);
    let (mut drift, mut tests) = (Vec::new(), Vec::new());
    for model in &deviations.models {
        for (setting, values) in collect_values(fleet, model, deviations.additions) {
            // Nearly every node has a value of its own: a name, not a setting.
            if !(2..=MOST_VALUES).contains(&values.len()) {
                continue;
            }
            let mut by_count: Vec<(Option<String>, Vec<usize>)> = values.into_iter().collect();
            by_count.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
            for place in 1..by_count.len() {
                let groups = split_racks(fleet, &speeds, [&by_count[0].1, &by_count[place].1]);
                tests.extend(compare_groups(&groups).map(|(deviate, change)| ((drift.len(), place), deviate, change)));
            }
            drift.push(describe_setting(fleet, model, setting, by_count));
        }
    }
    // Bonferroni's bound over all tests; a value without a test stays untested.
    let needed = two_sided_deviate(ERROR_RATE / tests.len().max(1) as f64);
    for ((number, place), deviate, change) in tests {
        let speed = if deviate.abs() > needed { SettingSpeed::Differs { change } } else { SettingSpeed::NoDifference };
        drift[number].values[place].speed = Some(speed);
    }
    let odd = |setting: &SettingDrift| setting.values.iter().skip(1).map(|value| value.nodes).sum::<usize>();
    drift.sort_by_key(odd);
    drift
}

/// Returns the median deviation of each node's time, above zero if it is slower; `None` for nodes that were not judged.
fn node_speeds(deviations: &FleetDeviations) -> Vec<Option<f64>> {
    let speed = deviations.quantities.iter().find(|values| values.quantity == FleetQuantity::Speed);
    let nodes = speed.map_or(&[][..], |values| &values.nodes);
    nodes.iter().map(|visits| (!visits.is_empty()).then(|| -median(visits))).collect()
}

/// Returns for each setting the nodes of each value, in rising order; nodes that lack it have the value `None`.
fn collect_values<'a>(
    fleet: &'a Fleet,
    model: &MachineModel,
    additions: Option<u32>,
) -> BTreeMap<&'a str, BTreeMap<Option<String>, Vec<usize>>> {
    let by_configuration = group_configurations(fleet, &model.nodes, additions);
    let facts: Vec<(BTreeMap<&str, String>, &[usize])> = by_configuration
        .iter()
        .map(|(configuration, nodes)| {
            (list_facts(&fleet.configurations[*configuration]).into_iter().collect(), nodes.as_slice())
        })
        .collect();
    let names: BTreeSet<&str> = facts.iter().flat_map(|(facts, _)| facts.keys().copied()).collect();
    let collect = |name: &'a str| {
        let mut values = BTreeMap::<Option<String>, Vec<usize>>::new();
        for (facts, nodes) in &facts {
            values.entry(facts.get(name).cloned()).or_default().extend_from_slice(nodes);
        }
        values.values_mut().for_each(|nodes| nodes.sort_unstable());
        (name, values)
    };
    names.into_iter().map(collect).collect()
}

fn describe_setting(
    fleet: &Fleet,
    model: &MachineModel,
    setting: &str,
    by_count: Vec<(Option<String>, Vec<usize>)>,
) -> SettingDrift {
    let value = |(place, (value, nodes)): (usize, (Option<String>, Vec<usize>))| {
        let named = nodes.iter().take(if place == 0 { 0 } else { MOST_NAMED });
        let names = named.map(|node| fleet.nodes[*node].name.clone()).collect();
        SettingValue { value, nodes: nodes.len(), names, speed: (place > 0).then_some(SettingSpeed::Untested) }
    };
    SettingDrift {
        fingerprint: model.fingerprint.clone(),
        processor: model.processor.clone(),
        setting: setting.to_owned(),
        values: by_count.into_iter().enumerate().map(value).collect(),
    }
}

fn split_racks(fleet: &Fleet, speeds: &[Option<f64>], groups: [&[usize]; 2]) -> RackGroups {
    let mut racks = RackGroups::new();
    for (group, nodes) in groups.into_iter().enumerate() {
        for node in nodes {
            if let Some(speed) = speeds.get(*node).copied().flatten() {
                racks.entry(fleet.nodes[*node].rack.clone().unwrap_or_default()).or_default()[group].push(speed);
            }
        }
    }
    racks
}

/// Compares two groups by ranks within racks (van Elteren, 1960, with equal weights of nodes): returns the deviate, normal if the groups are
/// alike, and the difference of medians. `None` if there are too few nodes in racks that have both.
fn compare_groups(groups: &RackGroups) -> Option<(f64, f64)> {
    let (mut sum, mut variance, mut counts) = (0.0, 0.0, [0, 0]);
    let mut both = [Vec::new(), Vec::new()];
    for [usual, odd] in groups.values().filter(|[usual, odd]| !usual.is_empty() && !odd.is_empty()) {
        let mut ranked: Vec<(f64, bool)> = usual.iter().map(|value| (*value, false)).collect();
        ranked.extend(odd.iter().map(|value| (*value, true)));
        ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (all, chosen) = (ranked.len() as f64, odd.len() as f64);
        let ranks = ranked.iter().enumerate().filter(|(_, (_, is_odd))| *is_odd);
        let ranks: f64 = ranks.map(|(rank, _)| rank as f64 + 1.0).sum();
        // Ranks are weighed by 1 / (nodes + 1), which makes racks of all sizes comparable.
        sum += (ranks - chosen * (all + 1.0) / 2.0) / (all + 1.0);
        variance += chosen * (all - chosen) / 12.0 / (all + 1.0);
        counts = [counts[0] + usual.len(), counts[1] + odd.len()];
        both[0].extend_from_slice(usual);
        both[1].extend_from_slice(odd);
    }
    let is_enough = counts.iter().all(|count| *count >= LEAST_TESTED);
    is_enough.then(|| (sum / variance.sqrt(), (median(&both[1]) - median(&both[0])).exp_m1()))
}
