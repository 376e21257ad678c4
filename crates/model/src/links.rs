//! Cost of communication between two cpus: observations, and cost classes by topology.

pub mod compare;
pub mod conclude;
pub mod doubt;
pub mod explore;
pub mod groups;
pub mod import;
pub mod map;
mod matrix;
mod modes;
mod pair;
pub mod pair_spread;
pub mod predict;
mod rows;
pub mod structure;
mod talk_way;

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Gap, Level, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use corewise_statistics::order::median;
pub use map::LinkMap;
pub use matrix::CostMatrix;
pub use modes::modes_finding;
pub use pair::LinkPair;
pub use talk_way::{MESSAGE_BYTES, TalkWay};

/// Costs of pairs of cpus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkFindings {
    /// The pairs that were measured, `a < b`.
    #[serde(with = "rows")]
    #[schemars(with = "Vec<rows::PairRow>")]
    pub pairs: Vec<LinkPair>,
    /// Total number of pairs of allowed cpus.
    pub possible_pairs: u64,
    /// Pairs that could not be measured, with reasons.
    pub gaps: Vec<Gap>,
}

/// Distance of two cpus in the topology, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CpuRelation {
    /// SMT siblings.
    SameCore,
    /// Different cores that share an L2.
    SameCluster,
    /// Different clusters of one last-level cache.
    SameLlc,
    /// Different NUMA nodes that share a last-level cache (sub-NUMA clusters).
    SameLlcOtherNode,
    /// Different last-level caches of one die.
    OtherLlc,
    /// Different dies of one NUMA node.
    OtherDie,
    /// Different NUMA nodes of one package.
    OtherNode,
    /// Different packages.
    OtherPackage,
}

impl CpuRelation {
    /// Returns the name for people.
    pub const fn relation_name(self) -> &'static str {
        match self {
            Self::SameCore => "same core",
            Self::SameCluster => "same cluster",
            Self::SameLlc => "same llc",
            Self::SameLlcOtherNode => "same llc, other node",
            Self::OtherLlc => "other llc",
            Self::OtherDie => "other die",
            Self::OtherNode => "other node",
            Self::OtherPackage => "other package",
        }
    }
}

/// For a cpu the index of its object at each of [`Self::LEVELS`], as far as it has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuAncestors([Option<usize>; 6]);

impl CpuAncestors {
    /// The levels that distinguish relations. Dies and nodes nest either way: a die of some processors is several
    /// nodes, a node of others several dies.
    const LEVELS: [Level; 6] = [Level::Core, Level::Cluster, Level::Llc, Level::Die, Level::Node, Level::Package];

    /// Returns the index of its object at a level.
    pub fn index_of(&self, level: Level) -> Option<usize> {
        Self::LEVELS.iter().position(|other| *other == level).and_then(|place| self.0[place])
    }

    /// Returns the relation to another cpu; `None` if one of the two is not in the machine.
    pub fn relation_to(&self, other: &Self) -> Option<CpuRelation> {
        let [core, cluster, llc, die, node, package] = std::array::from_fn(|level| self.0[level] == other.0[level]);
        (self.0[0].is_some() && other.0[0].is_some()).then_some(match () {
            () if core => CpuRelation::SameCore,
            () if cluster => CpuRelation::SameCluster,
            () if llc && !node => CpuRelation::SameLlcOtherNode,
            () if llc => CpuRelation::SameLlc,
            () if !package => CpuRelation::OtherPackage,
            () if !node => CpuRelation::OtherNode,
            () if !die => CpuRelation::OtherDie,
            () => CpuRelation::OtherLlc,
        })
    }
}

/// Relations of a machine's cpus, looked up once for many queries.
#[derive(Clone, Debug)]
pub struct CpuRelationTable {
    ancestors: BTreeMap<u32, CpuAncestors>,
}

impl CpuRelationTable {
    /// Looks up the ancestors of all cpus.
    pub fn new(machine: &Machine) -> Self {
        let mut ancestors = BTreeMap::<u32, CpuAncestors>::new();
        for (place, level) in CpuAncestors::LEVELS.into_iter().enumerate() {
            for (index, cpus) in machine.objects_of(level).iter().enumerate() {
                for cpu in cpus.iter() {
                    ancestors.entry(cpu).or_default().0[place].get_or_insert(index);
                }
            }
        }
        Self { ancestors }
    }

    /// Returns the ancestors of a cpu; one outside the machine has none.
    pub fn ancestors_of(&self, cpu: u32) -> CpuAncestors {
        self.ancestors.get(&cpu).copied().unwrap_or_default()
    }

    /// Returns the relation of two different cpus; `None` if one of them is not in the machine.
    pub fn relation_between(&self, a: u32, b: u32) -> Option<CpuRelation> {
        self.ancestors.get(&a)?.relation_to(self.ancestors.get(&b)?)
    }
}

/// All measured pairs of one relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkClass {
    /// Relation of the two cpus of each pair.
    pub relation: CpuRelation,
    /// Number of measured pairs.
    pub pairs: u64,
    /// The median cost over the pairs, one way, in nanoseconds; a pair counts as two if its two ways differ more than
    /// twice.
    pub median_ns: f64,
    /// The cheapest pair.
    pub lowest_ns: f64,
    /// The dearest pair.
    pub highest_ns: f64,
}

/// Returns the cost classes that exist among the measured pairs, nearest first.
pub fn link_classes(machine: &Machine, links: &LinkFindings) -> Vec<LinkClass> {
    let relations = CpuRelationTable::new(machine);
    let mut by_relation = BTreeMap::<CpuRelation, (u64, Vec<f64>)>::new();
    for pair in &links.pairs {
        if let Some(relation) = relations.relation_between(pair.a, pair.b) {
            let (pairs, costs) = by_relation.entry(relation).or_default();
            let before = costs.len();
            costs.extend(pair.costs_ns());
            *pairs += u64::from(costs.len() > before);
        }
    }
    by_relation
        .into_iter()
        .filter(|(_, (pairs, _))| *pairs > 0)
        .map(|(relation, (pairs, costs))| LinkClass {
            relation,
            pairs,
            median_ns: median(&costs),
            lowest_ns: costs.iter().copied().fold(f64::INFINITY, f64::min),
            highest_ns: costs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
        .collect()
}

/// Iterates over the pairs that two measurements have in common, in the order of the first.
pub fn in_both<'a>(
    one: impl IntoIterator<Item = &'a LinkPair>,
    other: impl IntoIterator<Item = &'a LinkPair>,
) -> impl Iterator<Item = (&'a LinkPair, &'a LinkPair)> {
    let other: BTreeMap<(u32, u32), &LinkPair> = other.into_iter().map(|pair| ((pair.a, pair.b), pair)).collect();
    one.into_iter().filter_map(move |pair| Some((pair, *other.get(&(pair.a, pair.b))?)))
}

/// Formats a cost with at least two digits, and one decimal at most: 0.4, 9.1, 42.
fn format_cost(cost: f64) -> String {
    if cost < 9.95 { format!("{cost:.1}") } else { format!("{cost:.0}") }
}

/// Allowed range of costs in a map from a file, in nanoseconds or cycles: a picosecond to a second.
const COSTS: std::ops::RangeInclusive<f64> = 1e-3..=1e9;
/// Maximum number of cells over all tables of pairs in memory at once: two ways to talk on a machine of
/// [`map::MOST_CPUS`].
const MOST_CELLS: usize = 2 * map::MOST_CPUS * map::MOST_CPUS;

/// Checks pairs that come from a file: the cpus must be the machine's, and the costs possible.
pub(crate) fn check_pairs<'a>(pairs: impl IntoIterator<Item = &'a LinkPair>, cpus: &CpuSet) -> Result<(), String> {
    for pair in pairs {
        let (a, b) = (pair.a, pair.b);
        if a >= b || !cpus.contains(a) || !cpus.contains(b) {
            return Err(format!("{a} and {b} are not a pair of its cpus"));
        }
        if pair.visits_ns().iter().chain(pair.back_ns()).any(|cost| !COSTS.contains(cost)) {
            return Err(format!("cpus {a} and {b} have an impossible cost"));
        }
    }
    Ok(())
}

/// Checks that tables of all pairs of some cpus, one for each way to talk, fit into memory.
pub(crate) fn check_width(cpus: usize, series: usize) -> Result<(), String> {
    match cpus {
        _ if cpus > map::MOST_CPUS => Err(format!("it has {cpus} cpus, and at most {} are supported", map::MOST_CPUS)),
        _ if cpus * cpus * series > MOST_CELLS => {
            Err(format!("it has too many ways to talk for {cpus} cpus: {series}"))
        }
        _ => Ok(()),
    }
}

/// Returns the cpus that appear in at least one measured pair.
pub fn measured_cpus(links: &LinkFindings) -> CpuSet {
    links.pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewise_machine::machine::NumaNode;
    use corewise_machine::machine_file::{MachineMatch, find_built_in};

    /// The relations of the first cpu with the others of a machine that is held, each once, in the order of the cpus.
    fn relations(machine: &str) -> Vec<CpuRelation> {
        let MachineMatch::Exactly(machine) = find_built_in(machine) else { panic!("{machine} is held") };
        let machine = machine.read_machine().unwrap().machine;
        let table = CpuRelationTable::new(&machine);
        let mut seen = Vec::new();
        for cpu in machine.online.iter().skip(1) {
            let relation = table.relation_between(0, cpu).unwrap();
            if !seen.contains(&relation) {
                seen.push(relation);
            }
        }
        seen
    }

    #[test]
    fn caches_of_one_die_and_of_two_are_not_alike() {
        use CpuRelation::{OtherLlc, OtherNode, OtherPackage, SameCluster, SameCore, SameLlc};
        assert_eq!(relations("threadripper-2990wx"), [SameCore, SameLlc, OtherLlc, OtherNode]);
        assert_eq!(relations("fx-8150"), [SameCluster, SameLlc]);
        assert!(relations("simulated-2-packages").contains(&OtherPackage));
    }

    #[test]
    fn a_cache_that_is_several_nodes_is_near_and_farther_inside() {
        let MachineMatch::Exactly(machine) = find_built_in("fx-8150") else { panic!("it is held") };
        let mut machine = machine.read_machine().unwrap().machine;
        let node = |number, cpus: &str| NumaNode { number, cpus: cpus.parse().unwrap(), ..NumaNode::default() };
        machine.nodes = vec![node(0, "0-3"), node(1, "4-7")];
        let table = CpuRelationTable::new(&machine);
        let of = |cpu| table.relation_between(0, cpu).unwrap();
        assert_eq!(
            [of(1), of(2), of(4)],
            [CpuRelation::SameCluster, CpuRelation::SameLlc, CpuRelation::SameLlcOtherNode]
        );
        assert_eq!(table.relation_between(0, 8), None, "it has eight cpus");
    }

    #[test]
    fn what_is_stored_of_relations_is_read() {
        let stored = r#"["same-core","same-cluster","same-llc","other-llc","other-package"]"#;
        assert_eq!(serde_json::from_str::<Vec<CpuRelation>>(stored).unwrap().len(), 5);
    }
}
