//! The circumstances of experiments: the machine, earlier measurements of it, and reports before the first trial.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_machine::Machine;
use corewise_machine::placement::MachineKnowledge;
use corewise_model::trial::SlotLength;
use corewise_sys::change::ChangeJournal;

use super::candidates::{CandidateNote, ExperimentKnowledge};
use super::error::ExperimentError;

/// The circumstances of experiments: the machine, earlier measurements of it, and the order to stop.
#[derive(Clone)]
pub struct ExperimentContext<'a> {
    /// The machine that this process runs on.
    pub machine: &'a Machine,
    /// Earlier measurements of it; [`NoKnowledge`] without any.
    pub knowledge: &'a dyn ExperimentKnowledge,
    /// The folder for the journal of changes, which only running processes and services that stay need; `None` without one.
    pub journals: Option<PathBuf>,
    /// Whether clock rates are estimated if cycles cannot be counted.
    pub estimates_clock: bool,
    /// The time for the whole session, of which the search for a slot's length takes a share; `None` for no limit.
    pub budget: Option<Duration>,
    /// Ends everything when it becomes true.
    pub stop: &'a AtomicBool,
}

impl ExperimentContext<'_> {
    /// Opens the journal of changes to running processes.
    ///
    /// # Errors
    /// [`ExperimentError::NoJournal`].
    pub fn open_journal(&self) -> Result<ChangeJournal, ExperimentError> {
        self.journals.clone().map(ChangeJournal::in_folder).ok_or(ExperimentError::NoJournal)
    }
}

/// No earlier measurement of the machine.
#[derive(Clone, Copy, Debug)]
pub struct NoKnowledge;

impl MachineKnowledge for NoKnowledge {}

impl ExperimentKnowledge for NoKnowledge {}

/// A report from the preparation of an experiment, before its first trial.
#[derive(Clone, Debug, PartialEq)]
pub enum PreparationEvent {
    /// A remark on the candidates.
    Note(CandidateNote),
    /// The length of slots is being searched; nothing is changed meanwhile.
    SearchingSlot {
        /// Time since the search began.
        elapsed: Duration,
        /// Its usual limit.
        limit: Duration,
    },
    /// The length of slots was found.
    FoundSlot(SlotLength),
}
