//! Changes to the machine that outlive the process that makes them: each describes itself and how to undo it.
//!
//! All changes go through a [`ChangeJournal`], which records each change and the old value before the change is made. [`left_in`] finds the
//! changes left by a process that crashed.

mod affinity;
mod controller;
mod file;
mod folder;
mod heirs;
mod journal;
mod left;
mod lines;
mod log;
mod look;
mod place;
mod target;
#[cfg(all(test, unix))]
mod tests;
mod undo;

pub use affinity::AffinityChange;
pub use controller::ControllerChange;
pub use file::{FileChange, ValueFormat};
pub use folder::FolderChange;
pub use journal::ChangeJournal;
pub use left::{AbandonedJournal, JournalStanding, left_in};
pub use lines::JournalHeader;
pub use log::{ChangeState, UnsettledChange};
#[cfg(test)]
pub(crate) use target::ground;
pub use undo::{Change, UndoForecast, UndoOutcome, UndoneChange};
