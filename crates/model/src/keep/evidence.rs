//! Evidence of a rule, and changes since.

use std::collections::BTreeMap;

use corewise_machine::Machine;
pub use corewise_machine::evidence::EvidenceChange;
use corewise_machine::evidence::list_changes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Artifact as _;
use crate::artifact::ArtifactOrigin;
use crate::experiment_record::ExperimentRecord;
use crate::trial::PlacementArm;
use corewise_statistics::experiment::Verdict;

/// The experiment that proved a placement, and the conditions of the proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleEvidence {
    /// The experiment's number in its owner's history.
    pub experiment: i64,
    /// Improvement over the OS default: 0.061 is 6.1 % more of the metric for its cost.
    pub effect: f64,
    /// The any-time interval of the same; an end that was not reached is infinite.
    pub interval: [f64; 2],
    /// The false-positive rate.
    pub error_rate: f64,
    /// True if it was a provisional winner: its runs are of less than a minute, or may affect each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub so_far: bool,
    /// The machine ([`Machine::identity`]).
    pub fingerprint: String,
    /// The scheduling environment ([`Machine::environment`]).
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Where it was made; absent if it was measured by its owner.
    #[serde(default, skip_serializing_if = "ArtifactOrigin::is_measured")]
    pub origin: ArtifactOrigin,
}

impl RuleEvidence {
    /// Returns the winner of an experiment with its evidence; `None` if no arm wins.
    pub fn of_winner(number: i64, conducted: &ExperimentRecord) -> Option<(&PlacementArm, Self)> {
        let conclusions = conducted.draw_conclusions();
        let Verdict::Wins { arm } = conclusions.standing.verdict else { return None };
        let effect = conclusions.standing.arms.get(arm)?.effect?;
        let experiment = &conducted.experiment;
        let share = |ln: f64| ln.exp() - 1.0;
        let evidence = Self {
            experiment: number,
            effect: share(effect.estimate),
            interval: [effect.low.map_or(f64::NEG_INFINITY, share), effect.high.map_or(f64::INFINITY, share)],
            error_rate: experiment.policy.error_rate,
            so_far: !conclusions.standing.open_points.is_empty(),
            fingerprint: experiment.machine.identity(),
            environment: experiment.machine.environment(),
            origin: conducted.origin().clone(),
        };
        Some((experiment.arms.get(arm)?, evidence))
    }

    /// Returns the changes since; if there are any, the rule is unproven. Evidence that was not measured by its owner is a change of its
    /// own. Values unknown in one of the two environments are not compared.
    pub fn changes_since(&self, machine: &Machine) -> Vec<EvidenceChange> {
        let elsewhere = self.origin.describe_origin().map(|was| EvidenceChange {
            what: "evidence".to_owned(),
            was,
            is: "not measured here".to_owned(),
        });
        elsewhere.into_iter().chain(list_changes(&self.fingerprint, &self.environment, machine)).collect()
    }
}
