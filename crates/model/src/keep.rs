//! Rules: placements that stay in force for the processes they match, with the evidence for them.
//!
//! [`rules`] reads a file of rules. [`resolve`] finds their cpus on a machine and checks whether their evidence still
//! counts there. [`Keeper::look`] takes the observed state of a process and returns actions. This module does not
//! depend on an operating system, so a test can play every course of events. docs/keep.md describes rules and their
//! precedence.

mod action;
mod edit;
mod evidence;
mod glob;
mod held;
mod keeper;
mod process;
mod resolve;
mod room;
mod rule;
#[cfg(test)]
mod tests;
mod thread;

pub use action::{Action, Author, LeftBecause, Original, Outcome};
pub use edit::{EditError, added, removed, set_disabled, set_evidence};
pub use evidence::{Change, Evidence};
pub use glob::Glob;
pub use held::{Held, Note, Standing, WaitingProcess};
pub use keeper::Keeper;
pub use process::{ChargedUser, Process, Thread, owner};
pub use resolve::{ResolvedRule, resolve};
pub use room::MAX_HELD_THREADS;
pub use rule::{Fit, Match, MatchField, Rule, RulesError, Strength, ThreadRule, Unproven, Written, rules};
pub use thread::{CORRECTIONS, HeldThread, PERIOD};
