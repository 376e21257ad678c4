//! Rules: placements that stay in force for the processes they match, with the evidence for them.
//!
//! [`parse_rules`] reads a file of rules. [`resolve`] finds their cpus on a machine and checks whether their evidence still
//! counts there. [`RuleKeeper::look`] takes the observed state of a process and returns actions. This module does not
//! depend on an operating system, so a test can play every course of events. docs/keep.md describes rules and their
//! precedence.

mod action;
mod edit;
mod evidence;
mod glob;
mod keeper;
mod kept_process;
mod process;
mod resolve;
mod room;
mod rule;
#[cfg(test)]
mod tests;
mod thread;

pub use action::{KeepAction, KeepActionOutcome, LeftBecause, MaskAuthor, OriginalMask};
pub use edit::{EditError, add_rule, remove_rule, set_disabled, set_evidence};
pub use evidence::{EvidenceChange, RuleEvidence};
pub use glob::GlobPattern;
pub use keeper::RuleKeeper;
pub use kept_process::{KeptProcess, ProcessNote, ProcessStanding, WaitingProcess};
pub use process::{ChargedUser, ObservedProcess, ObservedThread, ThreadMask, cgroup_owner};
pub use resolve::{ResolvedRule, resolve_rules};
pub use room::MAX_HELD_THREADS;
pub use rule::{
    MatchField, MatchFit, Rule, RuleMatch, RuleStrength, RulesError, ThreadRule, UnprovenPolicy, WrittenValue,
    parse_rules,
};
pub use thread::{CORRECTIONS, HeldThread, LONGEST_PAUSE, PERIOD, RetryTime};
