//! Changes to the machine that outlive the process that makes them: each describes itself and how to undo it.
//!
//! All changes go through a [`ChangeJournal`], which records each change and the old value before the change is made. [`left_in`] finds the
//! changes left by a process that crashed.

mod abandoned_journals;
mod affinity;
mod controller;
mod descendants;
mod file;
mod folder;
mod journal;
mod journal_place;
mod kernel_file;
mod lines;
mod log;
mod standing;
#[cfg(all(test, unix))]
mod tests;
mod undo;

pub use abandoned_journals::{AbandonedJournal, JournalStanding, left_in, undo_own_changes};
pub use affinity::AffinityChange;
pub use controller::ControllerChange;
pub use file::{FileChange, ValueFormat};
pub use folder::FolderChange;
pub use journal::ChangeJournal;
#[cfg(test)]
pub(crate) use kernel_file::ground;
pub use lines::JournalHeader;
pub use log::{ChangeState, UnsettledChange};
pub use undo::{Change, UndoForecast, UndoOutcome, UndoneChange};
