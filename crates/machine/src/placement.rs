//! The placement language: expressions for "on these cpus" that hold on any machine, and the cpus they mean on this one.
//!
//! [`parse`] turns a text into a [`PlacementExpression`]; [`PlacementExpression::resolve_on`] returns its cpus on a machine in the order of
//! use, and the excluded cpus with reasons. The language is described in docs/placement.md.

mod describe;
mod error;
mod expression;
#[cfg(feature = "holding")]
pub mod hold;
mod indices;
mod knowledge;
mod language;
mod likeness;
pub mod memory;
#[cfg(feature = "notations")]
pub mod notation;
mod order;
mod parse;
mod pattern;
mod places;
#[cfg(feature = "planning")]
pub mod plan;
mod resolve;
#[cfg(feature = "holding")]
pub mod roles;
mod split;
mod words;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use describe::describe_cpus;
pub use error::PlacementError;
pub use expression::{CpuSetName, PlacementExpression, PlacementPattern, SetOperator};
pub use indices::ObjectIndices;
pub use knowledge::{KnownMachine, MachineKnowledge};
pub use language::{LanguageForm, language_forms, language_table};
pub use order::format_list;
pub use parse::parse;
pub use resolve::{ExcludedCpus, ExclusionReason, ResolveContext, ResolvedExpression};
pub use split::{SplitError, split_cpus, split_near};
