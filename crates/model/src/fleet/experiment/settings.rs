//! The settings that set nodes with an effect apart from those without.

use std::collections::BTreeMap;

use corewise_machine::random::RandomGenerator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_statistics::order::median;

/// Number of draws of the test.
const DRAWS: usize = 1_999;
/// Smallest number of nodes in two groups at least, so that a setting is tested.
const FEWEST_NODES: usize = 2;

/// A setting that goes with the effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingSplit {
    /// The settings that divide the nodes in this way, by name.
    pub settings: Vec<String>,
    /// The probability that any setting divides the effects as well by chance.
    pub probability: f64,
    /// The groups of nodes, the one with the largest effect first.
    pub groups: Vec<SettingGroup>,
}

/// Nodes that share a value of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingGroup {
    /// The values of the settings, in their order.
    pub values: Vec<String>,
    /// Number of nodes.
    pub nodes: usize,
    /// Median of their effects, a difference of logarithms.
    pub effect: f64,
}

/// A way in which settings divide the nodes.
struct Division<'a> {
    settings: Vec<&'a str>,
    /// The group of each node.
    groups: Vec<usize>,
    sizes: Vec<usize>,
}

/// Returns the settings that go with the effects, strongest first, at the error rate over all settings together.
///
/// If a setting does not matter, every assignment of the effects to the nodes is as likely as this one. The statistic of a setting is the
/// probability of the sum of squares between its groups, of ranks, among the drawn assignments; the smallest over all settings is compared
/// with the smallest of each draw (Westfall and Young's method).
pub(super) fn find_splits(nodes: &[(&BTreeMap<String, String>, f64)], error_rate: f64, seed: u64) -> Vec<SettingSplit> {
    let divisions = divide_nodes(nodes);
    if divisions.is_empty() {
        return Vec::new();
    }
    let ranks = rank_effects(nodes);
    let drawn = draw_squares(&divisions, &ranks, seed);
    let shares: Vec<Vec<f64>> = drawn.iter().map(|squares| tail_shares(squares)).collect();
    let smallest: Vec<f64> =
        (0..=DRAWS).map(|draw| shares.iter().map(|of_one| of_one[draw]).fold(f64::INFINITY, f64::min)).collect();
    let probability = |own: f64| smallest.iter().filter(|each| **each <= own).count() as f64 / (DRAWS + 1) as f64;
    let mut found: Vec<SettingSplit> = divisions
        .iter()
        .zip(&shares)
        .map(|(division, shares)| division.describe(nodes, probability(shares[0])))
        .filter(|split| split.probability <= error_rate)
        .collect();
    found.sort_by(|one, other| one.probability.total_cmp(&other.probability));
    found
}

/// Returns the divisions of the nodes by their settings. Settings that divide them alike are one.
fn divide_nodes<'a>(nodes: &[(&'a BTreeMap<String, String>, f64)]) -> Vec<Division<'a>> {
    let mut names: Vec<&str> = nodes.iter().flat_map(|(settings, _)| settings.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let mut divisions: Vec<Division> = Vec::new();
    for name in names {
        let groups = number_values(nodes, name);
        let mut sizes = vec![0; groups.iter().max().map_or(0, |last| last + 1)];
        groups.iter().for_each(|group| sizes[*group] += 1);
        match divisions.iter_mut().find(|division| division.groups == groups) {
            Some(division) => division.settings.push(name),
            None => divisions.push(Division { settings: vec![name], groups, sizes }),
        }
    }
    divisions.retain(|division| division.sizes.iter().filter(|size| **size >= FEWEST_NODES).count() > 1);
    divisions
}

/// Numbers the values of a setting in the order in which they come.
fn number_values(nodes: &[(&BTreeMap<String, String>, f64)], name: &str) -> Vec<usize> {
    let mut values: Vec<Option<&String>> = Vec::new();
    nodes
        .iter()
        .map(|(settings, _)| {
            let value = settings.get(name);
            values.iter().position(|known| *known == value).unwrap_or_else(|| {
                values.push(value);
                values.len() - 1
            })
        })
        .collect()
}

/// Returns the rank of each effect, centred.
fn rank_effects(nodes: &[(&BTreeMap<String, String>, f64)]) -> Vec<f64> {
    let middle = (nodes.len() as f64 - 1.0) / 2.0;
    let rank = |own: f64| {
        let below = nodes.iter().filter(|(_, other)| *other < own).count() as f64;
        let equal = nodes.iter().filter(|(_, other)| *other <= own).count() as f64 - below;
        below + (equal - 1.0) / 2.0 - middle
    };
    nodes.iter().map(|(_, effect)| rank(*effect)).collect()
}

/// Returns the squares between groups of each division: as observed, and then for each drawn assignment.
fn draw_squares(divisions: &[Division], ranks: &[f64], seed: u64) -> Vec<Vec<f64>> {
    let mut random = RandomGenerator::new(seed);
    let mut ranks = ranks.to_vec();
    let mut squares = vec![Vec::with_capacity(DRAWS + 1); divisions.len()];
    for draw in 0..=DRAWS {
        if draw > 0 {
            random.shuffle(&mut ranks);
        }
        for (division, squares) in divisions.iter().zip(&mut squares) {
            squares.push(division.squares_between(&ranks));
        }
    }
    squares
}

/// Returns for each value the share of values that are at least as large.
fn tail_shares(values: &[f64]) -> Vec<f64> {
    let mut rising = values.to_vec();
    rising.sort_by(f64::total_cmp);
    let at_least = |own: f64| rising.len() - rising.partition_point(|each| *each < own * (1.0 - 1e-9));
    values.iter().map(|own| at_least(*own) as f64 / values.len() as f64).collect()
}

impl Division<'_> {
    fn squares_between(&self, ranks: &[f64]) -> f64 {
        let mut sums = vec![0.0; self.sizes.len()];
        self.groups.iter().zip(ranks).for_each(|(group, rank)| sums[*group] += rank);
        sums.iter().zip(&self.sizes).map(|(sum, size)| sum * sum / *size as f64).sum()
    }

    fn describe(&self, nodes: &[(&BTreeMap<String, String>, f64)], probability: f64) -> SettingSplit {
        let group = |number: usize| {
            let members = || nodes.iter().zip(&self.groups).filter(move |(_, group)| **group == number);
            let first = members().next().map(|((settings, _), _)| *settings);
            let value = |name: &&str| {
                first.and_then(|settings| settings.get(*name)).cloned().unwrap_or_else(|| "unknown".to_owned())
            };
            SettingGroup {
                values: self.settings.iter().map(value).collect(),
                nodes: self.sizes[number],
                effect: median(&members().map(|((_, effect), _)| *effect).collect::<Vec<f64>>()),
            }
        };
        let mut groups: Vec<SettingGroup> = (0..self.sizes.len()).map(group).collect();
        groups.sort_by(|one, other| other.effect.total_cmp(&one.effect));
        let settings = self.settings.iter().map(|name| (*name).to_owned()).collect();
        SettingSplit { settings, probability, groups }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, String)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    /// Fleets of 16 nodes: half of them have another microcode, and kernels in pairs; only the microcode may matter.
    fn fleet(effect: f64, seed: u64) -> Vec<(BTreeMap<String, String>, f64)> {
        let mut random = RandomGenerator::new(seed);
        let node = |node: usize| {
            let kernel = random.next_below(3).to_string();
            let set = settings(&[
                ("microcode", (node % 2).to_string()),
                ("bios", (node % 2 + 7).to_string()),
                ("kernel", kernel),
            ]);
            (set, effect * (node % 2) as f64 + 0.01 * random.next_normal())
        };
        (0..16).map(node).collect()
    }

    fn splits(fleet: &[(BTreeMap<String, String>, f64)]) -> Vec<SettingSplit> {
        find_splits(&fleet.iter().map(|(settings, effect)| (settings, *effect)).collect::<Vec<_>>(), 0.05, 1)
    }

    #[test]
    fn the_setting_that_goes_with_the_effect_is_named_with_its_twin() {
        let found = splits(&fleet(0.05, 1));
        assert_eq!(found[0].settings, ["bios", "microcode"]);
        assert_eq!(
            found[0].groups.iter().map(|group| (group.values[1].as_str(), group.nodes)).collect::<Vec<_>>(),
            [("1", 8), ("0", 8)]
        );
        assert!((found[0].groups[0].effect - 0.05).abs() < 0.01);
    }

    #[test]
    fn settings_that_do_not_matter_are_seldom_named() {
        let named = (0..400).filter(|seed| !splits(&fleet(0.0, *seed)).is_empty()).count();
        assert!(named <= 30, "{named} of 400, expected 20 at most");
    }
}
