//! What a rule rests on, and what has changed since.

use std::collections::BTreeMap;

use corewise_machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conducted::Conducted;
use crate::experiment::Verdict;
use crate::trial::Arm;

/// The experiment that proved a placement, and what the proof depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The experiment's number in its owner's history.
    pub experiment: i64,
    /// How much better than the OS default: 0.061 is 6.1 % more of the metric for its cost.
    pub effect: f64,
    /// The any-time interval of the same; an end that was not reached is infinite.
    pub interval: [f64; 2],
    /// The false-positive rate.
    pub error_rate: f64,
    /// The machine ([`Machine::fingerprint`]).
    pub fingerprint: String,
    /// The scheduling environment ([`Machine::environment`]).
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// What is not as it was when the experiment was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What: "kernel", "governor", "machine".
    pub what: String,
    /// What it was.
    pub was: String,
    /// What it is now.
    pub is: String,
}

impl Evidence {
    /// What an experiment proves of its winner, and which arm that is; absent where none wins.
    pub fn of_winner(number: i64, conducted: &Conducted) -> Option<(&Arm, Self)> {
        use crate::Artifact as _;
        let conclusions = conducted.conclude();
        let Verdict::Wins { arm } = conclusions.standing.verdict else { return None };
        let effect = conclusions.standing.arms.get(arm)?.effect?;
        let experiment = &conducted.experiment;
        let share = |ln: f64| ln.exp() - 1.0;
        let evidence = Self {
            experiment: number,
            effect: share(effect.estimate),
            interval: [effect.low.map_or(f64::NEG_INFINITY, share), effect.high.map_or(f64::INFINITY, share)],
            error_rate: experiment.policy.error_rate,
            fingerprint: experiment.machine.fingerprint(),
            environment: experiment.machine.environment(),
        };
        Some((experiment.arms.get(arm)?, evidence))
    }

    /// What has changed since: where this is not empty the rule is unproven. What is not known of one of the two environments is not
    /// compared.
    pub fn changes(&self, machine: &Machine) -> Vec<Change> {
        let fingerprint = machine.fingerprint();
        let environment = machine.environment();
        let other_machine = (self.fingerprint != fingerprint).then(|| Change {
            what: "machine".to_owned(),
            was: self.fingerprint.clone(),
            is: fingerprint,
        });
        let others = self.environment.iter().filter_map(|(what, was)| {
            let is = environment.get(what).filter(|is| *is != was)?;
            Some(Change { what: what.clone(), was: was.clone(), is: is.clone() })
        });
        other_machine.into_iter().chain(others).collect()
    }
}
