//! The placement language: words for "on these cpus" that hold on any machine, and what they are on this one.
//!
//! [`parse`] makes an [`Expression`] of a text; [`Expression::resolve`] says which cpus it is on a machine, in which
//! order threads would take them, and who was left out and why. The language is described in docs/placement.md.

mod describe;
mod error;
mod expression;
pub mod hold;
mod indices;
mod knowledge;
mod language;
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
pub mod roles;
mod words;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use describe::describe;
pub use error::PlacementError;
pub use expression::{Expression, Name, Operator, Pattern};
pub use indices::Indices;
pub use knowledge::{KnownMachine, MachineKnowledge};
pub use language::{LanguageForm, language_forms, language_table};
pub use order::list;
pub use parse::parse;
pub use resolve::{Context, LeftOut, Reason, Resolution};
