//! A fleet: what was observed on many machines, visit by visit, small enough for ten thousand of them.
//!
//! docs/fleets.md says how it is judged. This module visits no machine: `lab` does, and files of other machines can replace it.

mod artifact;
pub mod causes;
pub mod compare;
pub mod conclude;
mod configuration_index;
pub mod deviations;
pub mod drift;
pub mod evenness;
pub mod experiment;
mod mixed_names;
pub mod node_list;
mod outliers;
pub mod outlook;
pub mod quantity;
pub mod visit_plan;
pub mod visit_policy;
pub mod visit_report;

use std::collections::BTreeMap;

use corewise_machine::vocabulary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactProvenance;
use configuration_index::ConfigurationIndex;
pub use quantity::FleetQuantity;
pub use visit_plan::next_visits;
pub use visit_policy::VisitPolicy;
pub use visit_report::VisitReport;

/// Observations of many machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Its origin.
    pub provenance: ArtifactProvenance,
    /// The quantities of each visit's `values`, in this order.
    pub quantities: Vec<FleetQuantity>,
    /// The distinct configurations; visits name them by their place.
    pub configurations: Vec<NodeConfiguration>,
    /// The nodes that were asked, in the order of their names.
    pub nodes: Vec<FleetNode>,
    /// The words after `corewise fleet` that made it; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by: Vec<String>,
    #[serde(skip)]
    index: ConfigurationIndex,
}

/// Hardware and settings of a node, as one visit found them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct NodeConfiguration {
    /// The model of machine: short name of processor and topology, equal for equal machines.
    pub fingerprint: String,
    /// The processor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Number of objects of each level, offline cpus excluded: "cpu", "core", "llc".
    pub objects: BTreeMap<String, u64>,
    /// Memory of all NUMA nodes in bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Kernel, microcode, governor, command line and other settings by name.
    pub settings: BTreeMap<String, String>,
    /// corewise's version on the node.
    pub corewise: String,
    /// Number of dependent additions of a timed piece of work: visits that differ in it are not compared.
    pub additions: u32,
}

/// A machine of the fleet. Without an answer it has a problem instead of visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetNode {
    /// Its name, as Slurm or ssh knows it.
    pub name: String,
    /// Its rack; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Its visits, earliest first.
    pub visits: Vec<NodeVisit>,
    /// The reason why its last visit gave no result; absent if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<NodeProblem>,
}

/// One visit of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeVisit {
    /// Its beginning, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: i64,
    /// Place of the node's configuration in [`Fleet::configurations`].
    pub configuration: usize,
    /// Share of the node's cpu time that other programs used meanwhile, 0 to 1, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy: Option<f64>,
    /// The value of each of [`Fleet::quantities`], in its unit; null if it was not measured.
    pub values: Vec<Option<f64>>,
}

/// Reason why a node gave no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeProblem {
    /// Its kind.
    pub kind: ProblemKind,
    /// One sentence without a full stop, with the words of the system that reported it: "Slurm: PartitionDown".
    pub reason: String,
}

vocabulary! {
    /// Kinds of problems with a node.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum ProblemKind {
        NotStarted "not-started": "The visit did not start.";
        TimedOut "timed-out": "No result within the time limit.";
        Died "died": "The node or the visit ended without a result.";
        Refused "refused": "The node refused the visit.";
        NotInstalled "not-installed": "corewise is not there.";
        OtherVersion "other-version": "Another version of corewise is there.";
        Unreadable "unreadable": "The result could not be read.";
    }
}

impl Fleet {
    /// Creates a fleet without nodes.
    pub fn new(provenance: ArtifactProvenance) -> Self {
        Self {
            provenance,
            quantities: FleetQuantity::ALL.to_vec(),
            configurations: Vec::new(),
            nodes: Vec::new(),
            made_by: Vec::new(),
            index: ConfigurationIndex::default(),
        }
    }

    /// Adds a checked report, and its node if it is new. Returns false if the node has a visit with this beginning already. Takes back the
    /// node's problem, since it answered.
    pub fn add_visit(&mut self, report: &VisitReport) -> bool {
        let configuration = self.index.find_or_add(&mut self.configurations, NodeConfiguration::from_report(report));
        let visit = NodeVisit {
            started_unix_ms: report.started_unix_ms,
            configuration,
            others_busy: report.survey.others_busy,
            values: self.quantities.iter().map(|quantity| report.read_quantity(*quantity)).collect(),
        };
        let node = self.find_or_add_node(&report.node);
        let place = node.visits.partition_point(|earlier| earlier.started_unix_ms < visit.started_unix_ms);
        if node.visits.get(place).is_some_and(|same| same.started_unix_ms == visit.started_unix_ms) {
            return false;
        }
        node.visits.insert(place, visit);
        node.problem = None;
        if report.rack.is_some() {
            node.rack.clone_from(&report.rack);
        }
        true
    }

    /// Notes that a node gave no result, and adds the node if it is new.
    pub fn add_problem(&mut self, node: &str, problem: NodeProblem) {
        self.find_or_add_node(node).problem = Some(problem);
    }

    /// Notes the rack of a node, and adds the node if it is new: without a visit it is a row as well.
    pub fn set_rack(&mut self, node: &str, rack: Option<String>) {
        self.find_or_add_node(node).rack = rack;
    }

    /// Returns the median of a quantity over a node's visits, in its unit; `None` if it was not measured.
    pub fn node_value(&self, node: &FleetNode, quantity: FleetQuantity) -> Option<f64> {
        let column = self.quantities.iter().position(|known| *known == quantity)?;
        deviations::median_of(node.visits.iter().filter_map(|visit| visit.values.get(column).copied().flatten()))
    }

    /// Returns true if another fleet has the same observations: both were made of the same visits.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        let of = |fleet: &Self| (fleet.provenance.partial, fleet.provenance.origin.clone());
        of(self) == of(other)
            && self.quantities == other.quantities
            && self.configurations == other.configurations
            && self.nodes == other.nodes
    }

    fn find_or_add_node(&mut self, name: &str) -> &mut FleetNode {
        let place = self.nodes.partition_point(|node| node.name.as_str() < name);
        if self.nodes.get(place).is_none_or(|node| node.name != name) {
            let node = FleetNode { name: name.to_owned(), rack: None, visits: Vec::new(), problem: None };
            self.nodes.insert(place, node);
        }
        &mut self.nodes[place]
    }
}

impl NodeConfiguration {
    fn from_report(report: &VisitReport) -> Self {
        let survey = &report.survey;
        let mut settings = report.configuration.clone();
        settings.extend(survey.settings.clone());
        Self {
            fingerprint: survey.fingerprint.clone(),
            processor: survey.processor.clone(),
            objects: survey.objects.clone(),
            memory_bytes: survey.memory_bytes,
            settings,
            corewise: survey.corewise.clone(),
            additions: survey.additions,
        }
    }
}

#[cfg(test)]
mod tests;
