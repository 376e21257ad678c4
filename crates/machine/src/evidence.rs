//! Evidence for a placement: the conditions under which an experiment proved it, and the small document in which a program finds it.

mod proof;

use std::collections::BTreeMap;

use crate::Machine;
use crate::identity::is_same_machine;
pub use proof::{PlacementProof, ProofError, is_proof_name};

/// A difference from the conditions of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct EvidenceChange {
    /// Name of the condition: "kernel", "governor", "machine".
    pub what: String,
    /// Its value then.
    pub was: String,
    /// Its value now.
    pub is: String,
}

/// Returns the changes since an experiment on a machine with an identity ([`Machine::identity`]) in a scheduling environment
/// ([`Machine::environment`]). Values unknown in one of the two environments are not compared.
pub fn list_changes(identity: &str, environment: &BTreeMap<String, String>, machine: &Machine) -> Vec<EvidenceChange> {
    let here = machine.identity();
    let now = machine.environment();
    let other_machine = (!is_same_machine(identity, &here)).then(|| EvidenceChange {
        what: "machine".to_owned(),
        was: identity.to_owned(),
        is: here,
    });
    let others = environment.iter().filter_map(|(what, was)| {
        let is = now.get(what).filter(|is| *is != was)?;
        Some(EvidenceChange { what: what.clone(), was: was.clone(), is: is.clone() })
    });
    other_machine.into_iter().chain(others).collect()
}
