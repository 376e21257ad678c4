//! A fleet as a stored result.

use std::collections::BTreeSet;

use super::conclude::FleetConclusions;
use super::visit_report::{check_node_name, check_rack_name, check_share_of_others, check_text};
use super::{Fleet, FleetNode};
use crate::Artifact;
use crate::artifact::{ArtifactCircumstances, ArtifactOrigin, check_numbers, format_count};
use crate::trend::TrendValue;

/// Maximum number of nodes and of configurations of a fleet that comes from a file.
const MOST_NODES: usize = 100_000;
/// Maximum number of visits of all its nodes.
const MOST_VISITS: usize = 1_600_000;

impl Artifact for Fleet {
    const KIND: &'static str = "fleet";
    const SCHEMA: &'static str = "corewise/fleet/1";
    const OF_ONE_MACHINE: bool = false;
    type Conclusions = FleetConclusions;

    fn check_loaded(&self) -> Result<(), String> {
        check_numbers(self)?;
        let visits: usize = self.nodes.iter().map(|node| node.visits.len()).sum();
        if self.nodes.len() > MOST_NODES || self.configurations.len() > MOST_NODES || visits > MOST_VISITS {
            return Err(format!("it has more than {MOST_NODES} nodes or {MOST_VISITS} visits"));
        }
        let quantities: BTreeSet<_> = self.quantities.iter().collect();
        let are_in_order = self.nodes.windows(2).all(|pair| pair[0].name < pair[1].name);
        if !are_in_order || quantities.len() != self.quantities.len() {
            return Err("its nodes are not in the order of their names, or a quantity is listed twice".to_owned());
        }
        self.nodes.iter().try_for_each(|node| self.check_node(node))?;
        let settings = self.configurations.iter().flat_map(|configuration| &configuration.settings);
        let settings = settings.flat_map(|(name, value)| [name, value]);
        settings.chain(&self.made_by).try_for_each(|text| check_text("setting", text))
    }

    fn circumstances(&self) -> ArtifactCircumstances<'_> {
        ArtifactCircumstances {
            machine: None,
            started_unix_ms: self.provenance.started_unix_ms,
            corewise: &self.provenance.corewise,
            seed: self.provenance.seed,
            partial: self.provenance.partial,
        }
    }

    fn origin(&self) -> &ArtifactOrigin {
        &self.provenance.origin
    }

    fn origin_mut(&mut self) -> &mut ArtifactOrigin {
        &mut self.provenance.origin
    }

    fn describe_contents(&self) -> String {
        let visits = self.nodes.iter().map(|node| node.visits.len()).sum();
        format!("{}, {}", format_count(self.nodes.len(), "node"), format_count(visits, "visit"))
    }

    fn draw_conclusions(&self) -> FleetConclusions {
        FleetConclusions::new(self)
    }

    fn trend_values(&self) -> Vec<TrendValue> {
        let answered = self.nodes.iter().filter(|node| !node.visits.is_empty()).count();
        vec![TrendValue::new("nodes that answered", "all nodes", answered as f64, None)]
    }
}

impl Fleet {
    fn check_node(&self, node: &FleetNode) -> Result<(), String> {
        check_node_name(&node.name)?;
        let reason = node.problem.as_ref().map(|problem| &problem.reason);
        node.rack.iter().try_for_each(|rack| check_rack_name(rack))?;
        reason.into_iter().try_for_each(|text| check_text("text", text))?;
        let is_wrong = |visit: &super::NodeVisit| {
            visit.configuration >= self.configurations.len() || visit.values.len() != self.quantities.len()
        };
        if node.visits.iter().any(is_wrong) {
            return Err(format!("a visit of {} names a configuration or values that it does not have", node.name));
        }
        node.visits
            .iter()
            .try_for_each(|visit| self.check_visit(visit))
            .map_err(|why| format!("{}: {why}", node.name))?;
        let is_later = |pair: &[super::NodeVisit]| pair[0].started_unix_ms < pair[1].started_unix_ms;
        match node.visits.windows(2).all(is_later) {
            true => Ok(()),
            false => Err(format!("the visits of {} are not in order of time", node.name)),
        }
    }

    fn check_visit(&self, visit: &super::NodeVisit) -> Result<(), String> {
        check_share_of_others(visit.others_busy)?;
        let measured = self.quantities.iter().zip(&visit.values);
        measured
            .filter_map(|(quantity, value)| Some((quantity, (*value)?)))
            .try_for_each(|(quantity, value)| quantity.check_value(value))
    }
}
